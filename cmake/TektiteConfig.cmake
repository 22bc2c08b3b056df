# find_package(Tektite) with -DTektite_DIR=<a build folder>: for back ends of other projects (docs/new_backend.md).
#
#   tektite_conformance_test(NAME SRCS a.cc ... DEPS lib ...)
#
# is a GoogleTest program with the conformance suite on the back end that CreateBackendUnderTest makes
# (tests/conformance/one_target.h).
include(CMakeFindDependencyMacro)
find_dependency(absl)
find_dependency(GTest)
find_dependency(Threads)
find_dependency(ZLIB)
include(${CMAKE_CURRENT_LIST_DIR}/TektiteTargets.cmake)

function(tektite_conformance_test name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  target_link_libraries(${name} PRIVATE tektite_one_target tektite_conformance ${ARG_DEPS})
  add_test(NAME ${name} COMMAND ${name})
endfunction()
