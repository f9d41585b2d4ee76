template <>
struct Unpack<NVFP4> {
  static constexpr std::size_t kGroup = 16;
  static HWY_INLINE void scales(const std::uint8_t* block, float* scale) {
    for (int sub = 0; sub < 4; ++sub) scale[sub] = NVFP4::half_scale(block[sub]);
  }
  // 16 bytes give two sub-blocks, each its eight low nibbles and then its eight high ones.
  static HWY_INLINE void codes(const std::uint8_t* block, std::int8_t* q) {
    for (int pair = 0; pair < 2; ++pair) {
      std::int8_t both[32];
      look_up(kFp4Doubled, block + 4 + pair * 16, both);
      for (int k = 0; k < 4; ++k) std::memcpy(q + pair * 32 + k * 8, both + (k % 2 * 16 + k / 2 * 8), 8);
    }
  }
};
