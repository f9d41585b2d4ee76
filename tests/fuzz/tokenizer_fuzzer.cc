// A tokenizer and a text: what is encoded stays in the vocabulary, decoding is UTF-8 and the same token by token, and a
// byte-level text comes back. The first byte chooses the tokenizer (0 to 4: sound ones; else the vocabulary's own bytes
// are changed by the text, and what is refused is refused with a sentence) and whether special tokens are parsed.

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>

#include "engine/gguf/writer.h"
#include "engine/tokenizer/tokenizer.h"
#include "runtime/core/utf8.h"

namespace {

using namespace krt::engine;
using Made = std::shared_ptr<const Tokenizer>;

void require(bool condition, const char* what) {
  if (condition) return;
  std::cerr << what << '\n';
  std::abort();
}

std::vector<std::uint8_t> fixture(const char* name) {
  std::ifstream in(std::string(KRT_FIXTURES "/") + name, std::ios::binary);
  std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(in), {}};
  require(!bytes.empty(), "no fixture");
  return bytes;
}

const std::vector<std::uint8_t>& file(bool pieces) {
  static const std::vector<std::uint8_t> bpe = fixture("tokenizer_bpe.gguf"), spm = fixture("tokenizer_spm.gguf");
  return pieces ? spm : bpe;
}

Made sound(std::size_t which) {
  constexpr const char* kPre[] = {"gpt-2", "llama-bpe", "qwen2", "smollm", "default"};
  const krt::Result<Gguf> given = Gguf::parse(file(which == 4), "fixture");
  GgufWriter writer;
  for (const MetaValue& value : given->metadata())
    if (value.key != "tokenizer.ggml.pre") writer.copy(value);
  writer.add("tokenizer.ggml.pre", std::string_view(kPre[which]));
  const std::vector<std::uint8_t> bytes = writer.finish();
  return Tokenizer::from_metadata(*Gguf::parse(bytes, "fixture")).value();
}

const Tokenizer& tokenizer(std::size_t which) {
  static const Made all[] = {sound(0), sound(1), sound(2), sound(3), sound(4)};
  return *all[which];
}

void try_text(const Tokenizer& t, std::string_view text, bool parse) {
  const auto ids = t.encode(text, {.add_special = false, .parse_special = parse});
  require(ids.ok(), "a short text was refused");
  for (const TokenId id : *ids) require(t.contains(id), "an id outside the vocabulary");
  const std::string back = t.decode(*ids, {.special = true}).value();
  require(krt::is_utf8(back), "ill-formed text");
  StreamDecoder stream(t, {.special = true});
  std::string streamed;
  for (const TokenId id : *ids) streamed += stream.push(id);
  require(streamed + stream.finish() == back, "not the same text token by token");
}

// Bytes of the vocabulary file changed: three of the text give a place and a value.
void try_changed(bool pieces, std::string_view text) {
  std::vector<std::uint8_t> bytes = file(pieces);
  for (; text.size() >= 4; text.remove_prefix(4)) {
    const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(text[i])); };
    bytes[(byte(0) + 256 * byte(1) + 65536 * byte(2)) % bytes.size()] = static_cast<std::uint8_t>(byte(3));
  }
  const krt::Result<Gguf> gguf = Gguf::parse(bytes, "changed");
  if (!gguf.ok()) return;
  const auto t = Tokenizer::from_metadata(*gguf);
  if (!t.ok()) return require(t.status().message().starts_with("changed: key '"), "refused without the key");
  try_text(**t, "Hello, w\xC3\xB6rld 123  \n<|im_end|>\xE2\x96\x81\xFF", true);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t which = data[0] % 7U;
  if (which > 4) {
    try_changed(which == 6, text);
    return 0;
  }
  const Tokenizer& t = tokenizer(which);
  try_text(t, text, data[0] >= 128);
  if (which != 2 && which != 4 && krt::is_utf8(text) && text.find("\x06") == std::string_view::npos) {
    const auto ids = t.encode(text, {.add_special = false}).value();
    require(t.decode(ids).value() == text, "not the same text when decoded");
  }
  return 0;
}
