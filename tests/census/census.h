#pragma once
// The census: for every kernel and variant of the registry, whether a test compared its values with an oracle.
//
// Tests give credit by ValueCheck (runtime/testing/value_check.h). After the suite, the credits are compared with the
// registry and with the committed table, so that a kernel without a value check cannot slip in, and an excuse cannot
// outlive its reason.

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/status.h"
#include "runtime/registry/registry.h"

namespace krt::census {

// A kernel and one of its variants: "decode.rmsnorm", "avx2".
struct Form {
  std::string kernel, variant;
  friend auto operator<=>(const Form&, const Form&) = default;  // NOLINT(modernize-use-nullptr): its own 0
};

struct Known {
  Form form;
  bool runs_here;  // this CPU has it, and KRT_ISA lets it through
};
// Every function, internal ones too, with its variants; "reference" where it has none. Sorted.
std::vector<Known> forms_of(const Registry& registry);

// The files *.tsv of a folder that ValueCheck wrote: `kernel<TAB>variant`.
Result<std::set<Form>> read_credits(const std::string& folder);

// A row of the committed table.
struct Row {
  Form form;
  bool excused;      // state "excused": no test checks it, and `note` says why; else "checked"
  std::string note;  // may be empty where the state is "checked"
};
// `kernel<TAB>variant<TAB>state<TAB>note`, one header line first.
Result<std::vector<Row>> parse_table(std::string_view text);
std::string table_text(std::span<const Row> rows);

// What is wrong, a sentence each; empty where the census holds:
// - no credits at all; a credit for what is not registered
// - a form that runs here, is not excused and was not credited
// - an excuse of a form that was credited or is not registered, an excuse without a note; two rows of one form
// A "checked" row is a record, no condition: a kernel's folder comes and goes without an edit here.
std::vector<std::string> problems(std::span<const Known> known, const std::set<Form>& credits,
                                  std::span<const Row> table);

// The table for these credits: credited forms are "checked", and so are forms that do not run here unless they were
// excused before; any other is "excused", with its old note or none, which a person has to write.
std::vector<Row> updated(std::span<const Known> known, const std::set<Form>& credits, std::span<const Row> table);

}  // namespace krt::census
