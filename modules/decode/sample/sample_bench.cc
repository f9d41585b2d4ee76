// decode.sample over one row, by the best form here, in one thread. tests/peers/torch_sampling.py runs the same rows
// through torch.

#include "modules/decode/sample/sample_oracle.h"
#include "runtime/bench/bench.h"
#include "runtime/testing/random.h"

namespace krt::decode {
namespace {

// As a trained model has it: a few tokens far above a broad rest.
std::vector<float> peaked_row(std::size_t vocabulary) {
  krt::testing::Rng rng(20261130);
  std::vector<float> row = rng.normals<float>(vocabulary, 2);
  for (int i = 0; i < 64; ++i)
    row[static_cast<std::size_t>(rng.integer(0, static_cast<std::int64_t>(vocabulary) - 1))] +=
        8 + static_cast<float>(2 * rng.normal());
  return row;
}

struct Bench {
  Bench(std::size_t vocabulary, const SampleOptions& options) : row(peaked_row(vocabulary)), options(options) {}

  std::vector<float> row;
  SampleOptions options;
  SampleWorkspace workspace = {};
  const RowPasses& passes = variants_here(row_variants()).front().run();

  SampleResult run(double u) { return sample(passes, row, options, {}, {.u = u}, workspace); }

  std::string check() {
    if (options.temperature == 0) {
      const auto best = std::max_element(row.begin(), row.end()) - row.begin();
      return run(0.5).token_id == best ? "" : "not the first largest logit";
    }
    const SurvivorsResult in = survivors(passes, row, options, {}, workspace);
    if (in.ids != testing::oracle_survivors(row, options)) return "other survivors than a full sort has";
    double below = 0;
    for (std::size_t j = 0; j < std::min<std::size_t>(in.ids.size(), 1000); below += in.probs[j++])
      if (run(below + in.probs[j] / 2).token_id != in.ids[j]) return "a draw gives another token than its probability";
    return "";
  }
};

}  // namespace

void bench_sample(bench::Suite& suite) {
  const std::pair<const char*, SampleOptions> kinds[] = {
      {"argmax", {.temperature = 0}},
      {"top_k=50,top_p=0.95", {.temperature = 0.8, .top_k = 50, .top_p = 0.95}},
      {"top_p=0.95", {.temperature = 0.8, .top_p = 0.95}},
      {"min_p=0.05", {.temperature = 0.8, .min_p = 0.05}},
      {"temperature", {.temperature = 0.8}},
  };
  for (const std::size_t vocabulary : {128256, 151936}) {
    for (const auto& [name, options] : kinds) {
      const auto b = bench::made_late<Bench>(vocabulary, options);
      suite.add({.name = "decode.sample/" + std::to_string(vocabulary) + "/" + name,
                 .check = [b] { return b().check(); },
                 .run = [b] { bench::keep(b().run(0.5)); }});
    }
  }
}

}  // namespace krt::decode
