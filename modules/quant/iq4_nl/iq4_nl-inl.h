template <>
struct Unpack<IQ4_NL> : OneScale {
  static HWY_INLINE void codes(const std::uint8_t* block, std::int8_t* q) { look_up(kIq4Values, block + 2, q); }
};
