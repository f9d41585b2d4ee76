#pragma once
// Isa: the instruction sets that a variant can be compiled for, which of them this machine runs, and the cap that
// KRT_ISA puts on the choice.

#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/core/status.h"

namespace krt {

// Within one architecture each includes those before it.
enum class Isa : std::uint8_t {
  kScalar,  // plain C++: every machine
  kSse4,    // x86: with pclmul and aes, as Highway's target has them
  kAvx2,    // with fma, f16c, bmi, bmi2
  kAvx3,    // AVX-512 f, vl, dq, bw
  kAvx3Dl,  // with vnni, vbmi, vbmi2, bitalg, vpopcntdq, vaes, vpclmulqdq
  kAmx,     // with the int8 and bf16 tiles; asking for it requests the tile state from the kernel
  kNeon,    // Arm
};

// "scalar", "sse4", "avx2", "avx3", "avx3_dl", "amx", "neon": variants are named so, and so is KRT_ISA spelled.
std::string_view name_of(Isa isa);
Result<Isa> isa_named(std::string_view name);  // an unknown name is refused with the list of known ones

// Whether this CPU and its operating system run it. Detected once.
bool cpu_has(Isa isa);

// Whether a cap lets `isa` through: it demotes and never promotes. A cap of another architecture leaves only scalar.
bool within(Isa isa, std::optional<Isa> cap);

// The cap that the environment variable KRT_ISA sets, read once; none where it is unset or empty. An unknown name is
// thrown as StatusError: a Runtime does not start with it.
std::optional<Isa> isa_cap();

}  // namespace krt
