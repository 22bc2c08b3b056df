// The kernel emitters of the CPU back end: from a fusion to loop IR, one emitter per kernel kind.
//
//   TEKTITE_ASSIGN_OR_RETURN(EmittedKernel k, EmitKernel(fusion, target, "k0_softmax"));
//
// EmitKernel tries the emitters that fit the fusion's kind in order; each refuses with
// Unimplemented and a reason what it has no code for.
//
// Sizes are dimension expressions throughout.  A static shape is the case in which they all fold to
// constants; where a decision is made here and not in the code (a tile, a number of accumulators),
// a size that is not known is taken for a large one.  Chunks depend on sizes alone.
#ifndef TEKTITE_BACKENDS_CPU_KERNEL_EMITTERS_H_
#define TEKTITE_BACKENDS_CPU_KERNEL_EMITTERS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/cpu/chunking.h"
#include "backends/cpu/element_emitter.h"
#include "jit/backend/target_info.h"
#include "jit/ir/graph.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::cpu {

// See backend::Bands.
struct EmittedBands {
  ir::Dim chunks = 0, rows = 0, all_rows = 0;
  std::vector<int> by_row;  // operands, see backend::Kernel::ReadsByRow
};

struct EmittedKernel {
  std::unique_ptr<loop::Kernel> kernel;
  ir::Dim num_chunks = 1;
  ir::Dim cost;                               // see Cost
  std::vector<std::pair<int, int>> in_place;  // operand, result that may share a buffer
  EmittedBands bands;
};

using Target = backend::TargetInfo;

absl::StatusOr<EmittedKernel> EmitKernel(const ir::Node& fusion, const Target& target,
                                         const std::string& name);

// Elementwise work and data movement; a concatenate at the end is written piece by piece.
absl::StatusOr<EmittedKernel> EmitLoop(const ir::Node& fusion, const Target& target,
                                       const std::string& name);
// Reductions over the innermost dimension and all that shares their rows: each row goes through the
// stages between reductions while it is in L1.
absl::StatusOr<EmittedKernel> EmitRow(const ir::Node& fusion, const Target& target,
                                      const std::string& name);
// Any other reduction.
absl::StatusOr<EmittedKernel> EmitReduce(const ir::Node& fusion, const Target& target,
                                         const std::string& name);
// dot_general, and convolution as a matrix product over addressed rows: register tiles, epilogue on
// the accumulators.
absl::StatusOr<EmittedKernel> EmitContraction(const ir::Node& fusion, const Target& target,
                                              const std::string& name);
// dot_general with at most four rows, whose right-hand side is read once from where it lies.
absl::StatusOr<EmittedKernel> EmitStreamedProduct(const ir::Node& fusion, const Target& target,
                                                  const std::string& name);
// 3x3 convolution by Winograd's algorithm, where that is estimated to be faster (winograd_plan.h).
absl::StatusOr<EmittedKernel> EmitWinograd(const ir::Node& fusion, const Target& target,
                                           const std::string& name);
// softmax(query x key) x value: scores stay in cache.
absl::StatusOr<EmittedKernel> EmitAttention(const ir::Node& fusion, const Target& target,
                                            const std::string& name);
// Depthwise convolution, vectorized over channels.
absl::StatusOr<EmittedKernel> EmitDepthwise(const ir::Node& fusion, const Target& target,
                                            const std::string& name);
// reduce_window, vectorized over the innermost dimension.
absl::StatusOr<EmittedKernel> EmitWindow(const ir::Node& fusion, const Target& target,
                                         const std::string& name);
// select_and_scatter, vectorized over the innermost dimension.
absl::StatusOr<EmittedKernel> EmitWindowGradient(const ir::Node& fusion, const Target& target,
                                                 const std::string& name);
// cumulative, reductions by a region, and scatter, alone.
absl::StatusOr<EmittedKernel> EmitSingle(const ir::Node& fusion, const Target& target,
                                         const std::string& name);

// EmitStreamedProduct has code for this contraction if its right-hand side stays as it is.
bool StreamsRightHandSide(const ir::Node& fusion, const Target& target);
// The panel width EmitContraction wants for the right-hand side of `fusion`; 0: row-major.
int64_t ContractionPanelWidth(const ir::Node& fusion, const Target& target);

// ---- shared by the emitters ----

// A kernel whose buffers are the region's parameters and outputs.
std::unique_ptr<loop::Kernel> MakeKernel(const ir::Node& fusion, const std::string& name,
                                         const std::vector<std::pair<int, int>>& in_place = {});
// Binds the region's parameters to the kernel's buffers.
void BindParameters(ElementEmitter& e, const ir::Graph& region);
// Lanes for work on this region's element types: a full vector of the widest type.
int RegionLanes(const ir::Graph& region, const Target& target);
// The time one core takes for the elementwise part of the region, by a crude model.
ir::Dim ElementwiseCost(const ir::Graph& region, const Target& target);
// Vector steps over [0, size): body(at, mask) with a mask only in the tail, which is a block of
// code of its own.
void ForEachVector(loop::Builder& b, const ir::Dim& size, int lanes,
                   const std::function<void(loop::Value at, loop::Value mask)>& body);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_KERNEL_EMITTERS_H_
