#include "backends/gpu/driver/library_paths.h"

#include "absl/strings/str_cat.h"
#include "backends/gpu/codegen/python_packages.h"

namespace tektite::gpu {

std::vector<std::string> LibraryPaths(absl::Span<const char* const> files,
                                      absl::Span<const char* const> package_folders) {
  std::vector<std::string> paths;
  const std::string packages = PythonPackages();
  for (const char* file : files) {
    paths.emplace_back(file);
    for (const char* folder : {"/usr/local/cuda/lib64", "/usr/local/cuda/lib"}) {
      paths.push_back(absl::StrCat(folder, "/", file));
    }
    if (packages.empty()) continue;
    for (const char* folder : package_folders) {
      paths.push_back(absl::StrCat(packages, "/", folder, "/", file));
    }
  }
  return paths;
}

}  // namespace tektite::gpu
