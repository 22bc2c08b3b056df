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
    INTERFACE_LINK_LIBRARIES m)
endif()
)";

constexpr char kPkgConfig[] = R"(Name: $name
Description: a model compiled ahead of time
Version: $version
Libs: -L${pcfiledir} -l$name -lm
Cflags: -I${pcfiledir}
)";

}  // namespace

std::string WriteCmakePackage(const Library& library) {
  return absl::StrReplaceAll(kCmake, {{"$name", library.name}});
}

std::string WritePkgConfig(const Library& library, const std::string& version) {
  return absl::StrReplaceAll(kPkgConfig, {{"$name", library.name}, {"$version", version}});
}

absl::Status WriteLibraryFiles(const Library& library, absl::string_view archive,
                               const FileOptions& options) {
  const std::string &name = library.name, &version = options.version;
  std::error_code error;
  std::filesystem::create_directories(options.directory, error);
  if (error) {
    return InvalidArgument("cannot make directory '", options.directory, "': ", error.message());
  }
  const Origin origin{absl::StrCat("tektite ", version), absl::StrJoin(options.variants, ", ")};
  std::vector<std::pair<std::string, std::string>> files = {
      {name + ".h", WriteHeader(library, origin)},
      {name + "Config.cmake", WriteCmakePackage(library)},
      {name + ".pc", WritePkgConfig(library, version.substr(0, version.find(' ')))}};
  if (options.with_python) files.emplace_back(name + ".py", WritePythonModule(library));
  for (const auto& [file, text] : files) {
    TEKTITE_RETURN_IF_ERROR(ReplaceFile(absl::StrCat(options.directory, "/", file), text));
  }
  return ReplaceFile(absl::StrCat(options.directory, "/lib", name, ".a"), archive);
}

std::string ReportText(const Library& library, const CodeWriter::Written& written,
                       const FileOptions& options) {
  const std::string& directory = options.directory;
  std::string text = absl::StrCat("wrote ", directory, "/", library.name, ".h and ", directory,
                                  "/lib", library.name, ".a\n");
  for (size_t v = 0; v < options.variants.size(); ++v) {
    absl::StrAppend(&text, "code for ", options.variants[v], ": ", written.code_bytes[v],
                    " bytes\n");
  }
  absl::StrAppend(&text, "weights: ", written.data_bytes, " bytes\n");
  for (const Tensor& tensor : library.arguments) {
    absl::StrAppend(&text, tensor.is_state ? "state " : "argument ", tensor.name, ": ",
                    tensor.shape.ToString(), "\n");
  }
  for (const Tensor& tensor : library.results) {
    absl::StrAppend(&text, "result ", tensor.name, ": ", tensor.shape.ToString(), "\n");
  }
  for (const std::string& size : library.sizes) absl::StrAppend(&text, "size ", size, "\n");
  return text;
}

}  // namespace tektite::aot
