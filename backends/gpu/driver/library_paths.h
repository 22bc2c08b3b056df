// Where a vendor's library may lie: where the loader looks, in a CUDA toolkit, or in a Python
// package beside the one that this code is in.
//
//   for (const std::string& path : LibraryPaths({"libcudnn.so.9"}, {"nvidia/cudnn/lib"})) ...
#ifndef TEKTITE_BACKENDS_GPU_DRIVER_LIBRARY_PATHS_H_
#define TEKTITE_BACKENDS_GPU_DRIVER_LIBRARY_PATHS_H_

#include <string>
#include <vector>

#include "absl/types/span.h"

namespace tektite::gpu {

// For each file, in their order.  `package_folders` are relative to the folder of Python packages.
std::vector<std::string> LibraryPaths(absl::Span<const char* const> files,
                                      absl::Span<const char* const> package_folders);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_DRIVER_LIBRARY_PATHS_H_
