#include "jit/aot/package.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "jit/aot/header.h"
#include "jit/aot/python_module.h"
#include "jit/base/replace_file.h"
#include "jit/base/status.h"

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

absl::StatusOr<std::vector<std::string>> WriteLibraryFiles(const Library& library,
                                                           const CodeWriter::Written& written,
                                                           const FileOptions& options) {
  const std::string &name = library.name, &version = options.version;
  std::error_code error;
  std::filesystem::create_directories(options.directory, error);
  if (error) {
    return InvalidArgument("cannot make directory '", options.directory, "': ", error.message());
  }
  const Origin origin{absl::StrCat("tektite ", version), absl::StrJoin(written.variants, ", ")};
  std::vector<std::pair<std::string, std::string>> texts = {
      {name + ".h", WriteHeader(library, origin)},
      {name + "Config.cmake", WriteCmakePackage(library)},
      {name + ".pc", WritePkgConfig(library, version.substr(0, version.find(' ')))}};
  if (options.with_python) texts.emplace_back(name + ".py", WritePythonModule(library));
  texts.insert(texts.end(), options.programs.begin(), options.programs.end());
  std::vector<std::pair<std::string, absl::string_view>> files(texts.begin(), texts.end());
  files.emplace_back(absl::StrCat("lib", name, ".a"), written.archive);
  if (library.weights != WeightsPlace::kInside) {
    files.emplace_back(name + ".weights", library.data.bytes);
  }
  if (library.needs_kernels) files.emplace_back("libtektite_kernels.a", written.kernels);
  std::vector<std::string> names;
  for (const auto& [file, bytes] : files) {
    TEKTITE_RETURN_IF_ERROR(ReplaceFile(absl::StrCat(options.directory, "/", file), bytes));
    names.push_back(file);
  }
  return names;
}

}  // namespace tektite::aot
