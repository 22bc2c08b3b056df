#include "backends/gpu/driver/library_paths.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace tektite::gpu {
namespace {

// The folder that Python packages lie in, where this code is PACKAGE/lib/FILE of one of them.
std::string PackagesFolder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&PackagesFolder), &info) == 0) return "";
  std::string folder = info.dli_fname;
  for (int level = 0; level < 3; ++level) {
    const size_t slash = folder.rfind('/');
    if (slash == std::string::npos) return "";
    folder.resize(slash);
  }
  return folder;
}

}  // namespace

std::vector<std::string> LibraryPaths(absl::Span<const char* const> files,
                                      absl::Span<const char* const> package_folders) {
  std::vector<std::string> paths;
  const std::string packages = PackagesFolder();
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
