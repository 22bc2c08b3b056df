// The files of a library: what build systems find it by, and all of them at once.
//
//   WriteCmakePackage(library)    // NAMEConfig.cmake: find_package(NAME), the target NAME::NAME
//   WritePkgConfig(library, version)
//   TEKTITE_ASSIGN_OR_RETURN(auto files, WriteLibraryFiles(library, written, options));
//
// The first two name the library by their own place, so that its folder can be moved.
#ifndef TEKTITE_JIT_AOT_PACKAGE_H_
#define TEKTITE_JIT_AOT_PACKAGE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/aot/code_writer.h"
#include "jit/aot/library.h"

namespace tektite::aot {

std::string WriteCmakePackage(const Library& library);
std::string WritePkgConfig(const Library& library, const std::string& version);

struct FileOptions {
  std::string directory;  // made where there is none
  std::string version;    // "0.1.0 (llvm 22.1.8)"
  bool with_python = false;
  std::vector<std::pair<std::string, std::string>> programs;  // more files: names and texts
};
// NAME.h, libNAME.a, NAMEConfig.cmake, NAME.pc, what the options ask for, NAME.weights where
// weights are not inside, and libtektite_kernels.a where code calls it.  Returns their names.
absl::StatusOr<std::vector<std::string>> WriteLibraryFiles(const Library& library,
                                                           const CodeWriter::Written& written,
                                                           const FileOptions& options);

}  // namespace tektite::aot

#endif  // TEKTITE_JIT_AOT_PACKAGE_H_
