#include "engine/gguf/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace krt::engine {
namespace {

Status cannot_write(const std::string& path) {
  return invalid("cannot write " + krt::quoted(path) + ": " + std::strerror(errno));
}

}  // namespace

Result<OutputFile> OutputFile::create(const std::string& path, bool overwrite) {
  std::error_code ignored;
  const std::filesystem::file_status there = std::filesystem::status(path, ignored);
  if (std::filesystem::exists(there) && !overwrite)
    return invalid(krt::quoted(path) + " exists; to write over it has to be asked for (--force)");
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there))
    return invalid(krt::quoted(path) + " is no regular file");
  std::string temporary = path + ".part-" + std::to_string(::getpid());
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return cannot_write(temporary);
  return OutputFile(path, std::move(temporary), fd);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_) {}

OutputFile::~OutputFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status OutputFile::write(std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cannot_write(path_);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    size_ += static_cast<std::uint64_t>(n);
  }
  return {};
}

Status OutputFile::write_zeros(std::uint64_t count) {
  static constexpr std::array<std::uint8_t, 4096> kZeros{};
  for (Status failed; count > 0;) {
    const std::uint64_t n = std::min<std::uint64_t>(count, kZeros.size());
    if (failed = write(std::span(kZeros).first(n)); !failed.ok()) return failed;
    count -= n;
  }
  return {};
}

Status OutputFile::commit() {
  if (::fsync(fd_) != 0 || ::close(std::exchange(fd_, -1)) != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0)
    return cannot_write(path_);
  temporary_.clear();
  return {};
}

}  // namespace krt::engine
