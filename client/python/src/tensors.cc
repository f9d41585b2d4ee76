#include "client/python/src/tensors.h"

#include <array>
#include <bit>
#include <memory>

#include "client/python/src/dlpack.h"

namespace krt::python {
namespace {

static_assert(std::endian::native == std::endian::little);

std::string text_of(PyObject* object) {
  const nb::object text = nb::steal(PyObject_Str(object));
  const char* utf8 = text.is_valid() ? PyUnicode_AsUTF8(text.ptr()) : nullptr;
  if (utf8 == nullptr) PyErr_Clear();
  return utf8 != nullptr ? utf8 : "";
}

// Turns the Python error that is set into a Refusal. What is no Exception (KeyboardInterrupt) goes on as it is.
[[noreturn]] void refuse_with_python_error(const std::string& what) {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) throw nb::python_error();
  nb::python_error error;
  throw Refusal{what + ": " + Py_TYPE(error.value().ptr())->tp_name + ": " + text_of(error.value().ptr())};
}

// Memory of Python's is released with the GIL held, whichever thread lets go of it last.
template <class Release>
void with_gil(Release release) {
  if (!Py_IsInitialized()) return;  // the interpreter is gone, and the memory with it
  const nb::gil_scoped_acquire gil;
  release();
}

// Row-major and packed: dimensions of one element may have any stride, an empty tensor all of them.
bool is_packed(std::span<const std::int64_t> shape, const auto* strides, std::int64_t unit) {
  if (strides == nullptr) return true;
  for (const std::int64_t dim : shape)
    if (dim == 0) return true;
  std::int64_t expected = unit;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

[[noreturn]] void refuse_strides() {
  throw Refusal{"is not contiguous; pass a packed row-major copy (numpy.ascontiguousarray(x), x.contiguous())"};
}

[[noreturn]] void refuse_dtype(const std::string& dtype) {
  throw Refusal{"has dtype " + dtype + "; kernels take f64 f32 f16 bf16 i8 u8 i16 i32 i64"};
}

Shape shape_of(std::span<const std::int64_t> dims) {
  Result<Shape> shape = Shape::checked(dims);
  if (!shape.ok()) throw Refusal{"is not accepted: " + shape.status().message()};
  return *shape;
}

Tensor make_tensor(DType dtype, const Shape& shape, void* data, bool writable, std::shared_ptr<const void> owner) {
  if (Result<std::size_t> bytes = bytes_for(dtype, shape); !bytes.ok())
    throw Refusal{"is not accepted: " + bytes.status().message()};
  return writable ? Tensor::borrow_mutable(dtype, shape, data, std::move(owner))
                  : Tensor::borrow(dtype, shape, data, std::move(owner));
}

// --- the buffer protocol

struct BufferView {
  Py_buffer buffer{};
  BufferView() = default;
  BufferView(const BufferView&) = delete;
  BufferView& operator=(const BufferView&) = delete;
  ~BufferView() {
    if (buffer.obj == nullptr) return;
    with_gil([this] { PyBuffer_Release(&buffer); });
  }
};

// struct's format characters; the size of 'l' and 'q' is the item's. `object` names its dtype, where it has one.
DType dtype_of_format(PyObject* object, const char* format, Py_ssize_t itemsize) {
  const std::string_view text = format != nullptr ? format : "B";
  const auto refuse = [&] {
    const nb::object dtype = nb::steal(PyObject_GetAttrString(object, "dtype"));
    if (!dtype.is_valid()) PyErr_Clear();
    refuse_dtype(dtype.is_valid() ? text_of(dtype.ptr()) : std::string(text));
  };
  const bool swapped = text.starts_with('>') || text.starts_with('!');
  if (swapped && itemsize > 1) throw Refusal{"is byte-swapped (format " + quoted(text) + ")"};
  const bool prefixed = !text.empty() && std::string_view("@=<>!").find(text[0]) != std::string_view::npos;
  const std::string_view code = text.substr(prefixed ? 1 : 0);
  if (code.size() != 1) refuse();
  if (code == "d" && itemsize == 8) return DType::kF64;
  if (code == "f" && itemsize == 4) return DType::kF32;
  if (code == "e" && itemsize == 2) return DType::kF16;
  if ((code == "B" || code == "c") && itemsize == 1) return DType::kU8;
  if (std::string_view("bhilqn").find(code[0]) != std::string_view::npos) {
    if (itemsize == 1) return DType::kI8;
    if (itemsize == 2) return DType::kI16;
    if (itemsize == 4) return DType::kI32;
    if (itemsize == 8) return DType::kI64;
  }
  refuse();
  return {};
}

std::optional<Tensor> tensor_from_buffer(PyObject* object) {
  if (!PyObject_CheckBuffer(object)) return {};
  auto view = std::make_shared<BufferView>();
  if (PyObject_GetBuffer(object, &view->buffer, PyBUF_RECORDS_RO) != 0)
    refuse_with_python_error("exports no buffer that can be read");
  const Py_buffer& b = view->buffer;
  const DType dtype = dtype_of_format(object, b.format, b.itemsize);
  static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t));
  const Shape shape = shape_of({reinterpret_cast<const std::int64_t*>(b.shape), static_cast<std::size_t>(b.ndim)});
  if (!is_packed(shape.dims(), b.strides, b.itemsize)) refuse_strides();
  return make_tensor(dtype, shape, b.buf, b.readonly == 0, std::move(view));
}

