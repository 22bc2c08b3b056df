// Attention of f16 and bf16 with the instructions that sm_90a has for warpgroups.
//
//   if (const auto plan = WarpgroupAttentionTiling::Of(view, way, options)) {
//     TEKTITE_RETURN_IF_ERROR(EmitWarpgroupAttention(view, *plan, skip, kernel));
//   }
//
// For heads of 64 or 128 whose operands are parameters with rows that are neighbours: what copies
// of tensors can fetch.  Other attention is matrix_attention.h's.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_ATTENTION_WARPGROUP_ATTENTION_H_
#define TEKTITE_BACKENDS_GPU_EMIT_ATTENTION_WARPGROUP_ATTENTION_H_

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "backends/gpu/emit/attention/attention_view.h"
#include "backends/gpu/emit/attention/causal_skip.h"
#include "backends/gpu/emit/emitter.h"

namespace tektite::gpu {

// The way to make such a kernel (jit/target/schedules.h) beside kWarpMatrices
// (warpgroup_contraction.h).
inline constexpr char kWarpgroupAttention[] = "wgmma";

// An operand as the copy engine sees it: rows of a head's numbers, with the dimensions of the batch
// that lie outside of a row's and those that lie within, [outer, rows, inner].
struct HeadTensor {
  int buffer;
  ir::Dim outer, rows, inner;
  // Of a dimension of the batch: how far apart its elements are in `outer` or in `inner`.
  struct Part {
    bool is_outer;
    ir::Dim stride;
  };
  std::vector<Part> batch;
};

struct WarpgroupAttentionTiling {
  HeadTensor query, key, value;
  int64_t keys;  // of a step

  // None where another kernel is to be made: the operands do not fit, `way` says so, or, without a
  // way, the rows would not fill the card.
  static std::optional<WarpgroupAttentionTiling> Of(const AttentionView& view,
                                                    absl::string_view way,
                                                    const EmitOptions& options);
  // In shared memory, without what CausalSkip takes.
  int64_t SharedBytes(int64_t width, int64_t columns) const;
};

// Of a block, and steps that shared memory holds.
inline constexpr int64_t kAttentionRows = 128, kAttentionStages = 2;
// A warp stages its rows of the result, 16 bytes further apart than they are long: threads that
// store side by side are then in different banks.
inline constexpr int64_t kStagedPadding = 8;

// The ways to make a kernel of attention beside the one that the rule takes: the tuner measures
// them.
std::vector<const char*> OtherAttentionWays(const ir::Node& fusion, const EmitOptions& options);

// `skip`: null, or what a launch before it has prepared.
absl::Status EmitWarpgroupAttention(const AttentionView& view, const WarpgroupAttentionTiling& plan,
                                    CausalSkip* skip, loop::Kernel* kernel);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_ATTENTION_WARPGROUP_ATTENTION_H_
