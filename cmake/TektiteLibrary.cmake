# tektite_library(NAME SRCS a.cc ... DEPS lib ...): a static, position-independent library of one room.
# tektite_test(NAME SRCS a.cc ... DEPS lib ... [TIMEOUT seconds] [SHARDS n]): a GoogleTest binary, registered with CTest
# as one test, or as n that run its cases between them, each case for all of its parameters in one; those with a long
# timeout begin first, so that short ones fill the end. Its main function is tests/test_main.cc's.
# tektite_precompile(NAME header ... | REUSE_FROM OTHER): precompiles headers of other projects for NAME, or takes
# those of OTHER, which has the same compiler options.  Never the project's own headers: most files would be compiled again
# for a change in any of them.
# tektite_unite(NAME COUNT): compiles COUNT files of NAME at a time as one.  Files of a room use the same templates: eight of
# the importer take 6.5 s as one and 13.5 s by themselves, eight of the passes 4.9 and 9.4.  Their anonymous namespaces are one, too.

get_filename_component(TEKTITE_ROOT ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
add_library(tektite_options INTERFACE)
target_include_directories(tektite_options INTERFACE ${TEKTITE_ROOT})
target_compile_options(tektite_options INTERFACE -Wall -Wextra -Wno-unused-parameter
                       $<$<BOOL:${TEKTITE_WERROR}>:-Werror>)

function(tektite_library name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  if(ARG_SRCS)
    add_library(${name} STATIC ${ARG_SRCS})
    target_link_libraries(${name} PRIVATE tektite_options PUBLIC ${ARG_DEPS})
    target_compile_options(${name} PRIVATE -ffunction-sections)  # for --gc-sections
    target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
    if(NOT name STREQUAL tektite_base)
      tektite_precompile(${name} REUSE_FROM tektite_base)
    endif()
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${ARG_DEPS})
    target_include_directories(${name} INTERFACE ${CMAKE_SOURCE_DIR})
  endif()
endfunction()

function(tektite_precompile name)
  if(NOT TEKTITE_PRECOMPILE)
    return()
  endif()
  if(ARGV1 STREQUAL REUSE_FROM)
    target_precompile_headers(${name} ${ARGN})
  else()
    target_precompile_headers(${name} PRIVATE ${ARGN})
  endif()
endfunction()

function(tektite_unite name count)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${TEKTITE_PRECOMPILE} UNITY_BUILD_BATCH_SIZE ${count})
endfunction()

function(tektite_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT;SHARDS" "SRCS;DEPS" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_SRCS})
  target_link_libraries(${name} PRIVATE tektite_options ${ARG_DEPS} GTest::gmock tektite_test_main)
  # Tests run short loops of their own, and -O2 takes the compiler a quarter longer (4.7 s against 3.7 for a file of the
  # conformance suite).
  target_compile_options(${name} PRIVATE -O1)
  if(NOT name STREQUAL unlisted_skip_test)
    tektite_precompile(${name} REUSE_FROM unlisted_skip_test)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  # A disk cache of the tests' own, not the user's.
  set(environment XDG_CACHE_HOME=${CMAKE_BINARY_DIR}/test-cache)
  if(NOT ARG_SHARDS)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} COST ${ARG_TIMEOUT} ENVIRONMENT "${environment}")
    return()
  endif()
  math(EXPR last "${ARG_SHARDS} - 1")
  foreach(shard RANGE ${last})
    add_test(NAME ${name}_${shard} COMMAND ${name})
    set_tests_properties(${name}_${shard} PROPERTIES TIMEOUT ${ARG_TIMEOUT} COST ${ARG_TIMEOUT}
      ENVIRONMENT "${environment};TEKTITE_TEST_SHARDS=${ARG_SHARDS};TEKTITE_TEST_SHARD=${shard}")
  endforeach()
endfunction()
