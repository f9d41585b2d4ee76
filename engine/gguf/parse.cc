// The parser: every byte it takes is checked to be there first.

#include <algorithm>
#include <array>

#include "engine/gguf/gguf.h"
#include "runtime/core/utf8.h"

namespace krt::engine {
namespace {

constexpr std::array<std::string_view, 13> kTypeNames{"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                                      "bool", "string", "array", "u64", "i64", "f64"};
// Bytes of a value; 0: not fixed.
constexpr std::array<std::size_t, 13> kTypeBytes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

// Takes bytes from the front of what is left. Once something was not there, everything after is refused too.
class Cursor {
 public:
  explicit Cursor(std::span<const std::uint8_t> bytes) : all_(bytes) {}
  [[nodiscard]] std::size_t position() const { return at_; }
  [[nodiscard]] std::size_t left() const { return all_.size() - at_; }

  bool take(std::uint64_t n, std::span<const std::uint8_t>& out) {
    if (n > left()) return false;
    out = all_.subspan(at_, static_cast<std::size_t>(n));
    at_ += static_cast<std::size_t>(n);
    return true;
  }
  template <class T>
  bool read(T& out) {
    std::span<const std::uint8_t> bytes;
    if (!take(sizeof(T), bytes)) return false;
    std::memcpy(&out, bytes.data(), sizeof(T));
    return true;
  }
  bool text(std::string_view& out) {
    std::uint64_t n = 0;
    std::span<const std::uint8_t> bytes;
    if (!read(n) || !take(n, bytes)) return false;
    out = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    return true;
  }
  [[nodiscard]] std::span<const std::uint8_t> since(std::size_t position) const {
    return all_.subspan(position, at_ - position);
  }

 private:
  std::span<const std::uint8_t> all_;
  std::size_t at_ = 0;
};

}  // namespace

std::string_view name_of(MetaType type) { return kTypeNames[static_cast<std::size_t>(type)]; }

class GgufParser {
 public:
  GgufParser(std::span<const std::uint8_t> file, const std::string& name) : file_(file), in_(file) {
    out_.name_ = name;
  }

  Result<Gguf> parse() {
    for (const auto step : {&GgufParser::head, &GgufParser::metadata, &GgufParser::alignment, &GgufParser::tensor_infos,
                            &GgufParser::tensor_data})
      if (Status refused = (this->*step)(); !refused.ok()) return refused;
    return std::move(out_);
  }

 private:
  [[nodiscard]] Status refuse(std::string_view what) const { return invalid(out_.name_ + ": " + std::string(what)); }
  [[nodiscard]] Status cut(std::string_view where) const {
    return refuse("the file ends inside " + std::string(where) + " (" + std::to_string(file_.size()) + " bytes)");
  }

  Status head() {
    std::uint32_t magic = 0;
    if (!in_.read(magic)) return cut("the magic number");
    if (magic == 0x47475546) return refuse("is a big-endian GGUF file; krt reads little-endian ones");
    if (magic != 0x46554747) return refuse("is no GGUF file");
    if (!in_.read(out_.version_)) return cut("the version");
    if (out_.version_ == 1) return refuse("is GGUF version 1; krt reads versions 2 and 3");
    if ((out_.version_ & 0xFFFFU) == 0 && out_.version_ != 0)
      return refuse("is a big-endian GGUF file; krt reads little-endian ones");
    if (out_.version_ != 2 && out_.version_ != 3)
      return refuse("has unknown GGUF version " + std::to_string(out_.version_) + "; krt reads versions 2 and 3");
    if (!in_.read(tensor_count_)) return cut("the tensor count");
    return in_.read(key_count_) ? Status() : cut("the key count");
  }

  Status metadata() {
    // Every key takes at least 13 bytes: a length, one byte, a type and a value. So the loop ends with the file.
    if (key_count_ > in_.left() / 13)
      return refuse("claims " + std::to_string(key_count_) + " keys, more than the file has room for");
    for (std::uint64_t i = 0; i < key_count_; ++i)
      if (Status refused = entry(i); !refused.ok()) return refused;
    return {};
  }

