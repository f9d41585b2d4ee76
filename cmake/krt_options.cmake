# krt_options: what every target of the project is compiled with; installed it is empty.
add_library(krt_options INTERFACE)
target_compile_options(krt_options INTERFACE $<BUILD_INTERFACE:-Wall> $<BUILD_INTERFACE:-Wextra> $<BUILD_INTERFACE:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 sees overlaps in `"text" + std::string` that are not there (GCC bug 105651).
  target_compile_options(krt_options INTERFACE $<BUILD_INTERFACE:-Wno-restrict>)
endif()

# No contraction anywhere: a * b + c rounds twice unless the source says fma, so that the bits of the f64 kernels
# do not depend on the ISA (docs/numerics.md).
add_compile_options(-ffp-contract=off)

# Highway (header only; runtime/dispatch/variant.h): the targets of every file compiled per instruction set. On x86 sse4
# is the last one, in place of the emulated target that an x86-64 baseline would get; SVE waits for a machine to try
# it on.
target_compile_definitions(krt_options INTERFACE
  "HWY_DISABLED_TARGETS=(HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)"
  $<$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>:HWY_BASELINE_TARGETS=HWY_SSE4>
  $<$<NOT:$<CONFIG:Release>>:HWY_IS_DEBUG_BUILD=0>)  # its assertions call into Highway's library, which nothing links

if(KRT_SANITIZE)
  add_compile_options(-fsanitize=${KRT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${KRT_SANITIZE})
endif()

find_program(KRT_CCACHE ccache)
if(KRT_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${KRT_CCACHE})
endif()
# The default linker: with lld 14 an exception that passes engine.generate ended the process (_Unwind_Resume aborts).
