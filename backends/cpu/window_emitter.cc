// reduce_window (pooling): vectors run along the innermost dimension when the window leaves it
// alone, otherwise elements are computed one by one.  Window positions in the padding are never
// visited.

#include <algorithm>
#include <functional>

#include "backends/cpu/kernel_emitters.h"
#include "backends/cpu/reduction.h"
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

const Node* FindWindow(const ir::Graph& region) {
  for (const auto& node : region.nodes()) {
    if (node->op() == Op::kReduceWindow) return node.get();
  }
  return nullptr;
}

int64_t Pick(const std::vector<int64_t>& v, size_t i, int64_t otherwise) {
  return v.empty() ? otherwise : v[i];
}

// For all values of the symbols, as far as the difference tells.
bool IsAtMost(const Dim& a, const Dim& b) { return (a - b).value_or(1) <= 0; }

}  // namespace

absl::StatusOr<EmittedKernel> EmitWindow(const Node& fusion, const Target& target,
                                         const std::string& name) {
  const ir::Graph& region = fusion.region();
  const Node* root = FindWindow(region);
  if (root == nullptr) return Unimplemented("a window fusion without reduce_window");
  const int rank = root->shape().rank();
  const ops::WindowDims window = ops::GetWindowDims(rank, root->attrs());
  for (int i = 0; i < rank; ++i) {
    if (Pick(window.lhs_dilation, i, 1) != 1) {
      return Unimplemented(root->Describe(), ": dilated input");
    }
  }
  if (rank == 0) return Unimplemented(root->Describe(), ": a scalar");
  const Dims &in = root->operand_shape(0).dims(), &out = root->shape().dims();
  for (ir::Value v : region.outputs()) {
    if (v.shape().NumElements() != root->shape().NumElements()) {
      return Unimplemented(root->Describe(), ": results of different shapes");
    }
  }
  EmittedKernel result;
  result.kernel = MakeKernel(fusion, name);
  const double positions = static_cast<double>(ir::Product(window.window));
  const bool vectorized = window.window.back() == 1 && Pick(window.strides, rank - 1, 1) == 1 &&
                          Pick(window.low, rank - 1, 0) == 0 && IsAtMost(out.back(), in.back());
  const int lanes = vectorized ? RegionLanes(region, target) : 1;
  result.cost =
      ElementwiseCost(region, target) + Cost(root->shape().NumElements(), positions * 0.3 / lanes);
  const Dims outer(out.begin(), out.end() - 1);
  const Dim units = out.back() == Dim(0) ? Dim(0) : Product(outer);
  const Dim per_chunk = UnitsPerChunk(units, result.cost);
  result.num_chunks = CeilDiv(units, per_chunk);

  loop::Builder b(result.kernel.get());
  absl::Status status;
  ForEachUnit(b, units, per_chunk, [&](Value unit) {
    std::vector<Value> row = Delinearize(b, unit, outer);
    auto column = [&](Value at, Value mask) {
      ElementEmitter e(&b, lanes);
      BindParameters(e, region);
      e.SetMask(mask);
      Reduction reduction(&b, root->String(Attr::reducer), root->shape().dtype(), lanes);
      std::vector<Value> index = row;
      index.push_back(at);
      std::function<Value(int, Indices, Value)> nest = [&](int d, Indices from,
                                                           Value acc) -> Value {
        if (d == rank) {
          e.Clear();
          Value x =
              lanes > 1 ? e.EmitVector(root->operand(0), from) : e.Emit(root->operand(0), from);
          return reduction.Combine(acc, x, {});
        }
        const int64_t size = window.window[d], stride = Pick(window.strides, d, 1);
        const int64_t low = Pick(window.low, d, 0), dilation = Pick(window.window_dilation, d, 1);
        const int64_t coefficient = d == rank - 1 && lanes > 1 ? 1 : 0;
        Value start = b.Sub(b.Mul(index[d], b.Index(stride)), b.Index(low));
        const Dim read = (out[d] - Dim(1)) * Dim(stride) + Dim(1);
        if (size == 1 && low == 0 && (out[d] == Dim(0) || IsAtMost(read, in[d]))) {
          Indices next = from;
          next.push_back(At(start, coefficient));
          return nest(d + 1, next, acc);
        }
        // Positions p with 0 <= start + p * dilation < in[d].
        auto steps = [&](Value distance) {
          return b.Div(b.Add(b.Max(distance, b.Index(0)), b.Index(dilation - 1)),
                       b.Index(dilation));
        };
        Value begin = b.Min(steps(b.Sub(b.Index(0), start)), b.Index(size));
        Value end = b.Min(steps(b.Sub(b.Index(in[d]), start)), b.Index(size));
        return b.For(begin, end, 1, {acc}, [&](Value p, absl::Span<const Value> carried) {
          Indices next = from;
          next.push_back(At(b.Add(start, b.Mul(p, b.Index(dilation))), coefficient));
          return std::vector<Value>{nest(d + 1, next, carried[0])};
        })[0];
      };
      Value total = reduction.Narrow(nest(0, {}, reduction.Identity(lanes)));
      e.Clear();
      e.BindValue(ir::Value{const_cast<Node*>(root), 0}, total);
      for (const ir::Use& use : root->uses()) {
        if (use.user->op() == Op::kReshape) e.BindValue(use.user->result(), total);
      }
      for (size_t o = 0; o < region.outputs().size(); ++o) {
        ir::Value v = region.outputs()[o];
        // The epilogue's space has no dimensions of size 1, unless nothing was collapsed.
        Indices to;
        const bool same = v.shape().dims() == out;
        for (int d = 0; d < rank; ++d) {
          if (same || out[d] != Dim(1))
            to.push_back(At(index[d], d == rank - 1 && lanes > 1 ? 1 : 0));
        }
        e.StoreAt(b.Buffer(region.num_parameters() + static_cast<int>(o)), v.shape(), to,
                  e.Emit(v, to));
      }
      if (status.ok()) status = e.status();
    };
    if (lanes > 1) {
      ForEachVector(b, out.back(), lanes, column);
    } else {
      b.For(b.Index(0), b.Index(out.back()), 1, [&](Value at) { column(at, {}); });
    }
  });
  TEKTITE_RETURN_IF_ERROR(status);
  return result;
}

}  // namespace tektite::cpu