  Status entry(std::uint64_t i) {
    MetaValue v{};
    if (!in_.text(v.key)) return cut("key " + std::to_string(i));
    if (v.key.empty()) return refuse("key " + std::to_string(i) + " is empty");
    if (!is_utf8(v.key)) return refuse("key " + quoted(v.key) + " is not UTF-8");
    if (!out_.key_index_.emplace(v.key, out_.metadata_.size()).second)
      return refuse("key " + quoted(v.key) + " is there twice");
    const std::string where = "key " + quoted(v.key);
    std::uint32_t type = 0;
    if (!in_.read(type)) return cut(where);
    if (type >= kTypeNames.size()) return refuse(where + " has unknown type " + std::to_string(type));
    v.type = static_cast<MetaType>(type);
    const std::size_t start = in_.position();
    if (Status refused = v.type == MetaType::kArray ? array(where, v) : values(where, v.type, 1); !refused.ok())
      return refused;
    if (v.type != MetaType::kArray) v.data = in_.since(start);
    out_.metadata_.push_back(v);
    return {};
  }

  // `count` values of a type that is no array.
  Status values(const std::string& where, MetaType type, std::uint64_t count) {
    if (type == MetaType::kString) {
      if (count > in_.left() / 8) return cut(where);
      for (std::string_view text; count > 0; --count)
        if (!in_.text(text)) return cut(where);
      return {};
    }
    const std::size_t size = kTypeBytes[static_cast<std::size_t>(type)];
    std::span<const std::uint8_t> bytes;
    if (count > in_.left() / size || !in_.take(count * size, bytes)) return cut(where);
    if (type == MetaType::kBool && std::any_of(bytes.begin(), bytes.end(), [](std::uint8_t b) { return b > 1; }))
      return refuse(where + " holds a bool that is neither 0 nor 1");
    return {};
  }

  Status array_head(const std::string& where, MetaType& element, std::uint64_t& count) {
    std::uint32_t type = 0;
    if (!in_.read(type) || !in_.read(count)) return cut(where);
    if (type >= kTypeNames.size()) return refuse(where + " is an array of unknown type " + std::to_string(type));
    element = static_cast<MetaType>(type);
    // An array in an array takes at least 12 bytes.
    if (element == MetaType::kArray && count > in_.left() / 12) return cut(where);
    return {};
  }

  // Walks nested arrays with the counts that are still to come, at most kMaxArrayNesting of them.
  Status array(const std::string& where, MetaValue& v) {
    if (Status refused = array_head(where, v.element, v.count); !refused.ok()) return refused;
    const std::size_t start = in_.position();
    std::vector<std::uint64_t> open;
    MetaType element = v.element;
    std::uint64_t count = v.count;
    for (;;) {
      if (element == MetaType::kArray) {
        if (open.size() + 1 >= kMaxArrayNesting) return refuse(where + " nests arrays over 16 deep");
        open.push_back(count);
      } else if (Status refused = values(where, element, count); !refused.ok()) {
        return refused;
      }
      while (!open.empty() && open.back() == 0) open.pop_back();
      if (open.empty()) break;
      --open.back();
      if (Status refused = array_head(where, element, count); !refused.ok()) return refused;
    }
    v.data = in_.since(start);
    return {};
  }

  Status alignment() {
    const MetaValue* v = out_.find("general.alignment");
    if (v == nullptr) return {};
    if (v->type != MetaType::kU32)
      return refuse("key 'general.alignment' must be u32, is " + std::string(name_of(v->type)));
    out_.alignment_ = quant::load<std::uint32_t>(v->data.data());
    if (!std::has_single_bit(out_.alignment_) || out_.alignment_ > kMaxAlignment)
      return refuse("key 'general.alignment' is " + std::to_string(out_.alignment_) +
                    ", must be a power of two up to 1048576");
    return {};
  }

  Status tensor_infos() {
    // A tensor takes at least 32 bytes: a length, a byte of name, a rank, one dimension, a type and an offset.
    if (tensor_count_ > in_.left() / 32 && tensor_count_ != 0)
      return refuse("claims " + std::to_string(tensor_count_) + " tensors, more than the file has room for");
    for (std::uint64_t i = 0; i < tensor_count_; ++i)
      if (Status refused = tensor_info(i); !refused.ok()) return refused;
    return {};
  }

