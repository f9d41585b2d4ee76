#include "proto/codec/writer.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/core/utf8.h"

namespace krt::wire {
namespace {

enum WireType : std::uint32_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2 };

constexpr std::uint64_t tag(int field, WireType type) { return (static_cast<std::uint64_t>(field) << 3U) | type; }

static_assert(std::endian::native == std::endian::little, "the wire is little endian, and so is every target of krt");

}  // namespace

void Writer::grow(std::size_t room) {
  const std::size_t used = capacity_ - begin_;
  const std::size_t capacity = std::max(2 * capacity_, used + room);
  std::vector<char> larger(capacity);
  std::memcpy(larger.data() + capacity - used, chunk_ + begin_, used);
  large_ = std::move(larger);
  chunk_ = large_.data();
  capacity_ = capacity;
  begin_ = capacity - used;
}

void Writer::put_raw(const void* data, std::size_t size) {
  if (size == 0) return;
  if (begin_ < size) grow(size);
  begin_ -= size;
  std::memcpy(chunk_ + begin_, data, size);
  size_ += size;
}

void Writer::put_raw_varint(std::uint64_t value) {
  std::array<unsigned char, 10> bytes;
  std::size_t n = 0;
  for (; value >= 0x80; value >>= 7U) bytes[n++] = static_cast<unsigned char>(value | 0x80U);
  bytes[n++] = static_cast<unsigned char>(value);
  put_raw(bytes.data(), n);
}

void Writer::put_header(int field, std::size_t length) {
  put_raw_varint(length);
  put_raw_varint(tag(field, kLengthDelimited));
}

void Writer::put_varint(int field, std::uint64_t value) {
  put_raw_varint(value);
  put_raw_varint(tag(field, kVarint));
}

void Writer::put_fixed64(int field, std::uint64_t value) {
  put_raw(&value, sizeof value);
  put_raw_varint(tag(field, kFixed64));
}

void Writer::put_double(int field, double value) { put_fixed64(field, std::bit_cast<std::uint64_t>(value)); }

void Writer::put_text(int field, std::string_view text) {
  if (!is_utf8(text)) fail(invalid("text " + quoted(text) + " is not UTF-8"));
  put_raw(text.data(), text.size());
  put_header(field, text.size());
}

void Writer::put_packed(int field, std::span<const std::int64_t> values) {
  if (values.empty()) return;
  const std::size_t before = size_;
  for (std::size_t i = values.size(); i-- > 0;) put_raw_varint(static_cast<std::uint64_t>(values[i]));
  put_header(field, size_ - before);
}

void Writer::put_bytes(int field, const Tensor& tensor) {
  const std::size_t bytes = tensor.bytes();
  if (bytes < kOwnSlice) {
    put_raw(tensor.data(), bytes);
  } else {
    close_chunk();
    if (memory_ == TensorMemory::kCopied) {
      slices_.emplace_back(tensor.data(), bytes);
    } else {
      const auto release = [](void* held) { delete static_cast<Tensor*>(held); };
      slices_.emplace_back(const_cast<void*>(tensor.data()), bytes, release, new Tensor(tensor));
    }
    size_ += bytes;
  }
  put_header(field, bytes);
}

void Writer::put_message(int field, const grpc::ByteBuffer& message) {
  std::vector<grpc::Slice> slices;
  if (!message.Dump(&slices).ok()) fail({Reason::kInternal, "a message that cannot be read back"});
  for (std::size_t i = slices.size(); i-- > 0;) {
    if (slices[i].size() < kOwnSlice) {
      put_raw(slices[i].begin(), slices[i].size());
    } else {
      close_chunk();
      slices_.push_back(slices[i]);
      size_ += slices[i].size();
    }
  }
  put_header(field, message.Length());
}

void Writer::close_chunk() {
  if (begin_ == capacity_) return;
  slices_.emplace_back(chunk_ + begin_, capacity_ - begin_);
  begin_ = capacity_;
}

Result<grpc::ByteBuffer> Writer::finish() {
  if (!failure_.ok()) return failure_;
  close_chunk();
  std::reverse(slices_.begin(), slices_.end());
  return grpc::ByteBuffer(slices_.data(), slices_.size());
}

}  // namespace krt::wire
