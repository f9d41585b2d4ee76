#pragma once
// The part of DLPack's ABI (version 1, https://dmlc.github.io/dlpack/latest/c_api.html) that is read here: what
// `__dlpack__` capsules hold, and the table of functions by which a framework exports a tensor without running
// Python code (torch 2.9 and later; about 20 times faster than the capsule).

#include <Python.h>

#include <cstdint>

namespace krt::python::dlpack {

inline constexpr const char* kCapsule = "dltensor";
inline constexpr const char* kUsedCapsule = "used_dltensor";
inline constexpr const char* kVersionedCapsule = "dltensor_versioned";
inline constexpr const char* kUsedVersionedCapsule = "used_dltensor_versioned";
inline constexpr const char* kExchangeAttribute = "__dlpack_c_exchange_api__";
inline constexpr const char* kExchangeCapsule = "dlpack_exchange_api";

inline constexpr std::int32_t kCpu = 1;
inline constexpr std::uint32_t kMajorVersion = 1;
inline constexpr std::uint64_t kReadOnly = 1;

enum TypeCode : std::uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kOpaque = 3, kBfloat = 4, kComplex = 5, kBool = 6 };

struct Device {
  std::int32_t type, id;
};
struct Type {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  Type dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: packed, row-major
  std::uint64_t byte_offset;
};
struct Managed {
  Tensor tensor;
  void* context;
  void (*deleter)(Managed*);
};
struct Version {
  std::uint32_t major, minor;
};
struct ManagedVersioned {
  Version version;
  void* context;
  void (*deleter)(ManagedVersioned*);
  std::uint64_t flags;
  Tensor tensor;
};

struct ExchangeHeader {
  Version version;
  ExchangeHeader* previous;
};
struct ExchangeApi {
  ExchangeHeader header;
  int (*allocate)(Tensor*, ManagedVersioned**, void*, void (*)(void*, const char*, const char*));
  int (*export_managed)(void* object, ManagedVersioned** out);
  int (*import_managed)(ManagedVersioned* tensor, void** object);
  int (*export_borrowed)(void* object, Tensor* out);
  int (*current_stream)(std::int32_t device_type, std::int32_t device_id, void** stream);
};

// The table of a Python type; null where it has none. Called with the GIL held.
const ExchangeApi* exchange_api(PyTypeObject* type);

}  // namespace krt::python::dlpack
