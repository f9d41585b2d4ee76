#pragma once
// Value <-> krt.v1.Value, for servers and clients.

#include <memory>

#include "krt/v1/kernel_runtime.pb.h"
#include "proto/codec/writer.h"
#include "runtime/core/value.h"

namespace krt::wire {

inline constexpr int kMaxValueDepth = 64;  // a scalar or a tensor is one level

// Puts `value` as field `field`. A value nested too deeply fails the writer.
void put_value(Writer& writer, int field, const Value& value);
void put_dict(Writer& writer, int field, const Dict& dict);
void put_handle(Writer& writer, int field, Handle handle);

// Takes the value out of `message`: strings are moved, and tensors borrow (writable) the bytes that stay in it, which
// `owner` keeps alive. invalid_arguments, with the path to what is wrong behind `path`: "args[1]: ...".
Result<Value> take_value(v1::Value& message, const std::shared_ptr<const void>& owner, const std::string& path);
Result<Dict> take_dict(v1::Dict& message, const std::shared_ptr<const void>& owner, const std::string& path);
Handle take_handle(const v1::Handle& message);
v1::Handle to_message(Handle handle);

// A tensor over `bytes`: borrowed where they are aligned for its elements, else copied. Refused: an unknown dtype, a
// shape that Shape::checked or bytes_for refuses, and another number of bytes than the shape of these dimensions has.
Result<Tensor> tensor_over(int dtype, std::span<const std::int64_t> dims, std::span<char> bytes,
                           const std::shared_ptr<const void>& owner);

}  // namespace krt::wire
