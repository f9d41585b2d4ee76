#include "server/method.h"

#include <new>

namespace krt {

Reply answer(const Method& method, grpc::ByteBuffer& request, const CallControl& control, const Send& send) {
  try {
    return method.answer(request, control, send);
  } catch (const std::bad_alloc&) {
    return Status(Reason::kResourceExhausted, method.name + ": out of memory");
  } catch (const std::exception& e) {
    return Status(Reason::kInternal, method.name + ": " + e.what());
  } catch (...) {
    return Status(Reason::kInternal, method.name + ": an exception of unknown type");
  }
}

}  // namespace krt
