"""Arrays go in without a copy and come out over the kernel's own memory; what is not accepted is named."""

import array
import ctypes
import gc
import weakref

import numpy as np
import pytest

import krt
from krt import _native

ADD = ("llmk.residual", "residual_add_flat")


def refused(runtime, a, n=3):
    answer = runtime.execute(*ADD, [a, np.zeros(n), n])
    assert answer["error_code"] == "invalid_arguments"
    return answer["error"].removeprefix("llmk.residual.residual_add_flat: argument 'a' ")


DTYPES = [("float64", "f64"), ("float32", "f32"), ("float16", "f16"), ("int8", "i8"), ("uint8", "u8"),
          ("int16", "i16"), ("int32", "i32"), ("int64", "i64")]


@pytest.mark.parametrize("numpy_name, name", DTYPES)
def test_numpy_is_read_and_made_in_place(numpy_name, name):
    x = np.arange(6).reshape(2, 3).astype(numpy_name)
    address, spelled, writable, back = _native._tensor(x)
    assert (address, spelled, writable) == (x.ctypes.data, f"{name}[2,3]", True)
    assert back.ctypes.data == address and back.dtype == x.dtype and not back.flags.owndata
    assert np.array_equal(back, x)


@pytest.mark.parametrize("name", ["float64", "float32", "float16", "bfloat16", "int8", "uint8", "int16", "int32", "int64"])
def test_torch_is_read_and_made_in_place(torch, name):
    x = torch.arange(6).reshape(2, 3).to(getattr(torch, name))
    address, spelled, writable, back = _native._tensor(x, "torch")
    assert (address, writable) == (x.data_ptr(), True) and spelled.endswith("[2,3]")
    assert back.data_ptr() == address and back.dtype == x.dtype and torch.equal(back, x)
    assert _native._tensor(torch.nn.Parameter(x, requires_grad=False))[0] == address


def test_other_buffers_are_read_in_place():
    numbers = array.array("d", [1.0, 2.0])
    assert _native._tensor(numbers)[:3] == (numbers.buffer_info()[0], "f64[2]", True)
    assert _native._tensor(b"\x01\x02\x03")[1:3] == ("u8[3]", False)
    assert _native._tensor(bytearray(3))[1:3] == ("u8[3]", True)
    assert _native._tensor(memoryview(numbers))[0] == numbers.buffer_info()[0]
    assert _native._tensor((ctypes.c_float * 4)())[1] == "f32[4]"


def test_read_only_is_seen():
    x = np.arange(3.0)
    x.flags.writeable = False
    assert _native._tensor(x)[2] is False


def test_views_that_are_packed_and_views_that_are_not(runtime):
    x = np.arange(24.0).reshape(4, 6)
    assert _native._tensor(x[1:3])[0] == x.ctypes.data + 6 * 8
    assert _native._tensor(x[2:2, ::2])[1] == "f64[0,3]"  # nothing in it, so nothing is apart
    assert _native._tensor(x[:1, :].T[:, :1])[1] == "f64[6,1]"  # one column of a single row
    contiguous = "is not contiguous; pass a packed row-major copy (numpy.ascontiguousarray(x), x.contiguous())"
    for view in (x[:, ::2], x.T, x[::-1], np.broadcast_to(np.float64(1), (3,)), np.asfortranarray(x)):
        assert refused(runtime, view) == contiguous


def test_dtypes_that_no_kernel_takes(runtime):
    takes = "; kernels take f64 f32 f16 bf16 i8 u8 i16 i32 i64"
    for dtype in ("complex64", "bool", "uint32", "longdouble", "object"):
        assert refused(runtime, np.zeros(3, dtype)) == f"has dtype {np.dtype(dtype)}" + takes
    assert refused(runtime, np.zeros(3, [("x", "f8"), ("y", "i4")])) == (
        "has dtype [('x', '<f8'), ('y', '<i4')]" + takes)
    assert refused(runtime, array.array("I", [1])) == "has dtype I" + takes
    assert refused(runtime, np.zeros(3, ">f8")) == "is byte-swapped (format '>d')"
    assert refused(runtime, np.zeros(3, "M8[s]")) == (
        "exports no buffer that can be read: ValueError: cannot include dtype 'M' in a buffer")
    assert refused(runtime, np.zeros((1, 1, 1, 1, 3))) == "is not accepted: a tensor has at most 4 dimensions, got 5"


def test_an_array_of_rank_0_is_a_number(runtime):
    for scalar in (np.float64(1), np.float32(1), np.float16(1), np.int8(1), np.array(1.0), np.int64(1)):
        assert runtime.execute(*ADD, [[scalar], [2.0], np.int32(1)])["result"]["out"] == [3.0]
    flag = runtime.execute("gemm.blocked", "gemv_flat", [[1.0], [2.0], 1, 1, np.bool_(True)])
    assert flag["success"], flag["error"]


