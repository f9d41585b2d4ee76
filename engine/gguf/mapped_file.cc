#include "engine/gguf/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <utility>

namespace krt::engine {
namespace {

// What the handler may touch: lock-free atomics only.
struct Mapping {
  std::atomic<std::uintptr_t> begin{0}, end{0};
  std::atomic<bool> damaged{false};
};
std::array<Mapping, 256> mappings;
struct sigaction previous_action;

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (Mapping& m : mappings) {
    if (address < m.begin.load() || address >= m.end.load()) continue;
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    void* const at = reinterpret_cast<void*>(address - address % page);
    if (mmap(at, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) break;
    m.damaged.store(true);
    return;
  }
  if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
    previous_action.sa_sigaction(signal, info, context);
  } else if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
    previous_action.sa_handler(signal);
  } else {
    std::signal(signal, SIG_DFL);  // the access is repeated on return, and ends the process as it would have
  }
}

int claim_slot(const void* data, std::size_t size) {
  static std::mutex mutex;
  static const bool installed = [] {
    struct sigaction action {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    return sigaction(SIGBUS, &action, &previous_action) == 0;
  }();
  const std::lock_guard lock(mutex);
  for (std::size_t i = 0; installed && i < mappings.size(); ++i) {
    if (mappings[i].end.load() != 0) continue;
    mappings[i].damaged.store(false);
    mappings[i].begin.store(reinterpret_cast<std::uintptr_t>(data));
    mappings[i].end.store(reinterpret_cast<std::uintptr_t>(data) + size);
    return static_cast<int>(i);
  }
  return -1;
}

std::string reason_of(int error) { return std::generic_category().message(error); }

struct Descriptor {
  explicit Descriptor(int fd) : fd(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
  int fd;
};

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  // O_NONBLOCK: opening a FIFO would wait for its writer.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.fd < 0) return invalid("cannot open " + quoted(path) + ": " + reason_of(errno));
  struct stat info {};
  if (fstat(file.fd, &info) != 0) return invalid("cannot read " + quoted(path) + ": " + reason_of(errno));
  if (!S_ISREG(info.st_mode)) return invalid(quoted(path) + " is no regular file");
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return MappedFile(nullptr, 0, -1);
  void* data = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.fd, 0);
  if (data == MAP_FAILED)
    return Status(Reason::kResourceExhausted, "cannot map " + quoted(path) + ": " + reason_of(errno));
  const int slot = claim_slot(data, size);
  if (slot < 0) {
    munmap(data, size);
    return Status(Reason::kResourceExhausted, "too many files are mapped; unload some");
  }
  return MappedFile(static_cast<const std::uint8_t*>(data), size, slot);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      slot_(std::exchange(other.slot_, -1)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(slot_, other.slot_);
  return *this;
}

MappedFile::~MappedFile() {
  if (slot_ < 0) return;
  munmap(const_cast<std::uint8_t*>(data_), size_);
  Mapping& m = mappings[static_cast<std::size_t>(slot_)];
  m.begin.store(0);
  m.end.store(0);
}

bool MappedFile::damaged() const { return slot_ >= 0 && mappings[static_cast<std::size_t>(slot_)].damaged.load(); }

}  // namespace krt::engine
