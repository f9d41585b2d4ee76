// sampler_rows [VARIANT]: decode.survivors over a stream of rows, for tests/oracle/sampler_compare.py.
//
// In, for each row, native byte order: 13 f64 (the options in the order of SampleOptions), i32 V, i32 H, H i32 of
// history, V f32. Out: i32 status, i32 n, n i32 ids, n f64 probabilities. Ends with its input.

#include <cstdio>
#include <cstring>
#include <string_view>

#include "modules/decode/sample/sample.h"

namespace {

template <class T>
bool read(std::vector<T>& out, std::size_t n) {
  out.resize(n);
  return std::fread(out.data(), sizeof(T), n, stdin) == n;
}
template <class T>
void write(const std::vector<T>& values) {
  std::fwrite(values.data(), sizeof(T), values.size(), stdout);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace krt::decode;
  const RowPasses* passes = nullptr;
  for (const auto& v : variants_here(row_variants()))
    if (passes == nullptr && (argc < 2 || v.name == std::string_view(argv[1]))) passes = &v.run();
  if (passes == nullptr) {
    std::fprintf(stderr, "no variant '%s' here\n", argv[1]);
    return 2;
  }
  SampleWorkspace workspace;
  std::vector<double> o;
  std::vector<std::int32_t> sizes, history;
  std::vector<float> logits;
  while (read(o, 13)) {
    if (!read(sizes, 2) || !read(history, static_cast<std::size_t>(sizes[1])) ||
        !read(logits, static_cast<std::size_t>(sizes[0])))
      return 1;
    const SampleOptions options{o[0], static_cast<std::int64_t>(o[1]), o[2], o[3],  o[4],  o[5],      o[6],
                                o[7], static_cast<std::int64_t>(o[8]), o[9], o[10], o[11], o[12] != 0};
    const std::vector<std::int64_t> ids(history.begin(), history.end());
    const SurvivorsResult r = survivors(*passes, logits, options, ids, workspace);
    write(std::vector<std::int32_t>{static_cast<std::int32_t>(r.status), static_cast<std::int32_t>(r.n)});
    write(std::vector<std::int32_t>(r.ids.begin(), r.ids.end()));
    write(r.probs);
    std::fflush(stdout);
  }
  return 0;
}
