// The ordered list of ways that a card has to make a kernel: NVIDIA's libraries where a rule says
// that they are faster, our own kernels, and what only a measurement would prefer.
//
//   for (const target::Offer& offer : SchedulesFor(fusion, facts, options, libraries)) ...
//
// Why: our f32 products reach two thirds of cuBLASLt's rate, our attention of bf16 two thirds of
// cuDNN's, and where a kernel is small, or convolves f32 in strict precision, ours are up to twenty
// times as fast.  The rules are classes of shapes that were measured on an H200 (bench/gpu/ways.py;
// the figures stand in docs/kernels/gpu_libraries.md).
//
// Limits: the rules know nothing of the card: that they hold for others than Hopper's was not
// measured.
#ifndef TEKTITE_BACKENDS_GPU_IMPLEMENTATION_LIST_H_
#define TEKTITE_BACKENDS_GPU_IMPLEMENTATION_LIST_H_

#include <vector>

#include "backends/gpu/emit/emitter.h"
#include "backends/gpu/libraries.h"
#include "jit/ir/graph.h"
#include "jit/target/schedules.h"

namespace tektite::gpu {

// Implementations of a contraction: our own, by the rule or by name
// (emit/contraction/warpgroup_contraction.h); a library's, with the epilogue in a kernel of its
// own; cuBLASLt's with a bias.  Of attention: our own, by the rule or by name
// (emit/attention/warpgroup_attention.h), and a library's.  A kernel that a library turns out not
// to have is made in our own way.
inline constexpr char kCublasLt[] = "cublaslt";
inline constexpr char kCublasLtWithBias[] = "cublaslt_bias";
inline constexpr char kCudnn[] = "cudnn";
inline constexpr char kCudnnAttention[] = "cudnn_attention";

// The first that fits is the one to take.  With facts.alternatives, what the rules leave out
// follows.
std::vector<target::Offer> SchedulesFor(const ir::Node& fusion, const target::Facts& facts,
                                        const EmitOptions& options, const Libraries& libraries);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_IMPLEMENTATION_LIST_H_
