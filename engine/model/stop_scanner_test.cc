#include "engine/model/stop_scanner.h"

#include <gtest/gtest.h>

namespace krt::engine {
namespace {

// What is shown of `text`, given in pieces of `size` bytes.
std::string shown(const std::vector<std::string>& stops, const std::string& text, std::size_t size) {
  StopScanner scanner(stops);
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += size) out += scanner.add(text.substr(i, size));
  return out + scanner.finish();
}

// The first stop string of the whole text ends it, however the text is cut into pieces.
TEST(StopScanner, ShowsTheTextBeforeTheFirstStopString) {
  const struct {
    std::vector<std::string> stops;
    std::string text, want;
  } rows[] = {
      {{}, "as it is", "as it is"},
      {{""}, "as it is", "as it is"},
      {{"END"}, "one END two", "one "},
      {{"END"}, "no EN here", "no EN here"},
      {{"END"}, "ends in EN", "ends in EN"},
      {{"aab"}, "aaaab", "aa"},
      {{"\n\n", "two"}, "one two\n\n", "one "},
      {{"\n\n", "two"}, "one\n\ntwo", "one"},
      {{"x"}, "x", ""},
      {{"abcd", "bc"}, "abc", "a"},
  };
  for (const auto& row : rows)
    for (const std::size_t size : {1U, 2U, 3U, 100U}) EXPECT_EQ(shown(row.stops, row.text, size), row.want) << size;
}

TEST(StopScanner, HoldsBackOnlyWhatCouldBecomeAStop) {
  StopScanner scanner({"</s>"});
  EXPECT_EQ(scanner.add("text <"), "text ");
  EXPECT_EQ(scanner.add("b> </"), "<b> ");
  EXPECT_FALSE(scanner.stopped());
  EXPECT_EQ(scanner.add("s> more"), "");
  EXPECT_TRUE(scanner.stopped());
  EXPECT_EQ(scanner.add("never"), "");
  EXPECT_EQ(scanner.finish(), "");
}

}  // namespace
}  // namespace krt::engine