def test_types_that_a_kernel_converts(runtime):
    for dtype in ("float64", "float32", "float16", "int8", "int64"):
        assert runtime.execute(*ADD, [np.ones(3, dtype), np.ones(3), 3])["result"]["out"].tolist() == [2.0] * 3


def test_what_results_become():
    x, plain = np.ones(2), [1.0, 1.0]
    out = {}
    for arrays in ("auto", "list", "numpy", "same"):
        runtime = krt.MojoRuntime(arrays=arrays)
        out[arrays] = [type(runtime.execute(*ADD, [a, a, 2])["result"]["out"]) for a in (x, plain)]
    assert out == {"auto": [np.ndarray, list], "list": [list, list], "numpy": [np.ndarray] * 2,
                   "same": [np.ndarray] * 2}


def test_torch_in_torch_out(torch):
    same, numpy, fixed = (krt.MojoRuntime(arrays=a) for a in ("same", "auto", "torch"))
    x = torch.ones(2, dtype=torch.float64)
    assert torch.equal(same.execute(*ADD, [x, x, 2])["result"]["out"], x + x)
    assert isinstance(numpy.execute(*ADD, [x, x, 2])["result"]["out"], np.ndarray)
    assert isinstance(fixed.execute(*ADD, [[1.0], [1.0], 1])["result"]["out"], torch.Tensor)


def test_a_result_lives_as_long_as_its_array(runtime):
    out = runtime.execute(*ADD, [np.arange(1000.0), np.arange(1000.0), 1000])["result"]["out"]
    tail = out[500:]
    del out
    gc.collect()
    np.full(1000, 7.0)  # takes what was freed, if it was
    assert tail.tolist() == [2.0 * i for i in range(500, 1000)]
    tail[0] = -1.0  # and is the caller's to change


def test_arguments_are_let_go_of(runtime):
    x = np.zeros(3)
    gone = weakref.ref(x)
    runtime.execute(*ADD, [x, x, 3])
    del x
    assert gone() is None


# --- DLPack, from an exporter of our own, so that every field can be wrong


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("offset", ctypes.c_uint64)]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]


class Versioned(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32 * 2), ("context", ctypes.c_void_p), ("deleter", DELETER),
                ("flags", ctypes.c_uint64), ("tensor", Tensor)]


capsule_new = ctypes.pythonapi.PyCapsule_New
capsule_new.restype, capsule_new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Exporter:
    """Exports the f16 values 1, 2, -2; `change` is applied to the DLTensor."""

    def __init__(self, change=lambda t: None, versioned=False, version=1, flags=0, old=False):
        self.deleted = 0
        self.old = old
        self.memory = (ctypes.c_uint16 * 3)(0x3C00, 0x4000, 0xC000)
        self.shape, self.strides = (ctypes.c_int64 * 5)(3), (ctypes.c_int64 * 5)(1)
        self.managed = Versioned() if versioned else Managed()
        self.name = b"dltensor_versioned" if versioned else b"dltensor"
        self.deleter = self.managed.deleter = DELETER(self.delete)
        if versioned:
            self.managed.version[0], self.managed.flags = version, flags
        t = self.managed.tensor
        t.data, t.device[0], t.ndim, t.lanes, t.bits, t.code = ctypes.addressof(self.memory), 1, 1, 1, 16, 2
        t.shape, t.strides = self.shape, self.strides
        change(t)

    def delete(self, _):
        self.deleted += 1

    def __dlpack__(self, *, stream=None, **options):
        if self.old and options:
            raise TypeError("unexpected max_version")
        return capsule_new(ctypes.addressof(self.managed), self.name, None)


def change(**fields):
    def apply(t):
        for name, value in fields.items():
            if name == "device":
                t.device[0] = value
            elif name == "shape":
                t.ndim, t.strides = len(value), None
                for i, dim in enumerate(value):
                    t.shape[i] = dim
            elif name == "stride":
                t.strides[0] = value
            else:
                setattr(t, name, value)

    return apply


@pytest.mark.parametrize("options", [{}, {"old": True}, {"versioned": True}, {"versioned": True, "flags": 1}])
def test_dlpack_in_place_and_released_once(runtime, options):
    x = Exporter(**options)
    address, spelled, writable, back = _native._tensor(x)
    assert (address, spelled, writable) == (ctypes.addressof(x.memory), "f16[3]", not options.get("flags"))
    assert back.tolist() == [1.0, 2.0, -2.0] and x.deleted == 0
    del back
    gc.collect()
    assert x.deleted == 1
    out = runtime.execute(*ADD, [Exporter(**options), np.zeros(3), 3])["result"]["out"]
    assert out.tolist() == [1.0, 2.0, -2.0]


