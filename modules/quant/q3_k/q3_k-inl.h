template <>
struct Unpack<Q3_K> {
  static constexpr std::size_t kGroup = 16;
  static HWY_INLINE void scales(const std::uint8_t* block, float* scale) {
    const std::uint8_t* packed = block + 96;
    const auto low = load<std::uint64_t>(packed);
    const auto high = load<std::uint32_t>(packed + 8);
    const auto pairs = [&](int sub) { return std::uint64_t{high >> (sub / 4 * 2) & 0x03030303U} << 4U; };
    const std::uint64_t codes[2] = {(low & 0x0F0F0F0F0F0F0F0FU) | pairs(0) | pairs(4) << 32U,
                                    (low >> 4U & 0x0F0F0F0F0F0F0F0FU) | pairs(8) | pairs(12) << 32U};
    std::int8_t values[16];
    for (int half = 0; half < 2; ++half)
      for (int j = 0; j < 8; ++j) values[half * 8 + j] = static_cast<std::int8_t>((codes[half] >> (8 * j) & 63U)) - 32;
    scaled<16>(values, load_half(block + 108), scale);
  }
  static HWY_INLINE void codes(const std::uint8_t* block, std::int8_t* q) {
    bytes32([&](auto d, std::size_t i) HWY_ATTR {
      auto high = hn::LoadU(d, block + i);
      for (int half = 0; half < 2; ++half)
        quarters(d, hn::LoadU(d, block + 32 + half * 32 + i), [&](int quarter, auto pair) HWY_ATTR {
          const auto bit = hn::And(hn::Set(d, 4), hn::ShiftLeft<2>(high));
          high = hn::ShiftRight<1>(high);
          store(d, hn::Sub(hn::Or(pair, bit), hn::Set(d, 4)), q + half * 128 + quarter * 32 + i);
        });
    });
  }
};
