template <>
struct Unpack<IQ4_XS> {
  static constexpr std::size_t kGroup = 32;
  static HWY_INLINE void scales(const std::uint8_t* block, float* scale) {
    const float d = load_half(block);
    for (int sub = 0; sub < 8; ++sub) scale[sub] = d * static_cast<float>(IQ4_XS::scale(block, sub) - 32);
  }
  static HWY_INLINE void codes(const std::uint8_t* block, std::int8_t* q) {
    for (int sub = 0; sub < 8; ++sub) look_up(kIq4Values, block + 8 + sub * 16, q + sub * 32);
  }
};
