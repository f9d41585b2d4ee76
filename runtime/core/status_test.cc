#include "runtime/core/status.h"

#include <gtest/gtest.h>

#include <set>

namespace krt {
namespace {

TEST(Status, OkIsEmpty) {
  const Status ok;
  EXPECT_TRUE(ok.ok());
  EXPECT_EQ(ok.reason(), Reason::kNone);
  EXPECT_EQ(ok.code(), Code::kOk);
  EXPECT_EQ(ok.message(), "");
}

TEST(Status, CopiesAreIndependent) {
  const Status failed = invalid("no");
  Status copy = failed;
  EXPECT_EQ(copy.message(), "no");
  copy = Status();
  EXPECT_TRUE(copy.ok());
  EXPECT_EQ(failed.reason(), Reason::kInvalidArguments);
  const Status moved = std::move(copy);
  EXPECT_TRUE(moved.ok());
}

TEST(Status, EveryReasonHasItsOwnNameAndGrpcsCode) {
  const struct {
    Reason reason;
    std::string_view name;
    int code;
  } rows[] = {
      {Reason::kNone, "ok", 0},
      {Reason::kModuleNotRegistered, "module_not_registered", 5},
      {Reason::kFunctionNotRegistered, "function_not_registered", 5},
      {Reason::kInvalidArguments, "invalid_arguments", 3},
      {Reason::kHandleNotFound, "handle_not_found", 5},
      {Reason::kAlreadyExists, "already_exists", 6},
      {Reason::kFailedPrecondition, "failed_precondition", 9},
      {Reason::kNoVariant, "no_variant", 12},
      {Reason::kResourceExhausted, "resource_exhausted", 8},
      {Reason::kDeadlineExceeded, "deadline_exceeded", 4},
      {Reason::kCancelled, "cancelled", 1},
      {Reason::kRuntimeUnavailable, "compute_runtime_unavailable", 14},
      {Reason::kInternal, "internal", 13},
  };
  std::set<std::string_view> names;
  for (const auto& row : rows) {
    EXPECT_EQ(name_of(row.reason), row.name);
    EXPECT_EQ(static_cast<int>(code_of(row.reason)), row.code) << row.name;
    EXPECT_EQ(reason_named(row.name), row.reason);
    names.insert(row.name);
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(Reason::kInternal) + 1);
  EXPECT_EQ(reason_named("nope"), Reason::kInternal);
}

TEST(ResultType, HoldsAValueOrTheReason) {
  const Result<int> seven = 7;
  EXPECT_TRUE(seven.ok());
  EXPECT_EQ(*seven, 7);
  EXPECT_TRUE(seven.status().ok());
  const Result<int> none = invalid("no");
  EXPECT_FALSE(none.ok());
  const std::string& message = none.status().message();
  EXPECT_EQ(message, "no");
}

TEST(Quoted, CutsAndEscapes) {
  const struct {
    std::string text, want;
  } rows[] = {
      {"", "''"},
      {"plain", "'plain'"},
      {"caf\xC3\xA9", "'caf\xC3\xA9'"},
      {std::string("a\0b", 3), "'a\\x00b'"},
      {"\n\x1b\x7f", "'\\x0a\\x1b\\x7f'"},
      {"\xFF\xC3", "'\\xff\\xc3'"},
      {std::string(80, 'x'), "'" + std::string(80, 'x') + "'"},
      {std::string(81, 'x'), "'" + std::string(80, 'x') + "...'"},
      {std::string(1 << 20, '\n'),
       [] {
         std::string s = "'";
         for (int i = 0; i < 80; ++i) s += "\\x0a";
         return s + "...'";
       }()},
  };
  for (const auto& row : rows) EXPECT_EQ(krt::quoted(row.text), row.want);
}

}  // namespace
}  // namespace krt
