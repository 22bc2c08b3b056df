// Convolutions of volumes computed by oneDNN, one thread per call of it, shared out like every
// other kernel.
//
//   fusion(%x, %panels) {kind = contraction, rhs_packed = 64, schedule = "onednn, columns = 64,
//   alone"}
//
// Where it is used is a rule (backends/cpu/implementation_list.cc).  It takes one thing more for
// granted than our own code, weights that are packed.  It reads the very panels that assign_layouts
// makes, of a width that it picks.
//
// Chunks are rows of the outermost spatial dimension, by the shape alone; a chunk at the border has
// a primitive of its own, with that border's padding.
//
// Limits: f32, static shapes, three spatial dimensions, channels last, no groups, AVX-512;
// nothing beside the convolution in the region (passes/apply_schedule.h makes it so).  Where oneDNN
// has no fast code for such weights it returns Unimplemented with the name of the code that it has.
#ifndef TEKTITE_BACKENDS_CPU_ONEDNN_ONEDNN_KERNELS_H_
#define TEKTITE_BACKENDS_CPU_ONEDNN_ONEDNN_KERNELS_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "jit/backend/backend.h"
#include "jit/ir/graph.h"
#include "jit/target/target_info.h"

namespace tektite::cpu {

inline constexpr char kOneDnn[] = "onednn";

// `contraction` is a fusion whose region holds the convolution alone, its weights packed.
absl::StatusOr<std::shared_ptr<const backend::Kernel>> MakeOneDnnKernel(
    const ir::Node& contraction, const target::TargetInfo& target);

// The panel width it needs for the convolution of `fusion`, whatever else is in the region;
// Unimplemented with a reason when it has no kernel.
absl::StatusOr<int64_t> OneDnnPanelWidth(const ir::Node& fusion, const target::TargetInfo& target);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_ONEDNN_ONEDNN_KERNELS_H_
