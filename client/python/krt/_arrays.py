"""Arrays as the wire has them: a dtype, a shape and packed bytes. What src/tensors.cc is for the local runtime."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple, NoReturn

import numpy as np

PLAIN = {"f64": "f8", "f32": "f4", "f16": "f2", "i8": "i1", "u8": "u1", "i16": "i2", "i32": "i4", "i64": "i8"}
DTYPES = ("f64", "f32", "f16", "bf16", "i8", "u8", "i16", "i32", "i64")  # in the order of krt.v1.DType
MAX_RANK = 4


class Refusal(Exception):
    """An argument that cannot be taken: ``text`` stands behind "argument 'x' ", else "must be <type>, got <got>"."""

    def __init__(self, text: str, got: str = "") -> None:
        self.text = text
        self.got = got


class Packed(NamedTuple):
    """An array as it is sent; ``memory`` is that of the array itself, as bytes."""

    dtype: str
    shape: tuple[int, ...]
    memory: np.ndarray[Any, Any]

    @property
    def spelled(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


def pack(array: Any) -> Packed | None:
    """The array's memory, not copied; None for what is no array. Refuses what the local runtime refuses."""
    if _module(array).startswith("torch") and hasattr(array, "data_ptr"):
        return _pack_torch(array)
    try:
        view = memoryview(array)
    except TypeError:
        return _pack_dlpack(array) if hasattr(array, "__dlpack__") else None
    except Exception as error:
        raise Refusal(f"exports no buffer that can be read: {_spelled(error)}") from None
    dtype = _dtype_of_format(array, view.format, view.itemsize)
    if not view.c_contiguous:
        _refuse_strides()
    return _packed(dtype, view.shape, np.frombuffer(array, np.uint8) if view.nbytes else np.empty(0, np.uint8))


def _pack_dlpack(array: Any) -> Packed:
    if str(getattr(array, "dtype", "")) == "bfloat16":  # numpy has none, but its bits
        bits = np.asarray(array).view(np.int16)
        return _packed("bf16", bits.shape, bits.reshape(-1).view(np.uint8))
    try:
        exported = np.from_dlpack(array)
    except Exception as error:
        raise Refusal(f"cannot be exported by DLPack: {_spelled(error)}") from None
    packed = pack(exported)
    assert packed is not None
    return packed


def _pack_torch(tensor: Any) -> Packed:
    torch = importlib.import_module("torch")
    if tensor.device.type != "cpu":
        raise Refusal(f"is on another device ({tensor.device}); move it to the CPU")
    if tensor.requires_grad:
        raise Refusal("requires a gradient, which kernels do not compute; pass x.detach()")
    name = str(tensor.dtype).removeprefix("torch.")
    dtype = {"bfloat16": "bf16", "uint8": "u8"}.get(name, name.replace("float", "f").replace("int", "i"))
    if dtype not in DTYPES:
        _refuse_dtype(name)
    if tensor.layout != torch.strided or not tensor.is_contiguous():
        _refuse_strides()
    return _packed(dtype, tuple(tensor.shape), tensor.reshape(-1).view(torch.uint8).numpy())


def _packed(dtype: str, shape: Any, memory: np.ndarray[Any, Any]) -> Packed:
    if len(shape) > MAX_RANK:
        raise Refusal(f"is not accepted: a tensor has at most {MAX_RANK} dimensions, got {len(shape)}")
    return Packed(dtype, tuple(shape), memory)


def _dtype_of_format(array: Any, spelled: str, itemsize: int) -> str:
    if spelled[:1] in (">", "!") and itemsize > 1:
        raise Refusal(f"is byte-swapped (format {spelled!r})")
    code = spelled[1:] if spelled[:1] in "@=<>!" else spelled
    dtype = {"d": "f64", "f": "f32", "e": "f16", "B": "u8", "c": "u8"}.get(code)
    if code in ("b", "h", "i", "l", "q", "n"):
        dtype = f"i{8 * itemsize}"
    if dtype is None:
        _refuse_dtype(str(getattr(array, "dtype", spelled)))
    return dtype


def _refuse_dtype(name: str) -> NoReturn:
    raise Refusal(f"has dtype {name}; kernels take f64 f32 f16 bf16 i8 u8 i16 i32 i64")


def _refuse_strides() -> NoReturn:
    raise Refusal("is not contiguous; pass a packed row-major copy (numpy.ascontiguousarray(x), x.contiguous())")


def _spelled(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _module(value: Any) -> str:
    return str(type(value).__module__)


def is_torch(value: Any) -> bool:
    """Whether ``arrays="same"`` answers in torch's kind."""
    return _module(value).startswith("torch")


def unpack(dtype: str, shape: tuple[int, ...], data: bytes, arrays: str) -> Any:
    """What was received, as a ``"list"``, a ``"numpy"`` array or a ``"torch"`` tensor with memory of its own."""
    if arrays == "torch":
        return _unpack_torch(dtype, shape, data)
    if dtype == "bf16":  # as the f32 of the same value
        values = (np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4").reshape(shape)
    else:
        values = np.frombuffer(bytearray(data), "<" + PLAIN[dtype]).reshape(shape)
    return values.tolist() if arrays == "list" else values


def _unpack_torch(dtype: str, shape: tuple[int, ...], data: bytes) -> Any:
    torch = importlib.import_module("torch")
    names = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "u8": "uint8"}
    kind = getattr(torch, names.get(dtype, dtype.replace("i", "int")))
    return torch.frombuffer(bytearray(data), dtype=kind).reshape(shape) if data else torch.empty(shape, dtype=kind)
