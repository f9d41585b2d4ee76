#pragma once
// NameIndex: from a module and a function name to the declaration. Open addressing with one hash over both names: a
// look-up among 400 is a few nanoseconds, where std::unordered_map takes thirty, most of a call of a scalar kernel.

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "runtime/registry/declaration.h"

namespace krt {

class NameIndex {
 public:
  // False where the name is there already.
  bool insert(const FunctionInfo& info) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place(info.module, info.name)];
    if (slot.info != nullptr) return false;
    slot = {hash_of(info.module, info.name), &info};
    ++size_;
    return true;
  }

  // Null where there is none.
  [[nodiscard]] const FunctionInfo* find(std::string_view module, std::string_view name) const {
    return slots_.empty() ? nullptr : slots_[place(module, name)].info;
  }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    const FunctionInfo* info = nullptr;
  };

  static std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15U;  // 2^64 over the golden ratio: Fibonacci hashing
    return hash ^ hash >> 32U;
  }
  static std::uint64_t word_at(const char* p) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, 8);
    return word;
  }
  static std::uint64_t mix(std::uint64_t hash, std::string_view text) {
    hash ^= text.size();
    if (text.size() < 8) {
      std::uint64_t word = 0;
      for (const char c : text) word = word << 8U | static_cast<unsigned char>(c);
      return mix(hash, word);
    }
    const char* const last = text.data() + text.size() - 8;  // overlaps the word before it
    for (const char* p = text.data(); p < last; p += 8) hash = mix(hash, word_at(p));
    return mix(hash, word_at(last));
  }
  static std::uint64_t hash_of(std::string_view module, std::string_view name) { return mix(mix(0, module), name); }

  // Of the name, or of the free slot where it would go. slots_ is never full.
  [[nodiscard]] std::size_t place(std::string_view module, std::string_view name) const {
    const std::uint64_t hash = hash_of(module, name);
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = hash & mask;
    while (slots_[i].info != nullptr &&
           (slots_[i].hash != hash || slots_[i].info->name != name || slots_[i].info->module != module))
      i = (i + 1) & mask;
    return i;
  }

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 16 : 2 * slots_.size());  // a power of two
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.info != nullptr) slots_[place(slot.info->module, slot.info->name)] = slot;
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace krt
