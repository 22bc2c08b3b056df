# tektite_library(NAME SRCS a.cc ... DEPS lib ...): a static, position-independent library of one room.
# tektite_test(NAME SRCS a.cc ... DEPS lib ...): a GoogleTest binary, registered with CTest as one test; its main function
# is tests/test_main.cc's.

add_library(tektite_options INTERFACE)
target_include_directories(tektite_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(tektite_options INTERFACE -Wall -Wextra -Wno-unused-parameter
                       $<$<BOOL:${TEKTITE_WERROR}>:-Werror>)

function(tektite_library name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  if(ARG_SRCS)
    add_library(${name} STATIC ${ARG_SRCS})
    target_link_libraries(${name} PRIVATE tektite_options PUBLIC ${ARG_DEPS})
    target_compile_options(${name} PRIVATE -ffunction-sections)  # TektiteLinkOrder.cmake
    target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${ARG_DEPS})
    target_include_directories(${name} INTERFACE ${CMAKE_SOURCE_DIR})
  endif()
endfunction()

function(tektite_test name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_SRCS})
  target_link_libraries(${name} PRIVATE tektite_options ${ARG_DEPS} GTest::gmock tektite_test_main)
  add_test(NAME ${name} COMMAND ${name})
  # A disk cache of the tests' own, not the user's.
  set_tests_properties(${name} PROPERTIES TIMEOUT 600
    ENVIRONMENT XDG_CACHE_HOME=${CMAKE_BINARY_DIR}/test-cache)
endfunction()
