#pragma once
// For tests: the Shakespeare model with a chat template, for which it was not trained.

#include <string>
#include <vector>

#include "engine/gguf/gguf.h"
#include "engine/gguf/writer.h"
#include "runtime/testing/fixture.h"

namespace krt::engine {

// The bytes of its GGUF file; null: without a template.
inline std::vector<std::uint8_t> chat_model(const char* chat_template) {
  const std::string bytes = krt::testing::fixture_bytes("shakespeare/q8_0.gguf");
  const std::span file(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  const Gguf gguf = Gguf::parse(file, "fixture").value();
  GgufWriter w;
  for (const MetaValue& v : gguf.metadata()) w.copy(v);
  if (chat_template != nullptr) w.add("tokenizer.chat_template", std::string_view(chat_template));
  for (const GgufTensor& t : gguf.tensors()) w.tensor(t.name, t.format->info.type, t.dims, t.data);
  return w.finish();
}

}  // namespace krt::engine