  Status tensor_info(std::uint64_t i) {
    GgufTensor t{};
    if (!in_.text(t.name)) return cut("tensor " + std::to_string(i));
    if (t.name.empty()) return refuse("tensor " + std::to_string(i) + " has an empty name");
    if (!is_utf8(t.name)) return refuse("tensor " + quoted(t.name) + " has a name that is not UTF-8");
    const std::string where = "tensor " + quoted(t.name);
    if (!out_.tensor_index_.emplace(t.name, out_.tensors_.size()).second) return refuse(where + " is there twice");
    std::uint32_t rank = 0;
    if (!in_.read(rank)) return cut(where);
    if (rank < 1 || rank > 4) return refuse(where + " has " + std::to_string(rank) + " dimensions, must be 1 to 4");
    for (std::uint32_t d = 0; d < rank; ++d) {
      std::int64_t dim = 0;
      if (!in_.read(dim)) return cut(where);
      if (dim < 1 || dim > kMaxTensorDim)
        return refuse(where + " has dimension " + std::to_string(dim) + ", must be 1 to 2^42");
      t.dims.push_back(dim);
    }
    std::uint32_t type = 0;
    if (!in_.read(type) || !in_.read(t.offset)) return cut(where);
    t.format = quant::format_of(type);
    if (t.format == nullptr) return refuse(where + " has unknown or removed type " + std::to_string(type));
    out_.tensors_.push_back(std::move(t));
    return {};
  }

  Status tensor_data() {
    const std::uint64_t align = out_.alignment_;
    const std::uint64_t base = (in_.position() + align - 1) / align * align;
    for (GgufTensor& t : out_.tensors_)
      if (Status refused = place(t, base); !refused.ok()) return refused;
    return overlaps();
  }

  Status place(GgufTensor& t, std::uint64_t base) {
    const std::string where = "tensor " + quoted(t.name);
    const quant::BlockInfo& info = t.format->info;
    if (t.dims[0] % info.values != 0)
      return refuse(where + " has rows of " + std::to_string(t.dims[0]) + " values, no whole number of " +
                    std::string(info.name) + " blocks");
    std::int64_t bytes = t.dims[0] / info.values;
    bool wraps = __builtin_mul_overflow(bytes, std::int64_t{info.bytes}, &bytes);
    for (std::size_t d = 1; d < t.dims.size(); ++d) wraps = __builtin_mul_overflow(bytes, t.dims[d], &bytes) || wraps;
    if (wraps) return refuse(where + " is too large: the product of its dimensions does not fit 63 bits of bytes");
    if (t.offset % out_.alignment_ != 0)
      return refuse(where + " has offset " + std::to_string(t.offset) + ", which is not aligned to " +
                    std::to_string(out_.alignment_));
    std::uint64_t end = 0;
    if (__builtin_add_overflow(base, t.offset, &t.offset) ||
        __builtin_add_overflow(t.offset, static_cast<std::uint64_t>(bytes), &end) || end > file_.size())
      return refuse(where + " lies outside the file: it needs " + std::to_string(bytes) + " bytes at " +
                    std::to_string(t.offset) + " of " + std::to_string(file_.size()));
    t.data = file_.subspan(static_cast<std::size_t>(t.offset), static_cast<std::size_t>(bytes));
    return {};
  }

  [[nodiscard]] Status overlaps() const {
    std::vector<const GgufTensor*> sorted;
    for (const GgufTensor& t : out_.tensors_) sorted.push_back(&t);
    std::sort(sorted.begin(), sorted.end(),
              [](const GgufTensor* a, const GgufTensor* b) { return a->offset < b->offset; });
    for (std::size_t i = 1; i < sorted.size(); ++i)
      if (sorted[i - 1]->offset + sorted[i - 1]->data.size() > sorted[i]->offset)
        return refuse("tensors " + quoted(sorted[i - 1]->name) + " and " + quoted(sorted[i]->name) + " overlap");
    return {};
  }

  std::span<const std::uint8_t> file_;
  Cursor in_;
  Gguf out_;
  std::uint64_t tensor_count_ = 0, key_count_ = 0;
};

Result<Gguf> Gguf::parse(std::span<const std::uint8_t> file, const std::string& name) {
  return GgufParser(file, name).parse();
}

}  // namespace krt::engine
