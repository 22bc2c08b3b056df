// The kernel of a contraction: register tiles, and where the number of rows is not known, code for
// one row beside them.

#include <utility>

#include "backends/cpu/contraction/contraction_code.h"
#include "backends/cpu/contraction/contraction_emitters.h"
#include "backends/cpu/contraction/contraction_tiles.h"
#include "backends/cpu/contraction/contraction_tiling.h"
#include "backends/cpu/contraction/epilogue.h"
#include "backends/cpu/contraction/pairs/pair_tiling.h"
#include "backends/cpu/emit/emitter.h"
#include "jit/base/status.h"
#include "jit/ops/contraction_axes.h"

namespace tektite::cpu {
namespace {

using ir::Dim;
using ir::Node;

// Beside that code, where the number of rows is not known, code for one.
absl::StatusOr<EmittedKernel> KernelOf(const ContractionCode& tiles, const Node& fusion,
                                       const target::Schedule& schedule, const Target& target,
                                       const std::string& name) {
  const Node& root = *ops::FindContraction(fusion.region());
  EmittedKernel result;
  result.in_place = EpilogueInPlace(fusion.region(), root);
  result.kernel = MakeKernel(fusion, name, result.in_place);
  result.num_chunks = tiles.num_chunks;
  result.cost = tiles.cost;
  loop::Builder b(result.kernel.get());
  if (schedule.blocks.row_vectors == 0) {
    TEKTITE_RETURN_IF_ERROR(tiles.emit(b));
    return result;
  }
  TEKTITE_ASSIGN_OR_RETURN(const ContractionCode row, CodeForOneRow(fusion, schedule, target));
  const Dim rows = SizeOf(ops::GetDotAxes(root).m);
  const Dim several = Min(Max(rows - Dim(1), 0), 1);  // 0 or 1
  result.num_chunks = row.num_chunks + several * (tiles.num_chunks - row.num_chunks);
  result.cost = row.cost + several * (tiles.cost - row.cost);
  absl::Status of_row, of_tiles;
  b.If(
      b.Compare("eq", b.Index(rows), b.Index(1)), [&] { of_row = row.emit(b); },
      [&] { of_tiles = tiles.emit(b); });
  TEKTITE_RETURN_IF_ERROR(of_row);
  TEKTITE_RETURN_IF_ERROR(of_tiles);
  return result;
}

}  // namespace

absl::StatusOr<EmittedKernel> EmitTiles(const Node& fusion, const target::Schedule& schedule,
                                        const Target& target, const std::string& name) {
  TEKTITE_ASSIGN_OR_RETURN(const ContractionCode code, CodeForTiles(fusion, schedule, target));
  return KernelOf(code, fusion, schedule, target, name);
}

absl::StatusOr<EmittedKernel> EmitPairs(const Node& fusion, const target::Schedule& schedule,
                                        const Target& target, const std::string& name) {
  TEKTITE_ASSIGN_OR_RETURN(const ContractionCode code, CodeForPairs(fusion, schedule, target));
  return KernelOf(code, fusion, schedule, target, name);
}

}  // namespace tektite::cpu
