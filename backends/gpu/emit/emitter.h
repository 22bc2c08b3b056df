// Kernels for devices: an emitter for each kind of fusion, and their list.
//
//   TEKTITE_ASSIGN_OR_RETURN(EmittedKernel emitted, EmitKernel(fusion, "k3_row"));
//   emitted.kernel->launch;               // blocks and threads follow from the sizes
//
// Where threads of all blocks must wait for each other a kernel is several launches (phases.h).
//
// Emitters refuse with Unimplemented and a reason what they have no code for.  A static shape is
// the case in which all sizes fold to constants; where a decision is made here and not in the code,
// an unknown size counts as a large one.  Work is cut by sizes alone and sums have a fixed order,
// so that results do not depend on the card.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_EMITTER_H_
#define TEKTITE_BACKENDS_GPU_EMIT_EMITTER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/ir/graph.h"
#include "jit/llvm/loop_ir.h"
#include "jit/target/target_info.h"

namespace tektite::gpu {

// Which products and attention are made with instructions for warpgroups (warpgroup_contraction.h,
// warpgroup_attention.h), where a card has them.
enum class Warpgroups {
  kNever,
  kWhereLarge,  // where they fill the card
  kAlways,      // all that fit them: for tests
};

// What a kernel may ask of a card, and how it computes.
struct EmitOptions {
  int64_t shared_bytes = 99 << 10;  // of a block at most: what the smallest card has
  bool tf32 = false;                // products of f32 may round their operands to TF32
  Warpgroups warpgroups = Warpgroups::kNever;
  int64_t multiprocessors = 132;  // of the card: blocks that walk over the tiles of a large product
};

struct EmittedKernel {
  std::unique_ptr<loop::Kernel> kernel;  // launch is set
  // Launched after it, one after the other, on the same buffers.  All share one scratch, which they
  // lay out alike, and which holds anything at first.
  std::vector<std::unique_ptr<loop::Kernel>> then;
  std::vector<std::pair<int, int>> in_place;  // operand, result that may share a buffer
};

// By the fusion's kind.
absl::StatusOr<EmittedKernel> EmitKernel(const ir::Node& fusion, const std::string& name,
                                         const EmitOptions& options = {});
// Sets what passes must know of these kernels: their types of attention, that they multiply bytes,
// and how operands lie.
void DescribeKernels(target::TargetInfo* target);

// softmax(query x key) x value: scores never reach memory.
absl::StatusOr<EmittedKernel> EmitAttention(const ir::Node& fusion, const std::string& name,
                                            const EmitOptions& options);
// Products and convolutions, with an elementwise epilogue.
absl::StatusOr<EmittedKernel> EmitContraction(const ir::Node& fusion, const std::string& name,
                                              const EmitOptions& options);
// Running sums and their like.
absl::StatusOr<EmittedKernel> EmitCumulative(const ir::Node& fusion, const std::string& name);
// Elementwise work and data movement: every output element is computed at its own index.
absl::StatusOr<EmittedKernel> EmitLoop(const ir::Node& fusion, const std::string& name);
// Contractions with few results and long sums.
absl::StatusOr<EmittedKernel> EmitLongSum(const ir::Node& fusion, const std::string& name);
// sort and top_k.
absl::StatusOr<EmittedKernel> EmitOrder(const ir::Node& fusion, const std::string& name);
// Rows that are reduced and used again: softmax, norms.
absl::StatusOr<EmittedKernel> EmitRow(const ir::Node& fusion, const std::string& name);
// Reductions over any dimensions.
absl::StatusOr<EmittedKernel> EmitReduce(const ir::Node& fusion, const std::string& name);
// Reductions by a region of the graph.
absl::StatusOr<EmittedKernel> EmitRegionReduce(const ir::Node& fusion, const std::string& name);
// Updates of some places of an array.
absl::StatusOr<EmittedKernel> EmitScatter(const ir::Node& fusion, const std::string& name);
// compact, nonzero and is_member.
absl::StatusOr<EmittedKernel> EmitSelection(const ir::Node& fusion, const std::string& name);
// non_max_suppression.
absl::StatusOr<EmittedKernel> EmitSuppression(const ir::Node& fusion, const std::string& name);
// unique.
absl::StatusOr<EmittedKernel> EmitUnique(const ir::Node& fusion, const std::string& name);
// Pooling.
absl::StatusOr<EmittedKernel> EmitWindow(const ir::Node& fusion, const std::string& name);
// Gradients of max pooling.
absl::StatusOr<EmittedKernel> EmitWindowGradient(const ir::Node& fusion, const std::string& name);

// The widest access of a thread.
inline constexpr int64_t kVectorBytes = 16;
// Elements of the region's widest parameter or output in one access: a power of two.
int64_t VectorElements(const ir::Graph& region);
// Whether neighbours in a row of the node's result are computed from neighbours, or at least
// without a choice between operands in the middle of a vector.
bool KeepsVectors(const ir::Node& node);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_EMITTER_H_
