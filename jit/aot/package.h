// The files of a library: what build systems find it by, and all of them at once.
//
//   WriteCmakePackage(library)    // NAMEConfig.cmake: find_package(NAME), the target NAME::NAME
//   WritePkgConfig(library, version)
//   TEKTITE_RETURN_IF_ERROR(WriteLibraryFiles(library, written.archive, options));
//
// The first two name the library by their own place, so that its folder can be moved.
#ifndef TEKTITE_JIT_AOT_PACKAGE_H_
#define TEKTITE_JIT_AOT_PACKAGE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "jit/aot/code_writer.h"
#include "jit/aot/library.h"

namespace tektite::aot {

std::string WriteCmakePackage(const Library& library);
std::string WritePkgConfig(const Library& library, const std::string& version);

struct FileOptions {
  std::string directory;  // made where there is none
  std::string version;    // "0.1.0 (llvm 22.1.8)"
  std::vector<std::string> variants;
  bool with_python = false;
};
// NAME.h, libNAME.a, NAMEConfig.cmake, NAME.pc and, if wanted, NAME.py.
absl::Status WriteLibraryFiles(const Library& library, absl::string_view archive,
                               const FileOptions& options);
// For people: the files, sizes of code and weights, arguments and results.
std::string ReportText(const Library& library, const CodeWriter::Written& written,
                       const FileOptions& options);

}  // namespace tektite::aot

#endif  // TEKTITE_JIT_AOT_PACKAGE_H_
