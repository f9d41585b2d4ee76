// A GGUF file: what is refused is refused with a sentence that begins with the file's name; of what is sound every key
// and every tensor is read, the model's configuration and tokenizer are loaded, and tensors are encoded in another
// format, which decodes to finite values.

#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <iostream>

#include "engine/model/checkpoint.h"

namespace {

using namespace krt::engine;

void require(bool condition, const char* what) {
  if (condition) return;
  std::cerr << what << '\n';
  std::abort();
}

// A file without a name, whose bytes are those of the input.
const std::string& file_of(const std::uint8_t* data, std::size_t size) {
  static const int fd = ::memfd_create("input", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(fd);
  require(::ftruncate(fd, static_cast<off_t>(size)) == 0, "no room for the input");
  require(::pwrite(fd, data, size, 0) == static_cast<ssize_t>(size), "the input was not written");
  return path;
}

void read_keys(const Gguf& gguf) {
  for (const MetaValue& v : gguf.metadata()) {
    (void)to_value(v);
    (void)gguf.flag(v.key);
    (void)gguf.number(v.key);
    (void)gguf.text(v.key);
    (void)gguf.texts(v.key);
    (void)gguf.numbers(v.key);
    (void)gguf.integer(v.key);
  }
}

void encode(std::span<const float> values, const krt::quant::Format& format) {
  const auto width = static_cast<std::size_t>(format.info.values);
  const std::size_t blocks = values.size() / width;
  std::vector<std::uint8_t> bytes(blocks * static_cast<std::size_t>(format.info.bytes));
  const std::size_t held = format.encode(values.data(), blocks, bytes.data());
  require(held <= blocks * width, "an index out of range");
  std::vector<float> back(held / width * width);
  format.decode(bytes.data(), held / width, back.data());
  for (const float x : back) require(std::isfinite(x), "encoded to what is not finite");
}

void read_tensors(const Gguf& gguf) {
  static const std::span formats = krt::quant::formats();
  std::size_t next = gguf.tensors().size();
  for (const GgufTensor& t : gguf.tensors()) {
    if (t.format->decode == nullptr) continue;
    const std::vector<float> values = decoded(t);
    const krt::quant::Format& to = formats[next++ % formats.size()];
    if (to.encode != nullptr) encode(values, to);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const krt::Result<Gguf> gguf = Gguf::parse({data, size}, "input");
  if (!gguf.ok()) {
    require(gguf.status().message().starts_with("input"), "refused without the file's name");
    return 0;
  }
  read_keys(*gguf);
  read_tensors(*gguf);
  const auto checkpoint = Checkpoint::open(file_of(data, size));
  require(checkpoint.ok() != !checkpoint.status().message().empty(), "refused without a sentence");
  return 0;
}
