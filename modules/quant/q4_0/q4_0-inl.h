template <>
struct Unpack<Q4_0> : OneScale {
  static HWY_INLINE void codes(const std::uint8_t* block, std::int8_t* q) { nibbles(block + 2, 8, q); }
};
