template <>
struct Unpack<Q2_K> {
  static constexpr std::size_t kGroup = 16;
  static HWY_INLINE void scales(const std::uint8_t* block, float* scale, float* minimum) {
    std::int8_t low_high[32];
    nibbles(block, 0, low_high);
    scaled<16>(low_high, load_half(block + 80), scale);
    scaled<16>(low_high + 16, load_half(block + 82), minimum);
  }
  static HWY_INLINE void codes(const std::uint8_t* block, std::int8_t* q) {
    for (int half = 0; half < 2; ++half)
      bytes32([&](auto d, std::size_t i) HWY_ATTR {
        quarters(d, hn::LoadU(d, block + 16 + half * 32 + i),
                 [&](int quarter, auto pair) HWY_ATTR { store(d, pair, q + half * 128 + quarter * 32 + i); });
      });
  }
};
