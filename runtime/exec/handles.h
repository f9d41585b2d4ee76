#pragma once
// HandleTable: values that stay in the runtime and are named by a Handle. Thread-safe.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/core/value.h"

namespace krt {

class HandleTable {
 public:
  // Refuses (resource_exhausted) more than `max_bytes` of tensors, texts and lists, or more than `max_count` handles.
  explicit HandleTable(std::size_t max_count = 65536, std::size_t max_bytes = std::size_t{64} << 30U);

  // `name` is for people: it appears in list() only.
  Result<Handle> put(Value value, std::string name = {});
  // The value stays alive while the pointer is held, even if the handle is freed meanwhile.
  [[nodiscard]] Result<std::shared_ptr<const Value>> get(Handle handle) const;
  Status free(Handle handle);

  struct Entry {
    Handle handle;
    std::string name;
    std::string type;  // as type_text
    std::size_t bytes;
  };
  [[nodiscard]] std::vector<Entry> list() const;  // in the order of creation

 private:
  struct Held {
    std::shared_ptr<const Value> value;
    std::string name;
    std::size_t bytes;
  };
  [[nodiscard]] Status unknown(Handle handle) const;

  const std::uint64_t runtime_;
  const std::size_t max_count_, max_bytes_;
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, Held> held_;
  std::uint64_t next_id_ = 1;
  std::size_t bytes_ = 0;
};

// "h-<runtime>-<id>" in hex: the spelling in JSON and in error texts.
std::string handle_text(Handle handle);
Result<Handle> parse_handle(std::string_view text);

}  // namespace krt
