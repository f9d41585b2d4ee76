template <>
struct Unpack<MXFP4> {
  static constexpr std::size_t kGroup = 32;
  static HWY_INLINE void scales(const std::uint8_t* block, float* scale) { *scale = MXFP4::half_scale(block[0]); }
  static HWY_INLINE void codes(const std::uint8_t* block, std::int8_t* q) { look_up(kFp4Doubled, block + 1, q); }
};
