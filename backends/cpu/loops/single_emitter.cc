// Ops that make a kernel of their own: cumulative, reductions by a region; scatter_emitter.h has
// more.
//
// cumulative carries a vector of running values along its dimension, for neighbouring columns at
// once.  A reduction by a region (argmax) does the same with every value of the region; over the
// innermost dimension it goes element by element.
// Limits: one op per fusion; no sort or top_k.

#include "absl/algorithm/container.h"
#include "backends/cpu/emit/emitter.h"
#include "backends/cpu/emit/names.h"
#include "backends/cpu/loops/loop_emitters.h"
#include "backends/cpu/loops/reduction.h"
#include "backends/cpu/loops/scatter_emitter.h"
#include "jit/base/status.h"
#include "jit/ops/ops.h"

namespace tektite::cpu {
namespace {

// The one op that computes; null when there are several.
const Node* OnlyOp(const ir::Graph& region) {
  const Node* only = nullptr;
  for (const auto& node : region.nodes()) {
    switch (node->op()) {
      case Op::kParameter:
      case Op::kConstant:
      case Op::kBroadcastInDim:
      case Op::kIota:
        continue;
      default:
        if (only != nullptr) return nullptr;
        only = node.get();
    }
  }
  return only;
}

EmittedKernel NewKernel(const Node& fusion, const Target& target, const std::string& name) {
  EmittedKernel result;
  result.kernel = MakeKernel(fusion, name);
  result.cost = ElementwiseCost(fusion.region(), target);
  return result;
}

absl::StatusOr<EmittedKernel> EmitCumulative(const Node& fusion, const Node& root,
                                             const Target& target, const std::string& name) {
  const ir::Graph& region = fusion.region();
  EmittedKernel result = NewKernel(fusion, target, name);
  const Dims& sizes = root.shape().dims();
  const int64_t d = root.Int(Attr::dimension);
  const Dim& length = sizes[d];
  const bool exclusive = root.Bool(Attr::exclusive), reverse = root.Bool(Attr::reverse);
  const bool columns = d + 1 < static_cast<int64_t>(sizes.size());
  const int lanes = columns && sizes.back().value_or(2) > 1 ? RegionLanes(region, target) : 1;
  // Units: everything but the dimension itself, the last in vectors.
  Dims outer = sizes;
  outer[d] = 1;
  const Dim inner = columns ? outer.back() : Dim(1);
  if (columns) outer.back() = CeilDiv(inner, lanes);
  const Dim units = Product(outer);
  result.cost = result.cost + Cost(units * length, target.ns(6));
  const Dim per_chunk = UnitsPerChunk(units, result.cost);
  result.num_chunks = CeilDiv(units, per_chunk);

  loop::Builder b(result.kernel.get());
  ElementEmitter e(&b, lanes);
  BindParameters(e, region);
  ForEachUnit(b, units, per_chunk, [&](Value unit) {
    std::vector<Value> index = Delinearize(b, unit, outer);
    Value mask;
    if (lanes > 1) {
      Value first = b.Mul(index.back(), b.Index(lanes));
      index.back() = first;
      if (Mod(inner, lanes) != Dim(0)) mask = b.MaskUpTo(b.Sub(b.Index(inner), first), lanes);
    }
    Reduction running(&b, root.String(Attr::reducer), root.shape().dtype(), lanes);
    b.For(b.Index(0), b.Index(length), 1, {running.Identity(lanes)},
          [&](Value k, absl::Span<const Value> carried) {
            e.Clear();
            e.SetMask(mask);
            Indices at;
            for (Value v : index) at.push_back(At(v));
            at[d] = At(reverse ? b.Sub(b.Index(length - Dim(1)), k) : k);
            if (lanes > 1) at.back().coefficient = 1;
            Value x = lanes > 1 ? e.EmitVector(root.operand(0), at) : e.Emit(root.operand(0), at);
            Value next = running.Combine(carried[0], x, {});
            e.StoreAt(b.Buffer(OutputBuffer(region, 0)), root.shape(), at,
                      running.Narrow(exclusive ? carried[0] : next));
            return std::vector<Value>{next};
          });
  });
  TEKTITE_RETURN_IF_ERROR(e.status());
  return result;
}

absl::StatusOr<EmittedKernel> EmitRegionReduce(const Node& fusion, const Node& root,
                                               const Target& target, const std::string& name) {
  const ir::Graph& region = fusion.region();
  const ir::Graph& step = root.region();
  EmittedKernel result = NewKernel(fusion, target, name);
  const int count = root.num_operands() / 2;
  const Dims& space = root.operand_shape(0).dims();
  const auto is_reduced = [&](size_t d) {
    return absl::c_linear_search(root.Ints(Attr::dimensions), static_cast<int64_t>(d));
  };
  Dims kept_sizes, reduced_sizes;
  for (size_t i = 0; i < space.size(); ++i) {
    (is_reduced(i) ? reduced_sizes : kept_sizes).push_back(space[i]);
  }
  const bool inner_kept = !space.empty() && !is_reduced(space.size() - 1);
  const int lanes = inner_kept && kept_sizes.back().value_or(2) > 1 ? target.lanes(8) : 1;
  Dims outer = kept_sizes;
  const Dim inner = inner_kept ? outer.back() : Dim(1);
  if (inner_kept) outer.back() = CeilDiv(inner, lanes);
  const Dim units = Product(outer);
  result.cost = result.cost + Cost(units * Product(reduced_sizes), target.ns(8));
  const Dim per_chunk = UnitsPerChunk(units, result.cost);
  result.num_chunks = CeilDiv(units, per_chunk);

  loop::Builder b(result.kernel.get());
  ElementEmitter e(&b, lanes), inside(&b, lanes);
  BindParameters(e, region);
  ForEachUnit(b, units, per_chunk, [&](Value unit) {
    e.Clear();
    std::vector<Value> index = Delinearize(b, unit, outer);
    Value mask;
    if (lanes > 1) {
      Value first = b.Mul(index.back(), b.Index(lanes));
      index.back() = first;
      if (Mod(inner, lanes) != Dim(0)) mask = b.MaskUpTo(b.Sub(b.Index(inner), first), lanes);
    }
    Indices kept;
    for (Value v : index) kept.push_back(At(v));
    if (lanes > 1) kept.back().coefficient = 1;
    std::vector<Value> state;
    for (int i = 0; i < count; ++i) state.push_back(e.EmitVector(root.operand(count + i), {}));
    state = NestLoops(b, reduced_sizes, std::move(state),
                      [&](const std::vector<Value>& loops, std::vector<Value> s) {
                        Indices inner_at;
                        for (Value i : loops) inner_at.push_back(At(i));
                        Indices at;
                        size_t k = 0, r = 0;
                        for (size_t i = 0; i < space.size(); ++i) {
                          at.push_back(is_reduced(i) ? inner_at[r++] : kept[k++]);
                        }
                        e.Clear();
                        e.SetMask(mask);
                        inside.Clear();
                        for (int i = 0; i < count; ++i) {
                          inside.BindValue(step.parameter(i)->result(), s[i]);
                          inside.BindValue(step.parameter(count + i)->result(),
                                           e.EmitVector(root.operand(i), at));
                        }
                        std::vector<Value> next;
                        for (ir::Value v : step.outputs()) next.push_back(inside.EmitVector(v, {}));
                        return next;
                      });
    e.SetMask(mask);
    for (size_t o = 0; o < region.outputs().size(); ++o) {
      const ir::Value v = region.outputs()[o];
      e.StoreAt(b.Buffer(OutputBuffer(region, o)), v.shape(), kept, state[v.index]);
    }
  });
  TEKTITE_RETURN_IF_ERROR(e.status());
  TEKTITE_RETURN_IF_ERROR(inside.status());
  return result;
}

}  // namespace

absl::StatusOr<EmittedKernel> EmitSingle(const Node& fusion, const Target& target,
                                         const std::string& name) {
  const Node* root = OnlyOp(fusion.region());
  if (root == nullptr) return Unimplemented("several ops in a fusion for one");
  for (ir::Value v : fusion.region().outputs()) {
    if (v.node != root) return Unimplemented("a result that is not the op's");
  }
  switch (root->op()) {
    case Op::kCumulative:
      return EmitCumulative(fusion, *root, target, name);
    case Op::kReduce:
      if (root->num_regions() == 1) return EmitRegionReduce(fusion, *root, target, name);
      break;
    case Op::kScatter:
      return EmitScatter(fusion, *root, target, name);
    case Op::kUpdateRows:
      return EmitUpdateRows(fusion, *root, target, name);
    default:
      break;
  }
  return Unimplemented("no cpu kernel for ", root->Describe());
}

}  // namespace tektite::cpu