// --- DLPack

std::optional<DType> dtype_of_dlpack(dlpack::Type t) {
  if (t.lanes != 1) return {};
  switch (t.code) {
    case dlpack::kFloat:
      if (t.bits == 64) return DType::kF64;
      if (t.bits == 32) return DType::kF32;
      if (t.bits == 16) return DType::kF16;
      return {};
    case dlpack::kBfloat: return t.bits == 16 ? std::optional(DType::kBF16) : std::nullopt;
    case dlpack::kUInt: return t.bits == 8 ? std::optional(DType::kU8) : std::nullopt;
    case dlpack::kInt:
      if (t.bits == 8) return DType::kI8;
      if (t.bits == 16) return DType::kI16;
      if (t.bits == 32) return DType::kI32;
      if (t.bits == 64) return DType::kI64;
      return {};
    default: return {};
  }
}

std::string dlpack_name(dlpack::Type t) {
  constexpr std::array<const char*, 7> kCodes{"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
  const std::string code = t.code < kCodes.size() ? kCodes[t.code] : "code " + std::to_string(t.code) + " of ";
  return code + std::to_string(t.bits) + (t.lanes != 1 ? "x" + std::to_string(t.lanes) : "");
}

// `owner` has to keep alive what `t` points to, and is released by refusing.
Tensor tensor_from_dlpack(const dlpack::Tensor& t, bool read_only, std::shared_ptr<const void> owner) {
  if (t.device.type != dlpack::kCpu)
    throw Refusal{"is on another device (DLPack type " + std::to_string(t.device.type) + "); move it to the CPU"};
  const std::optional<DType> dtype = dtype_of_dlpack(t.dtype);
  if (!dtype) refuse_dtype(dlpack_name(t.dtype));
  if (t.ndim < 0 || (t.ndim > 0 && t.shape == nullptr)) throw Refusal{"has a broken __dlpack__: no shape"};
  const Shape shape = shape_of({t.shape, static_cast<std::size_t>(t.ndim)});
  if (!is_packed(shape.dims(), t.strides, 1)) refuse_strides();
  if (t.data == nullptr && shape.elements() != 0) throw Refusal{"has a broken __dlpack__: no data"};
  void* data = t.data != nullptr ? static_cast<std::byte*>(t.data) + t.byte_offset : nullptr;
  return make_tensor(*dtype, shape, data, !read_only, std::move(owner));
}

template <class M>
std::shared_ptr<const void> own(M* managed) {
  return {managed, [](M* m) {
            if (m->deleter != nullptr) with_gil([m] { m->deleter(m); });
          }};
}

Tensor take_versioned(dlpack::ManagedVersioned* managed) {
  std::shared_ptr<const void> owner = own(managed);
  if (managed->version.major != dlpack::kMajorVersion)
    throw Refusal{"exports DLPack version " + std::to_string(managed->version.major) + "; 1 is understood"};
  return tensor_from_dlpack(managed->tensor, (managed->flags & dlpack::kReadOnly) != 0, std::move(owner));
}

Tensor take_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, dlpack::kVersionedCapsule)) {
    auto* managed = static_cast<dlpack::ManagedVersioned*>(PyCapsule_GetPointer(capsule, dlpack::kVersionedCapsule));
    PyCapsule_SetName(capsule, dlpack::kUsedVersionedCapsule);
    return take_versioned(managed);
  }
  if (PyCapsule_IsValid(capsule, dlpack::kCapsule)) {
    auto* managed = static_cast<dlpack::Managed*>(PyCapsule_GetPointer(capsule, dlpack::kCapsule));
    PyCapsule_SetName(capsule, dlpack::kUsedCapsule);
    std::shared_ptr<const void> owner = own(managed);
    return tensor_from_dlpack(managed->tensor, false, std::move(owner));
  }
  throw Refusal{"has a broken __dlpack__: it returned no DLPack capsule"};
}

