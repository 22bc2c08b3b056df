// Products of f16 and bf16 with the instructions that sm_90a has for warpgroups.
//
//   if (const auto plan = WarpgroupTiling::Of(view, target::ScheduleOf(fusion).implementation,
//   options)) {
//     TEKTITE_RETURN_IF_ERROR(EmitWarpgroups(region, view, *plan, kernel));
//   }
//
// For products whose operands are parameters, stored as rows of matrices, each as it is or
// transposed, with rows of whole chunks of 16 bytes: what copies of tensors can fetch.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_WARPGROUP_CONTRACTION_H_
#define TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_WARPGROUP_CONTRACTION_H_

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "backends/gpu/emit/contraction/contraction_view.h"
#include "backends/gpu/emit/emitter.h"

namespace tektite::gpu {

// The ways to make such a product's kernel (jit/target/schedules.h), beside the usual rule.
inline constexpr char kWarpMatrices[] = "mma";
inline constexpr char kSquareTiles[] = "wgmma_128x128";
inline constexpr char kWideTiles[] = "wgmma_128x256";

struct WarpgroupTiling {
  struct Side {
    int buffer;
    bool transposed;  // stored with k first
  };
  std::array<Side, 2> sides;
  int64_t columns;  // of a tile, which has 128 rows
  int64_t stages;   // in shared memory
  int64_t multiprocessors;

  // None where another kernel is to be made: the operands do not fit, `way` says so, or, without a
  // way, the product would not fill the card.
  static std::optional<WarpgroupTiling> Of(const ContractionView& view, absl::string_view way,
                                           const EmitOptions& options);
};

// The ways to make a contraction's kernel beside the one that the rule takes: the tuner measures
// them.  None where there is nothing to choose.
std::vector<const char*> OtherWays(const ir::Node& fusion, const EmitOptions& options);

absl::Status EmitWarpgroups(const ir::Graph& region, const ContractionView& view,
                            const WarpgroupTiling& plan, loop::Kernel* kernel);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_WARPGROUP_CONTRACTION_H_
