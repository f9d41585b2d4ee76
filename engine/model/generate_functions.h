#pragma once
// engine.generate: the text that a model writes after a prompt, token by token as events.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/registry/module_builder.h"

namespace krt::engine {

struct Generated {
  std::string text;
  std::vector<std::int64_t> ids;  // that were written
  std::string finish;             // "length", "end", "stop"
  std::int64_t prompt_tokens;
  static constexpr std::array kFields{"text", "ids", "finish", "prompt_tokens"};
};

// Emits for each token {"id": int, "text": string}, the text being what may be shown since the event before; text that
// was held back until the end comes in a last event without an id.
void declare_generate(ModuleBuilder& module);

}  // namespace krt::engine
