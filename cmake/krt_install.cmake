# cmake --install: the program with its completions and manual page, the libraries, their headers, the protos, a CMake
# package and a pkg-config file.
#
#   find_package(krt REQUIRED)                      krt::krt: the runtime of this process and all kernels; needs TBB, utf8proc
#   find_package(krt REQUIRED COMPONENTS remote)    also krt::client and krt::server; needs gRPC and spdlog
#
# Included last: every target is known.
include(CMakePackageConfigHelpers)

set(headers ${CMAKE_INSTALL_INCLUDEDIR}/krt)  # so that #include "runtime/runtime.h" works with one -I
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/krt)

add_library(krt_krt INTERFACE)
target_link_libraries(krt_krt INTERFACE krt_modules krt_runtime)
set_target_properties(krt_krt PROPERTIES EXPORT_NAME krt)
set_target_properties(krt_runtime PROPERTIES EXPORT_NAME runtime)
set_target_properties(krt_modules PROPERTIES EXPORT_NAME modules)
install(TARGETS krt_krt krt_modules krt_runtime krt_options EXPORT krt)
install(EXPORT krt FILE krt-targets.cmake NAMESPACE krt:: DESTINATION ${package})
foreach(folder IN ITEMS runtime modules engine)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION ${headers} FILES_MATCHING PATTERN "*.h"
    PATTERN testing EXCLUDE PATTERN bench EXCLUDE PATTERN benches.h EXCLUDE)
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/generated/runtime/version.h DESTINATION ${headers}/runtime)

if(KRT_SERVICES)
  set_target_properties(krt_client PROPERTIES EXPORT_NAME client)
  set_target_properties(krt_server PROPERTIES EXPORT_NAME server)
  install(TARGETS krt_client krt_remote krt_server krt_wire krt_proto EXPORT krt-remote)
  install(EXPORT krt-remote FILE krt-remote-targets.cmake NAMESPACE krt:: DESTINATION ${package})
  install(FILES client/cpp/remote_runtime.h client/cpp/mojo_runtime.h DESTINATION ${headers}/client/cpp)
  install(FILES server/server.h server/serve.h server/options.h DESTINATION ${headers}/server)
endif()

configure_package_config_file(cmake/krt-config.cmake.in ${PROJECT_BINARY_DIR}/krt-config.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/krt-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/krt-config.cmake ${PROJECT_BINARY_DIR}/krt-config-version.cmake
  DESTINATION ${package})
# Relative to the file itself: cmake --install --prefix may put it anywhere.
file(RELATIVE_PATH up /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
set(pc_utf8proc "")
if(KRT_UTF8PROC)
  set(pc_utf8proc " libutf8proc")
endif()
configure_file(cmake/krt.pc.in ${PROJECT_BINARY_DIR}/krt.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/krt.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
