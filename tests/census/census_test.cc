#include "tests/census/census.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace krt::census {
namespace {

const Form kNorm{"decode.rmsnorm", "avx2"}, kPlain{"decode.rmsnorm", "scalar"}, kAdd{"llmk.add", "reference"};

// A census that holds: one form is checked, one excused, one cannot run on this machine.
struct Census {
  std::vector<Known> known{{kNorm, false}, {kPlain, true}, {kAdd, true}};
  std::set<Form> credits{kPlain};
  std::vector<Row> table{{kNorm, false, ""}, {kPlain, false, ""}, {kAdd, true, "moves bytes only"}};

  [[nodiscard]] std::string text() const {
    std::string out;
    for (const std::string& p : problems(known, credits, table)) out += p + "\n";
    return out;
  }
};

TEST(Census, HoldsWhereEveryFormIsCheckedExcusedOrElsewhere) { EXPECT_EQ(Census().text(), ""); }

TEST(Census, ControlAnUncoveredKernelFails) {
  Census c;
  c.credits = {kNorm};
  EXPECT_EQ(c.text(), "decode.rmsnorm (scalar) was checked by no test\n");
}

TEST(Census, ControlAnEmptyCensusFails) {
  Census c;
  c.credits.clear();
  EXPECT_EQ(c.text(),
            "the census is empty: no test gave credit\n"
            "decode.rmsnorm (scalar) was checked by no test\n");
}

TEST(Census, ControlAStaleExcuseFails) {
  Census c;
  c.credits.insert(kAdd);
  EXPECT_EQ(c.text(), "llmk.add (reference) is excused, but a test checks it: the excuse is stale\n");
}

TEST(Census, ControlAnExcuseNeedsANote) {
  Census c;
  c.table[2].note.clear();
  EXPECT_EQ(c.text(), "llmk.add (reference) is excused without a note\n");
}

TEST(Census, ControlAnExcuseOfNothingFails) {
  Census c;
  c.table.push_back({{"gone.kernel", "reference"}, true, "hard to test"});
  c.table.push_back({kPlain, false, ""});
  EXPECT_EQ(c.text(),
            "gone.kernel (reference) is excused, but not registered\n"
            "decode.rmsnorm (scalar) is in the table twice\n");
}

TEST(Census, AFolderComesAndGoesWithoutAnEditOfTheTable) {
  Census c;
  c.table.erase(c.table.begin(), c.table.begin() + 2);
  c.table.push_back({{"gone.kernel", "reference"}, false, ""});
  EXPECT_EQ(c.text(), "");
}

TEST(Census, ControlACreditForNothingFails) {
  Census c;
  c.credits.insert({"decode.rmsnorm", "avx22"});
  EXPECT_EQ(c.text(), "decode.rmsnorm (avx22) was credited, but is not registered\n");
}

TEST(Census, TheTableRoundTrips) {
  const Census c;
  const std::string text = table_text(c.table);
  EXPECT_EQ(text,
            "kernel\tvariant\tstate\tnote\n"
            "decode.rmsnorm\tavx2\tchecked\t\n"
            "decode.rmsnorm\tscalar\tchecked\t\n"
            "llmk.add\treference\texcused\tmoves bytes only\n");
  EXPECT_EQ(table_text(parse_table(text).value()), text);
  for (const char* bad :
       {"kernel\n", "kernel\tvariant\tstate\tnote\na\tb\tmaybe\t\n", "kernel\tvariant\tstate\tnote\na\n"})
    EXPECT_FALSE(parse_table(bad).ok()) << bad;
}

TEST(Census, AnUpdateNeverInventsAnExcuse) {
  Census c;
  c.credits = {kAdd};
  c.table = updated(c.known, c.credits, c.table);
  EXPECT_EQ(c.text(), "decode.rmsnorm (scalar) is excused without a note\n");
  EXPECT_FALSE(c.table[0].excused) << "what does not run here keeps its state";
  EXPECT_FALSE(c.table[2].excused) << "the stale excuse is gone";
}

TEST(Census, ReadsTheCreditsOfAFolder) {
  const auto folder = std::filesystem::temp_directory_path() / ("krt_census_" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "1.tsv") << "llmk.add\treference\nllmk.add\treference\n";
  std::ofstream(folder / "2.tsv") << "decode.rmsnorm\tavx2\n";
  EXPECT_EQ(read_credits(folder).value(), (std::set<Form>{kNorm, kAdd}));
  std::ofstream(folder / "3.tsv") << "no credit\n";
  EXPECT_FALSE(read_credits(folder).ok());
  std::filesystem::remove_all(folder);
  EXPECT_FALSE(read_credits(folder).ok()) << "a folder that is not there";
}

}  // namespace
}  // namespace krt::census