// The exchange table exports what autograd watches, and a kernel would change it behind autograd's back.
void refuse_gradients(PyObject* object) {
  static PyObject* const kName = PyUnicode_InternFromString("requires_grad");
  const nb::object flag = nb::steal(PyObject_GetAttr(object, kName));
  if (!flag.is_valid()) PyErr_Clear();
  if (flag.ptr() == Py_True) throw Refusal{"requires a gradient, which kernels do not compute; pass x.detach()"};
}

std::optional<Tensor> tensor_from_exchange(PyObject* object) {
  const dlpack::ExchangeApi* api = dlpack::exchange_api(Py_TYPE(object));
  if (api == nullptr) return {};
  refuse_gradients(object);
  dlpack::ManagedVersioned* managed = nullptr;
  if (api->export_managed(object, &managed) != 0 || managed == nullptr)
    refuse_with_python_error("cannot be exported by DLPack");
  return take_versioned(managed);
}

std::optional<Tensor> tensor_from_protocol(PyObject* object) {
  const nb::object method = nb::steal(PyObject_GetAttrString(object, "__dlpack__"));
  if (!method.is_valid()) {
    if (PyErr_ExceptionMatches(PyExc_AttributeError)) PyErr_Clear();
    if (PyErr_Occurred()) refuse_with_python_error("has a broken __dlpack__");
    return {};
  }
  static PyObject* const kMaxVersion = PyUnicode_InternFromString("max_version");
  const nb::object names = nb::steal(PyTuple_Pack(1, kMaxVersion));
  const nb::object version = nb::steal(Py_BuildValue("(ii)", 1, 0));
  PyObject* const args[] = {version.ptr()};
  nb::object capsule = nb::steal(PyObject_Vectorcall(method.ptr(), args, 0, names.ptr()));
  if (!capsule.is_valid() && PyErr_ExceptionMatches(PyExc_TypeError)) {  // an exporter older than DLPack 1
    PyErr_Clear();
    capsule = nb::steal(PyObject_CallNoArgs(method.ptr()));
  }
  if (!capsule.is_valid()) refuse_with_python_error("cannot be exported by DLPack");
  return take_capsule(capsule.ptr());
}

}  // namespace

std::optional<Tensor> tensor_from(PyObject* object) {
  if (std::optional<Tensor> t = tensor_from_buffer(object)) return t;
  if (std::optional<Tensor> t = tensor_from_exchange(object)) return t;
  return tensor_from_protocol(object);
}

}  // namespace krt::python
