template <>
struct Unpack<Q5_1> {
  static constexpr std::size_t kGroup = 32;
  static HWY_INLINE void scales(const std::uint8_t* block, float* scale, float* minimum) {
    *scale = load_half(block);
    *minimum = -load_half(block + 2);
  }
  static HWY_INLINE void codes(const std::uint8_t* block, std::int8_t* q) {
    nibbles_and_bits(block + 8, block + 4, 0, q);
  }
};
