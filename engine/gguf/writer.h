#pragma once
// GgufWriter: a GGUF v3 file, whole in memory or its header alone.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/gguf/gguf.h"

namespace krt::engine {

class GgufWriter {
 public:
  explicit GgufWriter(std::uint32_t alignment = 32);

  // A key of any type; `bytes` is the value as it stands in the file.
  void raw(std::string_view name, MetaType type, std::span<const std::uint8_t> bytes);
  void add(std::string_view name, std::string_view text);
  void add(std::string_view name, std::uint32_t value);
  void add(std::string_view name, float value);
  void add(std::string_view name, bool value);
  void add(std::string_view name, const std::vector<std::string>& texts);
  void add(std::string_view name, const std::vector<float>& values);
  void add(std::string_view name, const std::vector<std::int32_t>& values);
  void copy(const MetaValue& value);
  // `dims` as in the file: the length of a row first. `data` is kept by reference until finish().
  void tensor(std::string_view name, std::uint32_t type, std::span<const std::int64_t> dims,
              std::span<const std::uint8_t> data);
  // Its data are written by the caller: behind header(), in the order of the calls, each padded() with zeros.
  void tensor(std::string_view name, std::uint32_t type, std::span<const std::int64_t> dims, std::uint64_t bytes);

  // All that is before the first tensor's data.
  [[nodiscard]] std::vector<std::uint8_t> header() const;
  [[nodiscard]] std::uint64_t padded(std::uint64_t bytes) const;
  // The whole file.
  [[nodiscard]] std::vector<std::uint8_t> finish() const;

 private:
  struct Pending {
    std::string name;
    std::uint32_t type;
    std::vector<std::int64_t> dims;
    std::uint64_t bytes;
    std::span<const std::uint8_t> data;
  };
  void key(std::string_view key, MetaType type);
  void array(std::string_view name, MetaType element, std::size_t count);

  std::uint32_t alignment_;
  std::vector<std::uint8_t> metadata_;
  std::uint64_t keys_ = 0;
  std::vector<Pending> tensors_;
};

}  // namespace krt::engine
