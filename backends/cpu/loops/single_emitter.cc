// Ops that make a kernel of their own: cumulative, reductions by a region, scatter.
//
// cumulative carries a vector of running values along its dimension, for neighbouring columns at
// once.  A reduction by a region (argmax) does the same with every value of the region; over the
// innermost dimension it goes element by element.  scatter copies its operand, or fills its result
// with one value, and then applies the updates in their order, since two of them may meet: each
// chunk those of its own rows of the result.
// Limits: one op per fusion; no sort or top_k.

#include <algorithm>
#include <functional>

#include "backends/cpu/emit/emitter.h"
#include "backends/cpu/loops/loop_emitters.h"
#include "backends/cpu/loops/reduction.h"
#include "jit/base/status.h"
#include "jit/ops/ops.h"

namespace tektite::cpu {
namespace {

using ir::Attr;
using ir::Dim;
using ir::Dims;
using ir::Node;
using ir::Op;
using loop::Value;

// Each chunk of a scatter looks at all indices, so there are few, and long ones.
constexpr int64_t kScatterChunks = 8;
constexpr double kScatterNs = 20000;

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

int OutputBuffer(const ir::Graph& region, size_t output) {
  return region.num_parameters() + static_cast<int>(output);
}

EmittedKernel NewKernel(const Node& fusion, const Target& target, const std::string& name) {
  EmittedKernel result;
  result.kernel = MakeKernel(fusion, name);
  result.cost = ElementwiseCost(fusion.region(), target);
  return result;
}

bool Contains(const std::vector<int64_t>& values, int64_t v) {
  return std::find(values.begin(), values.end(), v) != values.end();
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
  const auto& reduced = root.Ints(Attr::dimensions);
  Dims kept_sizes, reduced_sizes;
  for (size_t i = 0; i < space.size(); ++i) {
    (Contains(reduced, static_cast<int64_t>(i)) ? reduced_sizes : kept_sizes).push_back(space[i]);
  }
  const bool inner_kept =
      !space.empty() && !Contains(reduced, static_cast<int64_t>(space.size()) - 1);
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
    state = NestLoops(
        b, reduced_sizes, std::move(state),
        [&](const std::vector<Value>& loops, std::vector<Value> s) {
          Indices inner_at;
          for (Value i : loops) inner_at.push_back(At(i));
          Indices at;
          size_t k = 0, r = 0;
          for (size_t i = 0; i < space.size(); ++i) {
            at.push_back(Contains(reduced, static_cast<int64_t>(i)) ? inner_at[r++] : kept[k++]);
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

absl::StatusOr<EmittedKernel> EmitScatter(const Node& fusion, const Node& root,
                                          const Target& target, const std::string& name) {
  const ir::Graph& region = fusion.region();
  const ir::Shape &shape = root.shape(), &indices = root.operand_shape(1),
                  &updates = root.operand_shape(2);
  const auto& offset_dims = root.Ints(Attr::offset_dims);
  const auto& collapsed = root.Ints(Attr::collapsed_slice_dims);
  const auto& map = root.Ints(Attr::scatter_dims_to_operand_dims);
  const int64_t vector_dim = root.Int(Attr::index_vector_dim);
  const std::string& reducer = root.String(Attr::reducer);
  const Node* operand = root.operand(0).node;
  if (operand->op() != Op::kParameter &&
      (operand->op() != Op::kBroadcastInDim || operand->operand_shape(0).NumElements() != Dim(1))) {
    return Unimplemented(root.Describe(), ": the operand is not in memory");
  }
  EmittedKernel result = NewKernel(fusion, target, name);
  result.cost = result.cost + Cost(updates.NumElements(), target.ns(4));

  // Dimensions of a window, in the operand's order: the size and the update's dimension.
  Dims window(shape.rank(), Dim(1));
  std::vector<int> update_dim(shape.rank(), -1);
  size_t next_offset = 0;
  for (int d = 0; d < shape.rank(); ++d) {
    if (Contains(collapsed, d)) continue;
    update_dim[d] = static_cast<int>(offset_dims[next_offset++]);
    window[d] = updates.dim(update_dim[d]);
  }
  const int last = shape.rank() - 1;
  const bool along_rows = last >= 0 && update_dim[last] == updates.rank() - 1 &&
                          updates.rank() > 0 && window[last].value_or(2) > 1;
  const int lanes = along_rows ? RegionLanes(region, target) : 1;

  // Rows of the result are shared out where each update has one of them.
  const bool by_rows = Contains(map, 0) && update_dim[0] < 0;
  const Dim rows = by_rows ? shape.dim(0) : Dim(1);
  const Dim row_cost = Max(FloorDiv(result.cost, Max(rows, 1)), 1);
  const Dim per_chunk =
      by_rows ? Max(CeilDiv(rows, kScatterChunks), FloorDiv(Cost(1, kScatterNs), row_cost))
              : Dim(1);
  const Dim units = rows * Min(shape.NumElements(), 1);
  result.num_chunks = CeilDiv(units, per_chunk);

  loop::Builder b(result.kernel.get());
  ElementEmitter e(&b, lanes);
  BindParameters(e, region);
  Value to = b.Buffer(OutputBuffer(region, 0));
  const Units own = UnitsOfCall(b, units, per_chunk);
  b.If(b.Compare("lt", own.begin, own.end), [&] {
    const Dim row_elements =
        by_rows ? Product(Dims(shape.dims().begin() + 1, shape.dims().end())) : shape.NumElements();
    Value from_element = b.Mul(own.begin, b.Index(row_elements));
    Value to_element = b.Mul(own.end, b.Index(row_elements));
    if (operand->op() == Op::kParameter) {
      Value from = b.Buffer(static_cast<int>(operand->Int(Attr::index)));
      b.Copy(b.Offset(to, shape.dtype(), from_element), b.Offset(from, shape.dtype(), from_element),
             b.Mul(b.Sub(to_element, from_element), b.Index(ir::DTypeBytes(shape.dtype()))));
    } else {
      const Indices origin(operand->operand_shape(0).rank(), At(b.Index(0)));
      Value one = e.Emit(operand->operand(0), origin);
      Value whole = b.Sub(to_element, b.Rem(b.Sub(to_element, from_element), b.Index(lanes)));
      b.For(from_element, whole, lanes, [&](Value i) { b.Store(to, i, b.Splat(one, lanes)); });
      b.For(whole, to_element, 1, [&](Value i) { b.Store(to, i, one); });
    }
    Indices at(updates.rank());
    auto apply = [&](const std::vector<Value>& starts, Value mask) {
      e.Clear();
      e.SetMask(mask);
      Indices target_at;
      for (int d = 0; d < shape.rank(); ++d) {
        LaneIndex index = update_dim[d] < 0 ? At(b.Index(0)) : at[update_dim[d]];
        index.base = b.Add(index.base, starts[d]);
        target_at.push_back(index);
      }
      Value update = lanes > 1 ? e.EmitVector(root.operand(2), at) : e.Emit(root.operand(2), at);
      if (reducer != "replace") {
        Value old = e.LoadAt(to, shape, target_at);
        Reduction combine(&b, reducer, shape.dtype(), lanes);
        if (update.dtype() != combine.Identity(lanes).dtype()) {
          old = b.Convert(old, combine.Identity(lanes).dtype());
        }
        update = combine.Narrow(combine.Combine(old, update, {}));
      }
      e.StoreAt(to, shape, target_at, update);
    };
    std::function<void(int, const std::vector<Value>&)> in_window =
        [&](int d, const std::vector<Value>& starts) {
          if (d == shape.rank()) return apply(starts, {});
          if (update_dim[d] < 0) return in_window(d + 1, starts);
          if (d == last && lanes > 1) {
            return ForEachVector(b, window[d], lanes, [&](Value i, Value mask) {
              at[update_dim[d]] = At(i, 1);
              apply(starts, mask);
            });
          }
          b.For(b.Index(0), b.Index(window[d]), 1, [&](Value i) {
            at[update_dim[d]] = At(i);
            in_window(d + 1, starts);
          });
        };
    std::function<void(int)> in_batch = [&](int u) {
      while (u < updates.rank() && Contains(offset_dims, u)) ++u;
      if (u < updates.rank()) {
        return b.For(b.Index(0), b.Index(updates.dim(u)), 1, [&](Value i) {
          at[u] = At(i);
          in_batch(u + 1);
        });
      }
      Indices batch;
      for (int i = 0; i < updates.rank(); ++i) {
        if (!Contains(offset_dims, i)) batch.push_back(at[i]);
      }
      std::vector<Value> starts(shape.rank(), b.Index(0));
      Value fits = b.Int(ir::DType::kBool, 1);
      e.Clear();
      e.SetMask({});
      for (size_t m = 0; m < map.size(); ++m) {
        Indices from;
        size_t next = 0;
        for (int i = 0; i < indices.rank(); ++i) {
          from.push_back(i == vector_dim ? At(b.Index(static_cast<int64_t>(m))) : batch[next++]);
        }
        const int d = static_cast<int>(map[m]);
        Value start = b.Convert(e.Emit(root.operand(1), from), ir::DType::kS64);
        starts[d] = start;
        const bool own_rows = by_rows && d == 0;
        Value least = own_rows ? own.begin : b.Index(0);
        Value end = own_rows ? own.end : b.Index(shape.dim(d) - window[d] + Dim(1));
        fits = b.And(fits, b.Compare("ge", start, least));
        fits = b.And(fits, b.Compare("lt", start, end));
      }
      b.If(fits, [&] { in_window(0, starts); });
    };
    in_batch(0);
  });
  TEKTITE_RETURN_IF_ERROR(e.status());
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
    default:
      break;
  }
  return Unimplemented("no cpu kernel for ", root->Describe());
}

}  // namespace tektite::cpu
