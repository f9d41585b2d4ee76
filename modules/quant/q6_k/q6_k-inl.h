template <>
struct Unpack<Q6_K> {
  static constexpr std::size_t kGroup = 16;
  static HWY_INLINE void scales(const std::uint8_t* block, float* scale) {
    scaled<16>(reinterpret_cast<const std::int8_t*>(block + 192), load_half(block + 208), scale);
  }
  static HWY_INLINE void codes(const std::uint8_t* block, std::int8_t* q) {
    for (int half = 0; half < 2; ++half)
      bytes32([&](auto d, std::size_t i) HWY_ATTR {
        const auto low = hn::LoadU(d, block + half * 64 + i);
        const auto low_next = hn::LoadU(d, block + half * 64 + 32 + i);
        quarters(d, hn::LoadU(d, block + 128 + half * 32 + i), [&](int quarter, auto pair) HWY_ATTR {
          const auto packed = quarter % 2 == 0 ? low : low_next;
          const auto nibble = quarter < 2 ? hn::And(packed, hn::Set(d, 15)) : hn::ShiftRight<4>(packed);
          const auto code = hn::Or(nibble, hn::ShiftLeft<4>(pair));
          store(d, hn::Sub(code, hn::Set(d, 32)), q + half * 128 + quarter * 32 + i);
        });
      });
  }
};
