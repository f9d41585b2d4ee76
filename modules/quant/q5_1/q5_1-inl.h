template <>
struct Unpack<Q5_1> : ScaleAndMinimum {
  static HWY_INLINE void codes(const std::uint8_t* block, std::int8_t* q) {
    nibbles_and_bits(block + 8, block + 4, 0, q);
  }
};
