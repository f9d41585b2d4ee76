#pragma once
// The registry walk: what every function promises by being registered, checked from its declaration and its example
// alone, so that a kernel added later is covered without a line here.
//
//   documented     summary, a doc for every parameter, status codes named once
//   example        parses, runs, answers the first status of its table, the same by position and by name; a function
//                  that reads files may have none
//   result         the declared fields in their order, each of its declared type
//   refusals       wrong counts, unknown and missing names, and wrong types are invalid_arguments naming the argument
//   extremes       lists emptied, cut and lengthened, NaN and infinities in them, counts of 0, -1 and beyond every
//   limit:
//                  a status of its table or an error of the runtime, never `internal`, never a crash
//   determinism    the same bits at 1, 2 and 16 threads and when called again

#include <string>
#include <vector>

#include "runtime/runtime.h"

namespace krt::walk {

// One runtime for each thread count, over the same declarations.
class Runtimes {
 public:
  explicit Runtimes(Registry (*make)());
  [[nodiscard]] const Registry& registry() const { return runtimes_.front()->registry(); }
  [[nodiscard]] const std::vector<std::unique_ptr<Runtime>>& all() const { return runtimes_; }
  [[nodiscard]] Runtime& first() const { return *runtimes_.front(); }

 private:
  std::vector<std::unique_ptr<Runtime>> runtimes_;
};

// Every promise that `info` breaks, one sentence each.
std::vector<std::string> problems_of(const FunctionInfo& info, const Runtimes& runtimes);

}  // namespace krt::walk
