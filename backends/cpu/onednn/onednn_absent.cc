// In place of onednn_kernels.cc where CMake found no oneDNN.
#include "backends/cpu/onednn/onednn_kernels.h"
#include "jit/base/status.h"

namespace tektite::cpu {

absl::StatusOr<std::shared_ptr<const backend::Kernel>> MakeOneDnnKernel(const ir::Node&,
                                                                        const target::TargetInfo&) {
  return Unimplemented("built without oneDNN");
}

absl::StatusOr<int64_t> OneDnnPanelWidth(const ir::Node&, const target::TargetInfo&) {
  return Unimplemented("built without oneDNN");
}

}  // namespace tektite::cpu
