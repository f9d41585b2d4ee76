template <>
struct Unpack<Q4_1> : ScaleAndMinimum {
  static HWY_INLINE void codes(const std::uint8_t* block, std::int8_t* q) { nibbles(block + 4, 0, q); }
};
