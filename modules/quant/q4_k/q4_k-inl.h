template <>
struct Unpack<Q4_K> : KScales {
  static HWY_INLINE void codes(const std::uint8_t* block, std::int8_t* q) {
    for (int pair = 0; pair < 4; ++pair)
      bytes32([&](auto d, std::size_t i) HWY_ATTR {
        const auto packed = hn::LoadU(d, block + 16 + pair * 32 + i);
        store(d, hn::And(packed, hn::Set(d, 15)), q + pair * 64 + i);
        store(d, hn::ShiftRight<4>(packed), q + pair * 64 + 32 + i);
      });
  }
};
