#include "backends/cpu/loops/scatter_emitter.h"

#include <functional>
#include <vector>

#include "absl/algorithm/container.h"
#include "backends/cpu/emit/names.h"
#include "backends/cpu/loops/reduction.h"
#include "jit/base/status.h"
#include "jit/ops/ops.h"

namespace tektite::cpu {
namespace {

// Each chunk looks at all indices, so there are few, and long ones.
constexpr int64_t kMostChunks = 8;
constexpr double kChunkNs = 20000;

// The time of what comes to the updates: of all elements where the result is expected to be a copy.
Dim WholeCost(const Node& fusion, const Target& target) {
  return fusion.Bool(Attr::in_place) ? Dim(0) : ElementwiseCost(fusion.region(), target);
}

// Rows of the result in a chunk.
Dim RowsPerChunk(const Dim& rows, const Dim& cost) {
  const Dim chunks = Max(Min(FloorDiv(cost, Cost(1, kChunkNs)), kMostChunks), 1);
  return Max(CeilDiv(rows, chunks), 1);
}

// Elements [begin, end) of an operand's buffer into the result's, unless it is the same.
void CopyUnlessShared(loop::Builder& b, Value to, Value from, ir::DType dtype, Value begin,
                      Value end) {
  b.If(b.Compare("ne", to, from), [&] {
    b.Copy(b.Offset(to, dtype, begin), b.Offset(from, dtype, begin),
           b.Mul(b.Sub(end, begin), b.Index(ir::DTypeBytes(dtype))));
  });
}

}  // namespace

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
  EmittedKernel result;
  if (operand->op() == Op::kParameter) {
    result.in_place.push_back({static_cast<int>(operand->Int(Attr::index)), 0});
  }
  result.kernel = MakeKernel(fusion, name, result.in_place);

  // Dimensions of a window, in the operand's order: the size and the update's dimension.
  Dims window(shape.rank(), Dim(1));
  std::vector<int> update_dim(shape.rank(), -1);
  size_t next_offset = 0;
  for (int d = 0; d < shape.rank(); ++d) {
    if (absl::c_linear_search(collapsed, d)) continue;
    update_dim[d] = static_cast<int>(offset_dims[next_offset++]);
    window[d] = updates.dim(update_dim[d]);
  }
  const int last = shape.rank() - 1;
  const bool along_rows = last >= 0 && update_dim[last] == updates.rank() - 1 &&
                          updates.rank() > 0 && window[last].value_or(2) > 1;
  const int lanes = along_rows ? RegionLanes(region, target) : 1;

  result.cost =
      WholeCost(fusion, target) + Cost(updates.NumElements(), target.ns(lanes > 1 ? 0.8 : 4));

