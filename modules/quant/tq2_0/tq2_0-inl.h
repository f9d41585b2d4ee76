template <>
struct Unpack<TQ2_0> {
  static constexpr std::size_t kGroup = 32;
  static HWY_INLINE void scales(const std::uint8_t* block, float* scale) {
    for (int group = 0; group < 8; ++group) scale[group] = load_half(block + 64);
  }
  static HWY_INLINE void codes(const std::uint8_t* block, std::int8_t* q) {
    for (int half = 0; half < 2; ++half)
      bytes32([&](auto d, std::size_t i) HWY_ATTR {
        const auto packed = hn::LoadU(d, block + half * 32 + i);
        quarters(d, packed, [&](int quarter, auto pair) HWY_ATTR {
          store(d, hn::Sub(pair, hn::Set(d, 1)), q + half * 128 + quarter * 32 + i);
        });
      });
  }
};
