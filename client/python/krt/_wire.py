"""The messages of krt.v1, from the descriptors that the build wrote, and values in them."""

from __future__ import annotations

import pathlib
from array import array
from typing import Any, Callable

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # type: ignore[import-untyped]

from . import _arrays
from ._arrays import Refusal
from ._handles import Handle

MAX_DEPTH = 64


def _load() -> Any:
    files = descriptor_pb2.FileDescriptorSet.FromString(
        pathlib.Path(__file__).with_name("protocol.binpb").read_bytes()
    )
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.AddSerializedFile(file.SerializeToString())
    return pool


_pool = _load()


def message(name: str) -> Any:
    """The class of a message of krt.v1."""
    return message_factory.GetMessageClass(_pool.FindMessageTypeByName(f"krt.v1.{name}"))


class Writer:
    """One call's way out: Python objects into ``Value`` messages, by the rules of src/values.h."""

    def __init__(self) -> None:
        self.first_array: Any = None

    def write(self, to: Any, value: Any, depth: int = 0) -> None:
        if value is None:
            to.null_value = 0
        elif isinstance(value, bool):
            to.bool_value = value
        elif isinstance(value, int):
            to.int_value = _int64(value)
        elif isinstance(value, float):
            to.float_value = value
        elif isinstance(value, str):
            to.string_value = _utf8(value)
        elif isinstance(value, (list, tuple)):
            self._write_sequence(to, value, depth)
        elif isinstance(value, dict):
            self._write_dict(to, value, depth)
        elif isinstance(value, Handle):
            to.handle.runtime, to.handle.id = value.runtime, value.id
        elif not self._write_array(to, value):
            kind = type(value).__name__
            raise Refusal(f"holds a {kind}, which is no value") if depth else Refusal("", kind)

    def results_as(self, arrays: str) -> str:
        """What results become where the runtime's option is ``arrays``."""
        if arrays == "auto":
            return "list" if self.first_array is None else "numpy"
        if arrays == "same":
            return "torch" if _arrays.is_torch(self.first_array) else "numpy"
        return arrays

    def _write_sequence(self, to: Any, values: Any, depth: int) -> None:
        numbers = _numbers(values)
        if numbers is not None:
            dtype = "i64" if numbers.typecode == "q" else "f64"
            _set_tensor(to.tensor, dtype, (len(numbers),), numbers.tobytes())
            return
        if depth >= MAX_DEPTH:
            raise Refusal("is nested more than 64 deep")
        to.list.SetInParent()
        for value in list(values):
            self.write(to.list.items.add(), value, depth + 1)

    def _write_dict(self, to: Any, values: dict[Any, Any], depth: int) -> None:
        if depth >= MAX_DEPTH:
            raise Refusal("is nested more than 64 deep")
        to.dict.SetInParent()
        for key, value in list(values.items()):
            if not isinstance(key, str):
                raise Refusal("holds a dict with a key that is no str")
            entry = to.dict.entries.add()
            entry.name = _utf8(key)
            self.write(entry.value, value, depth + 1)

    def _write_array(self, to: Any, value: Any) -> bool:
        if type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_"):
            to.bool_value = bool(value)
            return True
        packed = _arrays.pack(value)
        if packed is None:
            return False
        if not packed.shape:
            self.write(to, _arrays.unpack(packed.dtype, (), packed.memory.tobytes(), "list"))
            return True
        if self.first_array is None:
            self.first_array = value
        _set_tensor(to.tensor, packed.dtype, packed.shape, packed.memory.tobytes())
        return True


def _set_tensor(to: Any, dtype: str, shape: tuple[int, ...], data: bytes) -> None:
    to.dtype = 1 + _arrays.DTYPES.index(dtype)
    to.shape.extend(shape)
    to.data = data


def _int64(value: int) -> int:
    if not -(2**63) <= value < 2**63:
        raise Refusal("is or holds an int that does not fit 64 bits")
    return value


def _utf8(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Refusal("is or holds a str with a lone surrogate, which UTF-8 cannot write") from None
    return value


def _numbers(values: Any) -> array[Any] | None:
    """The numbers of a sequence of nothing but numbers."""
    if not all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values):
        return None
    integers = [v for v in values if isinstance(v, int)]
    for v in integers:
        _int64(v)
    return array("q", values) if len(integers) == len(values) else array("d", values)


def frozen(values: tuple[Any, ...]) -> Any:
    """The tensor that a tuple of numbers is, which nobody can change; None for another tuple."""
    numbers = _numbers(values)
    return None if numbers is None else memoryview(numbers).toreadonly()


def read(value: Any, arrays: str, handle: Callable[[int, int], Any]) -> Any:
    """A ``Value`` message as a Python object; ``handle`` gives the object of a handle."""
    kind = value.WhichOneof("kind")
    if kind in (None, "null_value"):
        return None
    if kind == "tensor":
        t = value.tensor
        return _arrays.unpack(dtype_of(t), tuple(t.shape), t.data, arrays)
    if kind == "list":
        return [read(item, arrays, handle) for item in value.list.items]
    if kind == "dict":
        return {entry.name: read(entry.value, arrays, handle) for entry in value.dict.entries}
    if kind == "handle":
        return handle(value.handle.runtime, value.handle.id)
    return getattr(value, kind)


def dtype_of(tensor: Any) -> str:
    """The name of a ``Tensor`` message's dtype."""
    if not 1 <= tensor.dtype <= len(_arrays.DTYPES):
        raise ValueError(f"the server sent dtype {tensor.dtype}, which this version of krt does not know")
    return _arrays.DTYPES[tensor.dtype - 1]
