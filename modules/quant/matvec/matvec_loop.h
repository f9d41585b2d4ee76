// The loop of quant.matvec, written once: matvec_simd.cc compiles it for every instruction set and every format.
// No include guard: it is included once per target, inside that target's namespace.

template <class F>
KRT_INLINE void accumulate_block(const float* w, const float* x, float* lanes) {
  // Formats of one value a block are decoded kLanes at a time.
  constexpr std::size_t kValues = F::kInfo.values == 1 ? kLanes : static_cast<std::size_t>(F::kInfo.values);
  for (std::size_t i = 0; i < kValues; i += kLanes)
    for (std::size_t l = 0; l < kLanes; ++l) lanes[l] += w[i + l] * x[i + l];
}

template <class F>
KRT_INLINE void decode_step(const std::uint8_t* block, float* w) {
  if constexpr (F::kInfo.values == 1)
    for (std::size_t i = 0; i < kLanes; ++i) F::decode(block + i * F::kInfo.bytes, w + i);
  else
    F::decode(block, w);
}

KRT_INLINE float sum_lanes(const float* lanes) {
  float s[kLanes / 2];
  for (std::size_t i = 0; i < kLanes / 2; ++i) s[i] = lanes[i] + lanes[i + kLanes / 2];
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

// Columns that share one decoding of a row.
constexpr std::size_t kColumnsAtOnce = 8;

template <class F>
KRT_INLINE void row_times_columns(const std::uint8_t* row, std::size_t cols, const float* x, std::size_t n, float* y,
                                  std::size_t y_stride) {
  constexpr std::size_t kStep = F::kInfo.values == 1 ? kLanes : static_cast<std::size_t>(F::kInfo.values);
  constexpr std::size_t kStepBytes =
      kStep / static_cast<std::size_t>(F::kInfo.values) * static_cast<std::size_t>(F::kInfo.bytes);
  alignas(64) float lanes[kColumnsAtOnce][kLanes] = {};
  alignas(64) float w[kStep];
  std::size_t c = 0;
  for (; c + kStep <= cols; c += kStep, row += kStepBytes) {
    decode_step<F>(row, w);
    for (std::size_t j = 0; j < n; ++j) accumulate_block<F>(w, x + j * cols + c, lanes[j]);
  }
  if constexpr (F::kInfo.values == 1)
    for (std::size_t l = 0; c < cols; ++c, ++l, row += F::kInfo.bytes) {
      F::decode(row, w);
      for (std::size_t j = 0; j < n; ++j) lanes[j][l] += w[0] * x[j * cols + c];
    }
  for (std::size_t j = 0; j < n; ++j) y[j * y_stride] = sum_lanes(lanes[j]);
}

template <class F>
void matvec_rows(const std::uint8_t* weights, std::size_t rows, std::size_t cols, const float* x, std::size_t n,
                 float* y, std::size_t y_stride) {
  const std::size_t row_bytes =
      cols / static_cast<std::size_t>(F::kInfo.values) * static_cast<std::size_t>(F::kInfo.bytes);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t j = 0; j < n; j += kColumnsAtOnce)
      row_times_columns<F>(weights + r * row_bytes, cols, x + j * cols, n - j < kColumnsAtOnce ? n - j : kColumnsAtOnce,
                           y + j * y_stride + r, y_stride);
}

template <class... F>
MatVec* matvec_of(FormatList<F...>, std::size_t index) {
  // Static: a copy on the stack is made with the instructions of this target, and every target is asked here.
  static constexpr MatVec* table[] = {matvec_rows<F>...};
  return table[index];
}

// The function for WeightFormats[index].
inline MatVec* matvec_for(std::size_t index) { return matvec_of(WeightFormats{}, index); }
