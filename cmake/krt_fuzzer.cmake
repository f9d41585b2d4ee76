# krt_fuzzer(NAME source... [LIBS lib...]): a libFuzzer program; scripts/fuzz runs it. Its seeds are the files of
# tests/fuzz/seeds/NAME.
function(krt_fuzzer name)
  if(NOT KRT_FUZZERS)
    return()
  endif()
  cmake_parse_arguments(F "" "" "LIBS" ${ARGN})
  add_executable(${name} ${F_UNPARSED_ARGUMENTS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${name} PRIVATE krt_options ${F_LIBS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz/bin)
  add_dependencies(fuzzers ${name})
endfunction()

if(KRT_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "KRT_FUZZERS needs clang (the preset asan)")
  endif()
  add_custom_target(fuzzers)  # all of them
  add_compile_options(-fsanitize=fuzzer-no-link)  # everything reports which branches it took
endif()
