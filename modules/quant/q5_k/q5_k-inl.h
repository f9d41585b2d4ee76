template <>
struct Unpack<Q5_K> : KScales {
  static HWY_INLINE void codes(const std::uint8_t* block, std::int8_t* q) {
    bytes32([&](auto d, std::size_t i) HWY_ATTR {
      auto high = hn::LoadU(d, block + 16 + i);
      const auto fifth = [&]() HWY_ATTR {
        const auto bit = hn::And(hn::ShiftLeft<4>(high), hn::Set(d, 16));
        high = hn::ShiftRight<1>(high);
        return bit;
      };
      for (int pair = 0; pair < 4; ++pair) {
        const auto low = hn::LoadU(d, block + 48 + pair * 32 + i);
        store(d, hn::Or(hn::And(low, hn::Set(d, 15)), fifth()), q + pair * 64 + i);
        store(d, hn::Or(hn::ShiftRight<4>(low), fifth()), q + pair * 64 + 32 + i);
      }
    });
  }
};
