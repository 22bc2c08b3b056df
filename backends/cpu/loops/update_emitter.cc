// A dynamic_update_slice in place: the update's elements are computed and written where they
// belong, and nothing else is touched.

#include "backends/cpu/emit/emitter.h"
#include "backends/cpu/loops/loop_emitters.h"
#include "jit/base/status.h"
#include "jit/ir/in_place.h"

namespace tektite::cpu {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Node;
using loop::Value;

// The cost of computing and writing the update.
Dim UpdateCost(const ir::Graph& region, const Target& target) {
  const std::unique_ptr<ir::Graph> update = region.Clone();
  update->SetOutputs({update->outputs()[0].node->operand(1)});
  update->EraseDead();
  return ElementwiseCost(*update, target);
}

}  // namespace

absl::StatusOr<EmittedKernel> EmitUpdate(const Node& fusion, const Target& target,
                                         const std::string& name) {
  const int updated = ir::UpdatedOperand(fusion);
  if (updated < 0) return Unimplemented("no update in place");
  const ir::Graph& region = fusion.region();
  const Node& root = *region.outputs()[0].node;
  const Dims& sizes = root.operand_shape(1).dims();

  EmittedKernel result;
  result.in_place = {{updated, 0}};
  result.kernel = MakeKernel(fusion, name, result.in_place);
  result.cost = UpdateCost(region, target);
  Dims outer = sizes;
  const Dim inner = sizes.empty() ? Dim(1) : sizes.back();
  if (!outer.empty()) outer.pop_back();
  const Dim units = Product(outer);
  const Dim per_chunk = UnitsPerChunk(units, result.cost);
  result.num_chunks = CeilDiv(units, per_chunk);

  loop::Builder b(result.kernel.get());
  const int lanes = RegionLanes(region, target);
  absl::Status status;
  ForEachUnit(b, units, per_chunk, [&](Value unit) {
    ElementEmitter e(&b, lanes);
    BindParameters(e, region);
    Indices row;
    for (Value v : Delinearize(b, unit, outer)) row.push_back(At(v));
    ForEachVector(b, inner, lanes, [&](Value at, Value mask) {
      e.Clear();
      e.SetMask(mask);
      Indices index = row;
      if (!sizes.empty()) index.push_back(At(at, 1));
      const Value value = e.Emit(root.operand(1), index);
      e.StoreAt(b.Buffer(region.num_parameters()), root.shape(), e.UpdatedAt(root, index), value);
    });
    if (status.ok()) status = e.status();
  });
  TEKTITE_RETURN_IF_ERROR(status);
  return result;
}

}  // namespace tektite::cpu
