#include "jit/aot/package.h"

#include "absl/strings/str_replace.h"

namespace tektite::aot {
namespace {

constexpr char kCmake[] = R"(# find_package($name CONFIG REQUIRED PATHS "this folder")
# target_link_libraries(program $name::$name)
if(NOT TARGET $name::$name)
  add_library($name::$name STATIC IMPORTED)
  set_target_properties($name::$name PROPERTIES
    IMPORTED_LOCATION "${CMAKE_CURRENT_LIST_DIR}/lib$name.a"
    IMPORTED_LINK_INTERFACE_LANGUAGES C
    INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_LIST_DIR}"
    INTERFACE_LINK_LIBRARIES "$kernels_cmakem")
endif()
)";

constexpr char kPkgConfig[] = R"(Name: $name
Description: a model compiled ahead of time
Version: $version
Libs: -L${pcfiledir} -l$name $kernels_libs-lm
Cflags: -I${pcfiledir}
)";

}  // namespace

std::string WriteCmakePackage(const Library& library) {
  const char* const kernels =
      library.needs_kernels ? "${CMAKE_CURRENT_LIST_DIR}/libtektite_kernels.a;stdc++;" : "";
  return absl::StrReplaceAll(kCmake, {{"$name", library.name}, {"$kernels_cmake", kernels}});
}

std::string WritePkgConfig(const Library& library, const std::string& version) {
  return absl::StrReplaceAll(
      kPkgConfig, {{"$name", library.name},
                   {"$version", version},
                   {"$kernels_libs", library.needs_kernels ? "-ltektite_kernels -lstdc++ " : ""}});
}

}  // namespace tektite::aot
