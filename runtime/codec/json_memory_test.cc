// What a text may cost: live bytes are counted by operator new, so the figures are the same under every sanitizer and
// load.

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include "runtime/codec/json.h"

namespace {

std::atomic<std::size_t> live, peak;

void* counted(std::size_t size) {
  void* const p = std::malloc(size);
  if (p == nullptr) throw std::bad_alloc();
  const std::size_t now = live += malloc_usable_size(p);
  std::size_t before = peak;
  while (before < now && !peak.compare_exchange_weak(before, now)) {
  }
  return p;
}

void uncounted(void* p) {
  live -= malloc_usable_size(p);
  std::free(p);
}

}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void operator delete(void* p) noexcept { uncounted(p); }
void operator delete(void* p, std::size_t) noexcept { uncounted(p); }

namespace krt {
namespace {

constexpr std::size_t kMessage = std::size_t{64} << 20U;  // the server's default limit for one message

// `count` times `unit`, the last byte of which is a comma, between brackets.
std::string repeated(std::string_view unit, std::size_t count) {
  std::string text = "[";
  text.reserve(count * unit.size() + 2);
  for (std::size_t i = 0; i < count; ++i) text += unit;
  text.back() = ']';
  return text;
}

struct Parsed {
  Status status;
  std::size_t peak_bytes;
};
Parsed parse(const std::string& text) {
  const std::size_t before = live;
  peak = before;
  Status status = parse_json_args(text).status();
  return {std::move(status), peak - before};
}

constexpr std::string_view kUnits[] = {"[1],", "0,", "NaN,", "{},"};

TEST(JsonMemory, TooManyValuesAreRefusedWhereTheyBegin) {
  for (const std::string_view unit : kUnits) {
    SCOPED_TRACE(unit);
    const std::size_t most = kMaxJsonValues - 1;  // beside the outermost array
    EXPECT_TRUE(parse(repeated(unit, most)).status.ok());
    const Parsed more = parse(repeated(unit, most + 1));
    EXPECT_EQ(more.status.reason(), Reason::kInvalidArguments);
    constexpr std::string_view kPrefix = "malformed JSON at byte ";
    const std::string& sentence = more.status.message();
    ASSERT_TRUE(sentence.starts_with(kPrefix)) << sentence;
    EXPECT_TRUE(sentence.ends_with(": more than 1048576 values; a flat array of numbers counts as one")) << sentence;
    const std::size_t offset = std::strtoull(sentence.c_str() + kPrefix.size(), nullptr, 10);
    EXPECT_GE(offset, 1 + most * unit.size());
    EXPECT_LT(offset, 1 + (most + 1) * unit.size());
  }
}

TEST(JsonMemory, MembersAndDepthsCountTogether) {
  std::string text = "{";
  for (std::size_t i = 0; i < kMaxJsonValues / 2; ++i) text += "\"" + std::to_string(i) + "\":[\"\"],";
  text.back() = '}';
  EXPECT_FALSE(parse(text).status.ok());  // the object, its members, their elements
  text.insert(1, "\"of numbers\":[1,2,3],");
  EXPECT_FALSE(parse(text).status.ok());
  EXPECT_TRUE(parse(repeated("1.5,", 2 * kMaxJsonValues).insert(0, "[") + "]").status.ok());  // one tensor
}

// Within kMaxJsonValues * 400 bytes, and twice the text: its reduced form, and the strings in it.
std::size_t most_bytes(const std::string& text) { return kMaxJsonValues * 400 + 2 * text.size(); }

TEST(JsonMemory, ManyValuesStayWithinTheBound) {
  for (const std::string_view unit : kUnits) {
    for (const std::size_t count : {kMaxJsonValues - 1, kMessage / unit.size()}) {
      const std::string text = repeated(unit, count);
      const Parsed p = parse(text);
      EXPECT_LE(p.peak_bytes, most_bytes(text)) << unit;
    }
  }
}

TEST(JsonMemory, ManyMembersStayWithinTheBound) {
  std::string text = "{";
  for (std::size_t i = 1; i < kMaxJsonValues; ++i) text += "\"" + std::to_string(i) + "\":[1],";
  text.back() = '}';
  const Parsed p = parse(text);
  EXPECT_TRUE(p.status.ok());
  EXPECT_LE(p.peak_bytes, most_bytes(text));
}

}  // namespace
}  // namespace krt
