#include "runtime/testing/guarded_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

namespace krt::testing::detail {
namespace {

std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
std::size_t whole_pages(std::size_t bytes) { return (bytes + page() - 1) / page() * page(); }

}  // namespace

void* map_guarded(std::size_t bytes, bool at_front) {
  const std::size_t inner = whole_pages(bytes);
  void* mapped = mmap(nullptr, inner + 2 * page(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  char* const start = static_cast<char*>(mapped) + page();
  if (inner != 0 && mprotect(start, inner, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  return at_front ? start : start + (inner - bytes);
}

void unmap_guarded(void* data, std::size_t bytes) {
  const std::size_t inner = whole_pages(bytes);
  auto address = reinterpret_cast<std::uintptr_t>(data);
  address -= address % page();
  // An empty buffer stands at the start of the second guard page (or of the first inner page, which is the same).
  munmap(reinterpret_cast<void*>(address - page()), inner + 2 * page());
}

}  // namespace krt::testing::detail
