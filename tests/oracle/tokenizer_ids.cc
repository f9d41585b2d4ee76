// tokenizer_ids MODEL.gguf [special]: the ids of every text on standard input, for tokenizer_compare.py.
//
// A text is its length (u32, little endian) and its bytes; an answer is the number of ids and the ids (i32), then the
// length and bytes of what they decode to with special tokens shown. Nothing is added to a text; "special": tokens in
// the text are parsed. Seconds of loading, encoding and decoding go to standard error.

#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>

#include "engine/tokenizer/tokenizer.h"

namespace {

using namespace krt;

bool read_text(std::string& text) {
  std::uint32_t length = 0;
  if (std::fread(&length, sizeof length, 1, stdin) != 1) return false;
  text.resize(length);
  return std::fread(text.data(), 1, length, stdin) == length;
}

void write_bytes(const void* data, std::size_t n) {
  if (std::fwrite(data, 1, n, stdout) != n) std::exit(1);
}

template <class F>
double seconds(const F& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

int run(const char* path, bool special) {
  std::shared_ptr<const engine::Tokenizer> tokenizer;
  Status refused;
  const double load = seconds([&] {
    const auto file = engine::GgufFile::open(path);
    if (!file.ok()) return void(refused = file.status());
    const auto made = engine::Tokenizer::from_metadata((*file)->header());
    if (!made.ok()) return void(refused = made.status());
    tokenizer = *made;
  });
  if (!refused.ok()) {
    std::cerr << refused.message() << '\n';
    return 1;
  }
  double encode = 0, decode = 0;
  std::size_t bytes = 0, tokens = 0;
  for (std::string text; read_text(text); bytes += text.size()) {
    std::vector<engine::TokenId> ids;
    std::string back;
    encode += seconds([&] { ids = tokenizer->encode(text, {.add_special = false, .parse_special = special}).value(); });
    decode += seconds([&] { back = tokenizer->decode(ids, {.special = true}).value(); });
    const auto count = static_cast<std::uint32_t>(ids.size()), length = static_cast<std::uint32_t>(back.size());
    write_bytes(&count, sizeof count);
    write_bytes(ids.data(), ids.size() * sizeof ids[0]);
    write_bytes(&length, sizeof length);
    write_bytes(back.data(), back.size());
    tokens += count;
  }
  std::fprintf(stderr, "%zu bytes, %zu tokens: load %.3f s, encode %.2f MB/s, decode %.2f MB/s\n", bytes, tokens, load,
               static_cast<double>(bytes) / encode * 1e-6, static_cast<double>(bytes) / decode * 1e-6);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) return 2;
  return run(argv[1], argc == 3 && std::string_view(argv[2]) == "special");
}
