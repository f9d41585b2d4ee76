template <>
struct Unpack<IQ4_NL> {
  static constexpr std::size_t kGroup = 32;
  static HWY_INLINE void scales(const std::uint8_t* block, float* scale) { *scale = load_half(block); }
  static HWY_INLINE void codes(const std::uint8_t* block, std::int8_t* q) { look_up(kIq4Values, block + 2, q); }
};