  // Rows of the result are shared out where each update has one of them.
  const bool by_rows = absl::c_linear_search(map, 0) && update_dim[0] < 0;
  const Dim rows = by_rows ? shape.dim(0) : Dim(1);
  const Dim per_chunk = by_rows ? RowsPerChunk(rows, result.cost) : Dim(1);
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
      CopyUnlessShared(b, to, from, shape.dtype(), from_element, to_element);
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
      while (u < updates.rank() && absl::c_linear_search(offset_dims, u)) ++u;
      if (u < updates.rank()) {
        return b.For(b.Index(0), b.Index(updates.dim(u)), 1, [&](Value i) {
          at[u] = At(i);
          in_batch(u + 1);
        });
      }
      Indices batch;
      for (int i = 0; i < updates.rank(); ++i) {
        if (!absl::c_linear_search(offset_dims, i)) batch.push_back(at[i]);
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

absl::StatusOr<EmittedKernel> EmitUpdateRows(const Node& fusion, const Node& root,
                                             const Target& target, const std::string& name) {
  const ir::Graph &region = fusion.region(), &rule = root.region();
  const int count = root.num_results();
  const ir::Shape& shape = root.shape();
  const Dim& rows = shape.dim(0);
  const bool is_matrix = shape.rank() > 1;
  const Dim width = is_matrix ? shape.dim(1) : Dim(1);
  const Dim& updates = root.operand_shape(count).dim(0);
  const int lanes = width.value_or(2) > 1 ? RegionLanes(rule, target) : 1;

  EmittedKernel result;
  std::vector<int> from(count), to(count, -1);  // buffers
  for (size_t o = 0; o < region.outputs().size(); ++o) {
    to[region.outputs()[o].index] = OutputBuffer(region, o);
  }
  for (int k = 0; k < count; ++k) {
    const Node* operand = root.operand(k).node;
    if (operand->op() != Op::kParameter) {
      return Unimplemented(root.Describe(), ": an operand is not in memory");
    }
    if (to[k] < 0) return Unimplemented(root.Describe(), ": a result that nothing reads");
    from[k] = static_cast<int>(operand->Int(Attr::index));
    result.in_place.push_back({from[k], to[k] - region.num_parameters()});
  }
  result.kernel = MakeKernel(fusion, name, result.in_place);
  result.cost = WholeCost(fusion, target) +
                updates * width * (ElementwiseCost(rule, target) + Cost(1, target.ns(0.8)));
  const Dim per_chunk = RowsPerChunk(rows, result.cost);
  result.num_chunks = CeilDiv(rows, per_chunk);

  loop::Builder b(result.kernel.get());
  ElementEmitter e(&b, lanes), inside(&b, lanes);
  BindParameters(e, region);
  // Binds what an update brings: scalars, and its row.
  const auto bind_others = [&](bool scalars, const Indices& at) {
    for (int i = count + 1; i < root.num_operands(); ++i) {
      if ((root.operand_shape(i).rank() == 0) != scalars) continue;
      inside.BindValue(rule.parameter(i - 1)->result(), e.EmitVector(root.operand(i), at));
    }
  };
  const Units own = UnitsOfCall(b, rows, per_chunk);
  b.If(b.Compare("lt", own.begin, own.end), [&] {
    for (int k = 0; k < count; ++k) {
      CopyUnlessShared(b, b.Buffer(to[k]), b.Buffer(from[k]), root.shape(k).dtype(),
                       b.Mul(own.begin, b.Index(width)), b.Mul(own.end, b.Index(width)));
    }
    bind_others(/*scalars=*/true, {});
    b.For(b.Index(0), b.Index(updates), 1, [&](Value i) {
      e.Clear();
      e.SetMask({});
      const Value row = b.Convert(e.Emit(root.operand(count), {At(i)}), ir::DType::kS64);
      const auto apply = [&](Value column, Value mask) {
        e.Clear();
        e.SetMask(mask);
        inside.Clear();
        Indices at = {At(row)}, update_at = {At(i)};
        if (is_matrix) {
          at.push_back(At(column, lanes > 1 ? 1 : 0));
          update_at.push_back(at.back());
        }
        for (int k = 0; k < count; ++k) {
          const Value old = e.LoadAt(b.Buffer(to[k]), root.shape(k), at);
          inside.BindValue(rule.parameter(k)->result(), old);
        }
        bind_others(/*scalars=*/false, update_at);
        std::vector<Value> next;
        for (ir::Value v : rule.outputs()) next.push_back(inside.EmitVector(v, {}));
        for (int k = 0; k < count; ++k) e.StoreAt(b.Buffer(to[k]), root.shape(k), at, next[k]);
      };
      b.If(b.And(b.Compare("ge", row, own.begin), b.Compare("lt", row, own.end)), [&] {
        if (lanes > 1) return ForEachVector(b, width, lanes, apply);
        b.For(b.Index(0), b.Index(width), 1, [&](Value column) { apply(column, {}); });
      });
    });
  });
  TEKTITE_RETURN_IF_ERROR(e.status());
  TEKTITE_RETURN_IF_ERROR(inside.status());
  return result;
}

}  // namespace tektite::cpu
