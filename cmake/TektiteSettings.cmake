# How everything of Tektite is compiled and linked: for the whole (CMakeLists.txt) and for what belongs to one version of
# TensorFlow (packaging/CMakeLists.txt).
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2")  # assertions stay on: a wrong compile is worse than a slow one

option(TEKTITE_WERROR "Warnings are errors" ON)
option(TEKTITE_PRECOMPILE "Precompile other projects' headers" ON)

find_program(TEKTITE_CCACHE ccache)
if(TEKTITE_CCACHE)
  # It knows what includes precompiled headers with these alone.
  set(launcher env CCACHE_SLOPPINESS=pch_defines,time_macros ${TEKTITE_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
find_program(TEKTITE_MOLD mold)
if(TEKTITE_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
add_link_options(-Wl,--build-id=sha1)  # the disk cache tells builds apart by it (jit/base/build_id.h)
