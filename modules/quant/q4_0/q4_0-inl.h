template <>
struct Unpack<Q4_0> {
  static constexpr std::size_t kGroup = 32;
  static HWY_INLINE void scales(const std::uint8_t* block, float* scale) { *scale = load_half(block); }
  static HWY_INLINE void codes(const std::uint8_t* block, std::int8_t* q) { nibbles(block + 2, 8, q); }
};
