#include "runtime/dispatch/isa.h"

#include <array>
#include <cstdlib>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace krt {
namespace {

constexpr std::array<std::string_view, 7> kNames{"scalar", "sse4", "avx2", "avx3", "avx3_dl", "amx", "neon"};
constexpr std::size_t kCount = kNames.size();
using Supported = std::array<bool, kCount>;

#if defined(__x86_64__)

struct Registers {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(std::uint32_t leaf) {
  Registers r;
  __get_cpuid_count(leaf, 0, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

// Which register files the operating system saves (XCR0).
std::uint64_t saved_state() {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32U) | low;
}

template <class... Bit>
constexpr std::uint32_t bits(Bit... bit) {
  return ((std::uint32_t{1} << static_cast<unsigned>(bit)) | ...);
}
constexpr bool all(std::uint64_t have, std::uint64_t want) { return (have & want) == want; }

// A process may use the tile registers only after it has asked for them (Linux, Documentation/arch/x86/xstate).
bool request_tiles() {
  constexpr long kRequestPermission = 0x1023;
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

// Bit numbers: Intel SDM volume 2A, CPUID.
Supported detect() {
  const Registers one = cpuid(1);
  const Registers seven = cpuid(7);
  const std::uint64_t state = all(one.ecx, bits(27)) ? saved_state() : 0;  // osxsave
  Supported s{};
  const auto has = [&](Isa isa) -> bool& { return s[static_cast<std::size_t>(isa)]; };
  has(Isa::kScalar) = true;
  // pclmul 1, sse4.1 19, sse4.2 20, aes 25
  has(Isa::kSse4) = all(one.ecx, bits(1, 19, 20, 25));
  // fma 12, avx 28, f16c 29; bmi 3, avx2 5, bmi2 8
  has(Isa::kAvx2) =
      has(Isa::kSse4) && all(one.ecx, bits(12, 28, 29)) && all(seven.ebx, bits(3, 5, 8)) && all(state, bits(1, 2));
  // avx512f 16, dq 17, bw 30, vl 31
  has(Isa::kAvx3) = has(Isa::kAvx2) && all(seven.ebx, bits(16, 17, 30, 31)) && all(state, bits(5, 6, 7));
  // vbmi 1, vbmi2 6, vaes 9, vpclmulqdq 10, vnni 11, bitalg 12, vpopcntdq 14
  has(Isa::kAvx3Dl) = has(Isa::kAvx3) && all(seven.ecx, bits(1, 6, 9, 10, 11, 12, 14));
  // amx-bf16 22, amx-tile 24, amx-int8 25
  has(Isa::kAmx) = has(Isa::kAvx3Dl) && all(seven.edx, bits(22, 24, 25)) && all(state, bits(17, 18)) && request_tiles();
  return s;
}

#else

Supported detect() {
  Supported s{};
  s[static_cast<std::size_t>(Isa::kScalar)] = true;
#if defined(__aarch64__)
  s[static_cast<std::size_t>(Isa::kNeon)] = true;  // part of the architecture
#endif
  return s;
}

#endif

std::optional<Isa> read_cap() {
  const char* text = std::getenv("KRT_ISA");
  if (text == nullptr || *text == '\0') return std::nullopt;
  Result<Isa> isa = isa_named(text);
  if (!isa.ok()) throw StatusError(invalid("KRT_ISA: " + isa.status().message()));
  return *isa;
}

}  // namespace

std::string_view name_of(Isa isa) { return kNames[static_cast<std::size_t>(isa)]; }

Result<Isa> isa_named(std::string_view name) {
  std::string known;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (kNames[i] == name) return static_cast<Isa>(i);
    known += (i != 0 ? ", " : "") + std::string(kNames[i]);
  }
  return invalid("unknown instruction set " + quoted(name) + "; known are " + known);
}

bool cpu_has(Isa isa) {
  static const Supported supported = detect();
  return supported[static_cast<std::size_t>(isa)];
}

bool within(Isa isa, std::optional<Isa> cap) {
  if (!cap || isa == Isa::kScalar) return true;
  if ((isa == Isa::kNeon) != (*cap == Isa::kNeon)) return false;
  return isa <= *cap;
}

std::optional<Isa> isa_cap() {
  static const std::optional<Isa> cap = read_cap();
  return cap;
}

}  // namespace krt
