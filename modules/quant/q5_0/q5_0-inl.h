template <>
struct Unpack<Q5_0> : OneScale {
  static HWY_INLINE void codes(const std::uint8_t* block, std::int8_t* q) {
    nibbles_and_bits(block + 6, block + 2, 16, q);
  }
};