def test_dlpack_byte_offset():
    x = Exporter(change(offset=2, shape=[2]))
    assert _native._tensor(x)[:2] == (ctypes.addressof(x.memory) + 2, "f16[2]")


def test_bf16_has_no_numpy_and_comes_out_as_f32():
    bits = change(code=4)
    x = Exporter(bits)
    x.memory[:] = (0x3F80, 0x4000, 0xC000)
    _, spelled, _, back = _native._tensor(x)
    assert spelled == "bf16[3]" and back.dtype == np.float32 and back.tolist() == [1.0, 2.0, -2.0]


@pytest.mark.parametrize(
    "fields, error",
    [
        ({"device": 2}, "is on another device (DLPack type 2); move it to the CPU"),
        ({"code": 5}, "has dtype complex16; kernels take f64 f32 f16 bf16 i8 u8 i16 i32 i64"),
        ({"code": 77}, "has dtype code 77 of 16; kernels take f64 f32 f16 bf16 i8 u8 i16 i32 i64"),
        ({"lanes": 2}, "has dtype float16x2; kernels take f64 f32 f16 bf16 i8 u8 i16 i32 i64"),
        ({"bits": 8}, "has dtype float8; kernels take f64 f32 f16 bf16 i8 u8 i16 i32 i64"),
        ({"stride": 2}, "is not contiguous; pass a packed row-major copy (numpy.ascontiguousarray(x), "
                           "x.contiguous())"),
        ({"data": None}, "has a broken __dlpack__: no data"),
        ({"ndim": -1}, "has a broken __dlpack__: no shape"),
        ({"ndim": 2**30}, "is not accepted: a tensor has at most 4 dimensions, got 1073741824"),
        ({"shape": [-1]}, "is not accepted: dimension 0 is negative: -1"),
        ({"shape": [2**62, 4]}, "is not accepted: the product of shape [4611686018427387904,4] does not fit 63 bits"),
        ({"shape": [2**62]}, "is not accepted: shape [4611686018427387904] of f16 does not fit 63 bits of bytes"),
    ],
)
def test_dlpack_that_is_refused_is_released(runtime, fields, error):
    x = Exporter(change(**fields))
    assert refused(runtime, x) == error
    assert x.deleted == 1


def test_dlpack_of_another_major_version(runtime):
    x = Exporter(versioned=True, version=2)
    assert refused(runtime, x) == "exports DLPack version 2; 1 is understood"
    assert x.deleted == 1


class Raises:
    def __init__(self, error):
        self.error = error

    def __dlpack__(self, **options):
        raise self.error


class Returns:
    def __init__(self, value):
        self.value = value

    def __dlpack__(self, **options):
        return self.value


class Attribute:
    @property
    def __dlpack__(self):
        raise RuntimeError("no such luck")


def test_exporters_that_break(runtime):
    assert refused(runtime, Raises(ValueError("no"))) == (
        "cannot be exported by DLPack: ValueError: no")
    assert refused(runtime, Attribute()) == "has a broken __dlpack__: RuntimeError: no such luck"
    for value in (None, 7, capsule_new(1, b"something else", None)):
        assert refused(runtime, Returns(value)) == "has a broken __dlpack__: it returned no DLPack capsule"
    with pytest.raises(KeyboardInterrupt):  # not an error of the exporter's
        runtime.execute(*ADD, [Raises(KeyboardInterrupt()), [1.0], 1])


def test_a_list_that_shrinks_while_it_is_read(runtime):
    args = []

    class Shrinks:
        def __dlpack__(self, **options):
            args.clear()
            return np.ones(1).__dlpack__()

    args.extend([Shrinks(), np.ones(1), 1])
    assert runtime.execute(*ADD, args)["error_code"] == "invalid_arguments"
    inner = []

    class Clears:
        def __dlpack__(self, **options):
            inner.clear()
            raise BufferError("gone")

    inner.extend([Clears(), [1.0] * 100])
    assert runtime.execute(*ADD, [inner, [1.0], 1])["error_code"] == "invalid_arguments"


def test_torch_tensors_that_are_refused(torch, runtime):
    contiguous = "is not contiguous; pass a packed row-major copy (numpy.ascontiguousarray(x), x.contiguous())"
    assert refused(runtime, torch.zeros(6)[::2]) == contiguous
    assert refused(runtime, torch.zeros(3, 4).t()) == contiguous
    assert refused(runtime, torch.zeros(3, requires_grad=True)) == (
        "requires a gradient, which kernels do not compute; pass x.detach()")
    assert refused(runtime, torch.zeros(3, dtype=torch.complex64)).startswith("has dtype complex64")
    assert refused(runtime, torch.zeros(3, dtype=torch.bool)).startswith("has dtype bool8")
    assert refused(runtime, torch.zeros(3, device="meta"))
    assert refused(runtime, torch.zeros(3).to_sparse())
