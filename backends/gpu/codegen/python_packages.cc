#include "backends/gpu/codegen/python_packages.h"

#include <dlfcn.h>

namespace tektite::gpu {

std::string PythonPackages() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&PythonPackages), &info) == 0) return "";
  std::string folder = info.dli_fname;
  for (int level = 0; level < 3; ++level) {  // PACKAGE/lib/FILE
    const size_t slash = folder.rfind('/');
    if (slash == std::string::npos) return "";
    folder.resize(slash);
  }
  return folder;
}

}  // namespace tektite::gpu
