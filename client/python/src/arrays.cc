// Tensor to what Python has: the second half of tensors.h.

#include <nanobind/ndarray.h>

#include <algorithm>
#include <array>
#include <memory>

#include "client/python/src/dlpack.h"
#include "client/python/src/tensors.h"
#include "runtime/core/half.h"

namespace krt::python {
namespace {

nb::dlpack::dtype dlpack_dtype(DType dtype) {
  using nb::dlpack::dtype_code;
  const auto make = [](dtype_code code, int bits) {
    return nb::dlpack::dtype{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits), 1};
  };
  switch (dtype) {
    case DType::kF64: return make(dtype_code::Float, 64);
    case DType::kF32: return make(dtype_code::Float, 32);
    case DType::kF16: return make(dtype_code::Float, 16);
    case DType::kBF16: return make(dtype_code::Bfloat, 16);
    case DType::kI8: return make(dtype_code::Int, 8);
    case DType::kU8: return make(dtype_code::UInt, 8);
    case DType::kI16: return make(dtype_code::Int, 16);
    case DType::kI32: return make(dtype_code::Int, 32);
    case DType::kI64: return make(dtype_code::Int, 64);
  }
  return {};
}

// torch's exchange table; null where torch is not imported or too old.
const dlpack::ExchangeApi* torch_api() {
  static const dlpack::ExchangeApi* api = nullptr;  // GIL held
  if (api != nullptr) return api;
  static PyObject* const kTorch = PyUnicode_InternFromString("torch");
  const nb::object torch = nb::steal(PyImport_GetModule(kTorch));
  const nb::object cls = torch.is_valid() ? nb::steal(PyObject_GetAttrString(torch.ptr(), "Tensor")) : nb::object();
  if (cls.is_valid() && PyType_Check(cls.ptr())) api = dlpack::exchange_api(reinterpret_cast<PyTypeObject*>(cls.ptr()));
  PyErr_Clear();
  return api;
}

// What a tensor over memory of ours needs while torch has it.
struct Lent {
  dlpack::ManagedVersioned managed{};
  Tensor tensor;
  std::array<std::int64_t, Shape::kMaxRank> shape{}, strides{};
};

nb::object to_torch(const Tensor& tensor, const dlpack::ExchangeApi& api) {
  auto lent = std::make_unique<Lent>();
  lent->tensor = tensor;
  const std::span<const std::int64_t> dims = tensor.shape().dims();
  std::int64_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0; stride *= std::max<std::int64_t>(dims[i], 1)) {
    lent->shape[i] = dims[i];
    lent->strides[i] = stride;
  }
  const nb::dlpack::dtype dtype = dlpack_dtype(tensor.dtype());
  lent->managed = {.version = {dlpack::kMajorVersion, 0},
                   .context = lent.get(),
                   .deleter = [](dlpack::ManagedVersioned* m) { delete static_cast<Lent*>(m->context); },
                   .flags = 0,
                   .tensor = {.data = const_cast<void*>(tensor.data()),
                              .device = {dlpack::kCpu, 0},
                              .ndim = static_cast<std::int32_t>(dims.size()),
                              .dtype = {dtype.code, dtype.bits, 1},
                              .shape = lent->shape.data(),
                              .strides = lent->strides.data(),
                              .byte_offset = 0}};
  void* out = nullptr;
  if (api.import_managed(&lent->managed, &out) != 0) throw nb::python_error();
  static_cast<void>(lent.release());  // torch's now
  return nb::steal(static_cast<PyObject*>(out));
}

Tensor widened(const Tensor& bf16) {
  std::vector<float> out;
  out.reserve(static_cast<std::size_t>(bf16.elements()));
  for (const BF16 x : bf16.as<BF16>()) out.push_back(to_f32(x));
  return Tensor::own(std::move(out)).reshaped(bf16.shape());
}

template <class T>
PyObject* number(T x) {
  if constexpr (std::is_same_v<T, F16> || std::is_same_v<T, BF16>)
    return PyFloat_FromDouble(static_cast<double>(to_f32(x)));
  else if constexpr (std::is_integral_v<T>)
    return PyLong_FromLongLong(x);
  else
    return PyFloat_FromDouble(static_cast<double>(x));
}

template <class T>
nb::object nested(std::span<const std::int64_t> dims, const T*& next) {
  if (dims.empty()) return nb::steal(number(*next++));
  nb::object list = nb::steal(PyList_New(dims[0]));
  if (!list.is_valid()) throw nb::python_error();
  for (std::int64_t i = 0; i < dims[0]; ++i) {
    nb::object item = nested(dims.subspan(1), next);
    if (!item.is_valid()) throw nb::python_error();
    PyList_SET_ITEM(list.ptr(), i, item.release().ptr());
  }
  return list;
}

template <class T>
nb::object list_of(const Tensor& tensor) {
  const auto* data = static_cast<const T*>(tensor.data());
  return nested(tensor.shape().dims(), data);
}

}  // namespace

nb::object to_list(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kF64: return list_of<double>(tensor);
    case DType::kF32: return list_of<float>(tensor);
    case DType::kF16: return list_of<F16>(tensor);
    case DType::kBF16: return list_of<BF16>(tensor);
    case DType::kI8: return list_of<std::int8_t>(tensor);
    case DType::kU8: return list_of<std::uint8_t>(tensor);
    case DType::kI16: return list_of<std::int16_t>(tensor);
    case DType::kI32: return list_of<std::int32_t>(tensor);
    case DType::kI64: return list_of<std::int64_t>(tensor);
  }
  return nb::none();
}

nb::object to_array(const Tensor& tensor, Arrays kind) {
  if (kind == Arrays::kNumpy && tensor.dtype() == DType::kBF16) return to_array(widened(tensor), kind);
  if (kind == Arrays::kTorch)
    if (const dlpack::ExchangeApi* api = torch_api()) return to_torch(tensor, *api);
  auto* held = new Tensor(tensor);
  const nb::capsule owner(held, [](void* p) noexcept { delete static_cast<Tensor*>(p); });
  std::array<std::size_t, Shape::kMaxRank> dims{};
  for (std::size_t i = 0; i < tensor.shape().rank(); ++i) dims[i] = static_cast<std::size_t>(tensor.shape()[i]);
  const auto make = [&]<class Framework>(Framework) {
    return nb::cast(nb::ndarray<Framework>(const_cast<void*>(tensor.data()), tensor.shape().rank(), dims.data(), owner,
                                           nullptr, dlpack_dtype(tensor.dtype())));
  };
  if (kind == Arrays::kTorch) return make(nb::pytorch());  // torch older than its exchange table
  return make(nb::numpy());
}

}  // namespace krt::python
