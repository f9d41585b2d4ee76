#include "runtime/exec/handles.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace krt {
namespace {

Value doubles(std::size_t n) { return std::vector<double>(n, 1.0); }

TEST(Handles, PutGetFree) {
  HandleTable table;
  const Handle handle = *table.put(doubles(3), "weights");
  EXPECT_NE(handle.runtime, 0U);
  EXPECT_NE(handle.id, 0U);
  EXPECT_TRUE(identical(**table.get(handle), doubles(3)));
  EXPECT_TRUE(table.free(handle).ok());
  EXPECT_EQ(table.get(handle).status().message(), "handle " + handle_text(handle) + " was freed");
  EXPECT_EQ(table.free(handle).reason(), Reason::kHandleNotFound) << "freed twice";
}

TEST(Handles, TheValueOutlivesItsHandleWhileItIsHeld) {
  HandleTable table;
  const Handle handle = *table.put(doubles(3));
  const std::shared_ptr<const Value> held = *table.get(handle);
  EXPECT_TRUE(table.free(handle).ok());
  EXPECT_TRUE(identical(*held, doubles(3)));
}

TEST(Handles, WhatIsNoHandleOfThisTableIsNamedSo) {
  HandleTable table, other;
  const Handle ours = *table.put(1), foreign = *other.put(1);
  EXPECT_NE(ours.runtime, foreign.runtime);
  EXPECT_EQ(table.get(foreign).status().message(), "handle " + handle_text(foreign) + " belongs to another runtime");
  EXPECT_EQ(table.free(foreign).reason(), Reason::kHandleNotFound);
  for (const std::uint64_t id : {std::uint64_t{0}, ours.id + 1, ~std::uint64_t{0}}) {
    const Handle invented{ours.runtime, id};
    EXPECT_EQ(table.get(invented).status().message(), "handle " + handle_text(invented) + " was never given out");
  }
  EXPECT_TRUE(table.get(ours).ok());
}

TEST(Handles, LimitsOnCountAndBytes) {
  HandleTable table(2, 100);
  const Handle first = *table.put(doubles(10));  // 80 bytes
  EXPECT_EQ(table.put(doubles(3)).status().message(),
            "a value of 24 bytes is over what is left of the 100 bytes for handles; free some");
  const Handle second = *table.put(doubles(2));
  EXPECT_EQ(table.put(1).status().message(), "the runtime holds 2 handles, its limit; free some");
  EXPECT_EQ(table.put(1).status().reason(), Reason::kResourceExhausted);
  EXPECT_TRUE(table.free(first).ok());
  EXPECT_TRUE(table.put(doubles(10)).ok()) << "what was freed can be used again";
  EXPECT_TRUE(table.free(second).ok());
}

TEST(Handles, TextsAndListsCountToo) {
  HandleTable table(100, 1000);
  EXPECT_FALSE(table.put(std::string(1001, 'x')).ok());
  EXPECT_FALSE(table.put(List(1000)).ok());
  EXPECT_FALSE(table.put(Dict{{"a", List{doubles(126)}}}).ok());
  EXPECT_TRUE(table.put(std::string(1000, 'x')).ok());
}

TEST(Handles, ListInTheOrderOfCreation) {
  HandleTable table;
  const Handle a = *table.put(doubles(3), "a"), b = *table.put("text"), c = *table.put(7, "c");
  EXPECT_TRUE(table.free(b).ok());
  const std::vector<HandleTable::Entry> entries = table.list();
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].handle, a);
  EXPECT_EQ(entries[0].name, "a");
  EXPECT_EQ(entries[0].type, "f64[3]");
  EXPECT_EQ(entries[0].bytes, 24U);
  EXPECT_EQ(entries[1].handle, c);
}

TEST(Handles, ManyThreadsAtOnce) {
  HandleTable table(1000, 1 << 20);
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        const Result<Handle> handle = table.put(t * 1000 + i);
        if (!handle.ok() || !identical(**table.get(*handle), t * 1000 + i) || !table.free(*handle).ok() ||
            table.get(*handle).ok())
          ++wrong;
        static_cast<void>(table.list());
      }
    });
  threads.clear();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(table.list().empty());
}

TEST(HandleText, ReadsBack) {
  for (const Handle h : {Handle{1, 2}, Handle{~std::uint64_t{0}, ~std::uint64_t{0}}, Handle{0, 0}})
    EXPECT_EQ(*parse_handle(handle_text(h)), h);
  EXPECT_EQ(handle_text({0xABC, 0x12}), "h-abc-12");
  for (const std::string_view text :
       {"", "h", "h-", "h-1", "h-1-", "h--1", "h-1-2-", "h-1-2 ", " h-1-2", "H-1-2", "h-1-0x2", "h-1-+2", "h-g-1",
        "h-10000000000000000-1", "h-1-10000000000000000", "1-2"}) {
    EXPECT_EQ(parse_handle(text).status().message(), quoted(text) + " is no handle; one reads 'h-<hex>-<hex>'");
  }
}

}  // namespace
}  // namespace krt
