#pragma once
// GGUF: the container that model files come in (versions 2 and 3, little endian).
//
// Two levels: opening checks the container (this file), loading a model checks what it means (engine/models). Opening
// reads no tensor data and allocates in proportion to the bytes of the header that it has already found sound; no count
// in the file drives a loop or an allocation by itself, and nesting is walked without recursion.
//
// Source of the layout: the GGUF specification as the `gguf` Python package 0.19 writes and reads it.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/gguf/mapped_file.h"
#include "modules/quant/formats/formats.h"
#include "runtime/core/value.h"

namespace krt::engine {

enum class MetaType : std::uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kString,
  kArray,
  kU64,
  kI64,
  kF64
};
std::string_view name_of(MetaType type);

// One key's value: where it lies in the file. Read through the getters of Gguf.
struct MetaValue {
  std::string_view key;
  MetaType type;
  MetaType element = MetaType::kU8;    // of an array
  std::uint64_t count = 0;             // of an array
  std::span<const std::uint8_t> data;  // the value (an array's elements), checked to be whole
};

struct GgufTensor {
  std::string_view name;
  const quant::Format* format;
  std::vector<std::int64_t> dims;  // as in the file: dims[0] is the length of a row
  std::uint64_t offset;            // in the file
  std::span<const std::uint8_t> data;

  [[nodiscard]] std::int64_t elements() const;
};

inline constexpr std::int64_t kMaxTensorDim = std::int64_t{1} << 42;
inline constexpr std::uint64_t kMaxAlignment = std::uint64_t{1} << 20;
inline constexpr int kMaxArrayNesting = 16;

// One file's container. Views into bytes that outlive it.
class Gguf {
 public:
  // `name` stands in front of every refusal: "<name>: tensor 'x' ...".
  static Result<Gguf> parse(std::span<const std::uint8_t> file, const std::string& name);

  [[nodiscard]] const std::string& name() const { return name_; }  // as given to parse()
  [[nodiscard]] std::uint32_t version() const { return version_; }
  [[nodiscard]] std::uint64_t alignment() const { return alignment_; }
  [[nodiscard]] const std::vector<MetaValue>& metadata() const { return metadata_; }
  [[nodiscard]] const std::vector<GgufTensor>& tensors() const { return tensors_; }
  [[nodiscard]] const MetaValue* find(std::string_view key) const;
  [[nodiscard]] const GgufTensor* tensor(std::string_view name) const;

  // A key's value in the wanted kind. Any integer type serves for an int where the number fits, any number for a float;
  // a missing key and a key of another kind are refused by name.
  [[nodiscard]] Result<std::int64_t> integer(std::string_view key) const;
  [[nodiscard]] Result<double> number(std::string_view key) const;
  [[nodiscard]] Result<bool> flag(std::string_view key) const;
  [[nodiscard]] Result<std::string_view> text(std::string_view key) const;
  [[nodiscard]] Result<std::vector<std::string_view>> texts(std::string_view key) const;
  [[nodiscard]] Result<std::vector<double>> numbers(std::string_view key) const;

 private:
  friend class GgufParser;
  [[nodiscard]] Result<const MetaValue*> require(std::string_view key) const;
  [[nodiscard]] Status wrong_kind(const MetaValue& value, std::string_view wanted) const;

  std::string name_;
  std::uint32_t version_ = 0;
  std::uint64_t alignment_ = 32;
  std::vector<MetaValue> metadata_;
  std::vector<GgufTensor> tensors_;
  std::unordered_map<std::string_view, std::size_t> key_index_, tensor_index_;
};

// A scalar, text or array of the metadata as a Value: an array of numbers is a tensor, of texts a list.
Value to_value(const MetaValue& value);

// A model file on disk, or all shards of one ("-00001-of-00003.gguf": any shard opens the set).
class GgufFile {
 public:
  static Result<std::shared_ptr<const GgufFile>> open(const std::string& path);

  // Metadata of the first shard; tensors of all.
  [[nodiscard]] const Gguf& header() const { return shards_.front().gguf; }
  [[nodiscard]] std::vector<const GgufTensor*> tensors() const;
  [[nodiscard]] const GgufTensor* tensor(std::string_view name) const;
  [[nodiscard]] std::size_t shard_count() const { return shards_.size(); }
  // Refuses where a file shrank since it was opened: what was read of it may be zeros.
  [[nodiscard]] Status intact() const;

 private:
  struct Shard {
    std::string path;
    MappedFile file;
    Gguf gguf;
  };
  static Result<Shard> open_shard(const std::string& path);
  [[nodiscard]] Status check_set() const;
  std::vector<Shard> shards_;
};

}  // namespace krt::engine
