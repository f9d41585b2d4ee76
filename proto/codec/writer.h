#pragma once
// Writer: a protobuf message written from its end to its front, so that the length of a nested message is known by the
// time its header is written: one pass, no sizes computed beforehand. Fields are therefore put in reverse order.
//
// The bytes of a large tensor are not copied into the message: they become a slice of their own that shares the
// tensor's memory. (Through the generated classes they would be copied twice: into a string, then into slices.)

#include <grpcpp/support/byte_buffer.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/core/tensor.h"

namespace krt::wire {

// Whether the message may share the memory of tensors, or must copy it because it can outlive them.
enum class TensorMemory { kShared, kCopied };

class Writer {
 public:
  // Bytes of a tensor, or of a written message, are slices of their own from so many on.
  static constexpr std::size_t kOwnSlice = 16384;

  explicit Writer(TensorMemory memory) : memory_(memory) {}
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void put_varint(int field, std::uint64_t value);
  void put_fixed64(int field, std::uint64_t value);
  void put_double(int field, double value);
  // Text that is no UTF-8 fails the message: a proto3 string must be.
  void put_text(int field, std::string_view text);
  void put_bytes(int field, const Tensor& tensor);
  // A packed repeated field; nothing where it is empty.
  void put_packed(int field, std::span<const std::int64_t> values);
  // A nested message: what `body` puts.
  template <class Body>
  void put_message(int field, const Body& body) {
    const std::size_t before = size_;
    body();
    put_header(field, size_ - before);
  }
  // One that is written already.
  void put_message(int field, const grpc::ByteBuffer& message);

  void fail(Status failure) {
    if (failure_.ok()) failure_ = std::move(failure);
  }
  // The message, or the first failure. The writer is spent.
  Result<grpc::ByteBuffer> finish();

 private:
  void put_raw(const void* data, std::size_t size);
  void put_raw_varint(std::uint64_t value);
  void put_header(int field, std::size_t length);
  void grow(std::size_t room);
  void close_chunk();

  const TensorMemory memory_;
  Status failure_;
  std::size_t size_ = 0;             // of all that was put
  std::vector<grpc::Slice> slices_;  // last one first
  // The front of the message, filled from its end; small messages never leave the object.
  std::array<char, 512> small_;
  std::vector<char> large_;
  char* chunk_ = small_.data();
  std::size_t capacity_ = small_.size();
  std::size_t begin_ = small_.size();
};

}  // namespace krt::wire
