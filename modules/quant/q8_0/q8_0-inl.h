template <>
struct Unpack<Q8_0> : OneScale {
  static HWY_INLINE void codes(const std::uint8_t* block, std::int8_t* q) { std::memcpy(q, block + 2, 32); }
};
