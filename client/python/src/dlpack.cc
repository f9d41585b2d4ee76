#include "client/python/src/dlpack.h"

#include <nanobind/nanobind.h>

#include <unordered_map>

namespace krt::python::dlpack {

const ExchangeApi* exchange_api(PyTypeObject* type) {
  // Types that have one are few and are kept for good, so that an address can stand for the type. GIL held.
  static auto* const kKnown = new std::unordered_map<PyTypeObject*, const ExchangeApi*>();
  if (const auto it = kKnown->find(type); it != kKnown->end()) return it->second;
  const nanobind::object capsule =
      nanobind::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), kExchangeAttribute));
  if (!capsule.is_valid()) {
    PyErr_Clear();
    return nullptr;
  }
  if (!PyCapsule_IsValid(capsule.ptr(), kExchangeCapsule)) return nullptr;
  auto* header = static_cast<ExchangeHeader*>(PyCapsule_GetPointer(capsule.ptr(), kExchangeCapsule));
  while (header != nullptr && header->version.major != kMajorVersion) header = header->previous;
  const auto* api = reinterpret_cast<const ExchangeApi*>(header);
  if (api == nullptr || api->export_managed == nullptr || api->import_managed == nullptr) return nullptr;
  Py_INCREF(type);
  kKnown->emplace(type, api);
  return api;
}

}  // namespace krt::python::dlpack
