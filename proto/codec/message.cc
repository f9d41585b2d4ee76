#include "proto/codec/message.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <algorithm>

#include "runtime/core/utf8.h"

namespace krt::wire {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// One pass over the tags of a message and of those nested in it.
class Checker {
 public:
  explicit Checker(CodedInputStream& in) : in_(in) {}

  Status message(const Descriptor& type, int depth) {
    if (depth > kMaxMessageDepth) return invalid(type.full_name() + ": nested deeper than 64 values");
    while (const std::uint32_t tag = in_.ReadTag()) {
      const FieldDescriptor* field = type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
      const bool delimited = WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
      if (field != nullptr && field->is_repeated() && ++items_ > kMaxMessageItems) return too_many(type);
      Status bad = field != nullptr && delimited ? length_delimited(*field, depth) : skip(type, tag);
      if (!bad.ok()) return bad;
    }
    return in_.ConsumedEntireMessage() ? Status() : malformed(type);
  }

 private:
  static Status malformed(const Descriptor& type) { return invalid(type.full_name() + ": malformed bytes"); }
  static Status too_many(const Descriptor& type) {
    return invalid(type.full_name() + ": the request holds more than " + std::to_string(kMaxMessageItems) +
                   " items; send numbers as a tensor");
  }

  Status skip(const Descriptor& type, std::uint32_t tag) {
    return WireFormatLite::SkipField(&in_, tag) ? Status() : malformed(type);
  }

  Status length_delimited(const FieldDescriptor& field, int depth) {
    std::uint32_t length = 0;
    if (!in_.ReadVarint32(&length) || length > static_cast<std::uint32_t>(INT32_MAX))
      return malformed(*field.containing_type());
    switch (field.type()) {
      case FieldDescriptor::TYPE_MESSAGE: return nested(*field.message_type(), static_cast<int>(length), depth + 1);
      case FieldDescriptor::TYPE_STRING: return text(field, static_cast<int>(length));
      default: break;
    }
    if (field.is_packable()) items_ += length;
    if (items_ > kMaxMessageItems) return too_many(*field.containing_type());
    return in_.Skip(static_cast<int>(length)) ? Status() : malformed(*field.containing_type());
  }

  Status nested(const Descriptor& type, int length, int depth) {
    if (++items_ > kMaxMessageItems) return too_many(type);
    const int left = in_.BytesUntilLimit();
    if (left >= 0 && length > left) return malformed(type);
    const CodedInputStream::Limit outer = in_.PushLimit(length);
    Status bad = message(type, depth);
    if (bad.ok() && in_.BytesUntilLimit() != 0) bad = malformed(type);  // the input ended inside
    in_.PopLimit(outer);
    return bad;
  }

  Status text(const FieldDescriptor& field, int length) {
    if (!in_.ReadString(&text_, length)) return malformed(*field.containing_type());
    return is_utf8(text_) ? Status() : invalid("field " + field.full_name() + " is not UTF-8: " + quoted(text_));
  }

  CodedInputStream& in_;
  std::size_t items_ = 0;
  std::string text_;
};

// A stream over `bytes`, with a position of its own. (The reader asks for a buffer that it may change, and changes
// none.)
class Input {
 public:
  explicit Input(const grpc::ByteBuffer& bytes) : reader_(const_cast<grpc::ByteBuffer*>(&bytes)), in_(&reader_) {}
  CodedInputStream& stream() { return in_; }

 private:
  grpc::ProtoBufferReader reader_;
  CodedInputStream in_;
};

}  // namespace

Status check(const grpc::ByteBuffer& bytes, const Descriptor& type) {
  if (bytes.Length() == 0) return {};
  Input in(bytes);
  // Within a limit a string of many slices is read into memory of its size at once.
  in.stream().PushLimit(static_cast<int>(std::min<std::size_t>(bytes.Length(), INT32_MAX)));
  return Checker(in.stream()).message(type, 0);
}

bool parse(const grpc::ByteBuffer& bytes, google::protobuf::Message& out) {
  out.Clear();
  if (bytes.Length() == 0) return true;
  Input in(bytes);
  in.stream().SetRecursionLimit(kMaxMessageDepth + 1);
  return out.ParseFromCodedStream(&in.stream()) && in.stream().ConsumedEntireMessage();
}

grpc::ByteBuffer serialize(const google::protobuf::Message& message) {
  grpc::ByteBuffer bytes;
  bool own = false;
  static_cast<void>(grpc::SerializationTraits<google::protobuf::Message>::Serialize(message, &bytes, &own));
  return bytes;
}

}  // namespace krt::wire
