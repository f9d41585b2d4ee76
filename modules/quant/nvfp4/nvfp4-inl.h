template <>
struct Unpack<NVFP4> {
  static constexpr std::size_t kGroup = 16;
  static HWY_INLINE void scales(const std::uint8_t* block, float* scale) {
    for (int sub = 0; sub < 4; ++sub) scale[sub] = NVFP4::half_scale(block[sub]);
  }
  // 16 bytes give two sub-blocks, each its eight low nibbles and then its eight high ones.
  static HWY_INLINE void codes(const std::uint8_t* block, std::int8_t* q) {
    const hn::Full128<std::uint8_t> d;
    const hn::Full128<std::uint64_t> eights;
    const auto values = hn::LoadU(d, reinterpret_cast<const std::uint8_t*>(kFp4Doubled.data()));
    for (int pair = 0; pair < 2; ++pair) {
      const auto bytes = hn::LoadU(d, block + 4 + pair * 16);
      const auto low = hn::BitCast(eights, hn::TableLookupBytes(values, hn::And(bytes, hn::Set(d, 15))));
      const auto high = hn::BitCast(eights, hn::TableLookupBytes(values, hn::ShiftRight<4>(bytes)));
      store32(hn::BitCast(d, hn::InterleaveLower(eights, low, high)),
              hn::BitCast(d, hn::InterleaveUpper(eights, low, high)), q + pair * 32);
    }
  }
};
