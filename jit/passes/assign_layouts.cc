// assign_layouts: packs the weights of contractions into the panels the back end's inner loop
// reads.
//
//   before  fusion(%x, %w: f32[k,n]) {kind = contraction}
//   after   %p: f32[ceil(n/width),k,width] = fusion(%w) {kind = loop}
//           fusion(%x, %p) {kind = contraction, rhs_packed = width}
//
// A back end may want neighbouring k side by side: panels are [ceil(n/width),pairs,width,2] then,
// or fours of k, with zeros behind the last one.
//
// Where the epilogue reads the columns in groups (jit/ir/column_groups.h), they are packed in
// another order: those that a panel has of each group, group after group.
//
// Inside the contraction's region the panels are turned back into the plain matrix, so that the
// region still defines the computation; a back end that knows `rhs_packed` reads the panels as they
// are.  A product of few rows reads weights once in a call, where they lie, and packing pays only
// if many calls find them unchanged.  Its kernel reads both, and its region ignores the panels:
//
//   after   %p: f32[ceil(n/width),k,width] = fusion(%w) {kind = loop, deferred = true}
//           fusion(%x, %w, %p) {kind = contraction, rhs_panels = width}
//
// The runtime packs them when it has the time (jit/runtime/weights/late_packing.h), and until then
// the last operand is %w once more.
//
// Where it multiplies f32 as two bf16 (RhsLayout::halves), both lie in one panel, and the region
// adds them up.
//
// Bytes of numbers that lie within 16 are two to a byte where the schedule says so
// (jit/passes/nibbles.h): `rhs_nibbles` is the number of rows.
//
// Only weights are packed here: the packing fusion depends on weights alone, so the runtime
// runs it once per set of weights.  A right-hand side that changes with every call is packed, where
// that pays, inside the kernel.

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"
#include "jit/ir/column_groups.h"
#include "jit/ops/builder.h"
#include "jit/ops/filter_gradient.h"
#include "jit/ops/ops.h"
#include "jit/passes/names.h"
#include "jit/passes/nibbles.h"
#include "jit/passes/pass.h"
#include "jit/passes/weight_layout.h"
#include "jit/target/schedules.h"

namespace tektite::passes {
namespace {

using target::RhsLayout;

// [k, n] with columns [outer, inner, step] -> the same with columns [inner, outer, step].
Value SwapColumns(ops::FuncBuilder& b, Value v, int64_t outer, int64_t inner) {
  const Dim k = v.shape().dim(0), n = v.shape().dim(1);
  v = b.Reshape(v, {k, Dim(outer), Dim(inner), Dim(n.value() / (outer * inner))});
  return b.Reshape(b.Transpose(v, {0, 2, 1, 3}), {k, n});
}

// Two of bf16 whose sum is `v`, of f32, but for its last bits.  Where bf16 is infinite or NaN, the
// second one is that, and the first one 1 with its sign:
// backends/cpu/contraction/pairs/pair_tiling.h.
std::array<Value, 2> SplitInHalves(ops::FuncBuilder& b, Value v) {
  const Dims& dims = v.shape().dims();
  const auto all = [&](double x) { return b.Full(DType::kF32, x, dims); };
  const Value rest = b.Sub(v, b.Convert(b.Convert(v, DType::kBF16), DType::kF32));
  const Value is_finite = b.Unary(Op::kIsFinite, rest);
  const Value plus = all(1), minus = all(-1), zero = all(0);
  const Value one = b.Select(b.Compare(v, zero, "lt"), minus, plus);
  const Value first = b.Convert(b.Select(is_finite, v, one), DType::kBF16);
  return {first, b.Convert(b.Select(is_finite, rest, v), DType::kBF16)};
}

// [k, n] -> [ceil(n / width), k, width] or [ceil(n / width), words, width, 2 or 4], zero-padded.
Value PackPanels(ops::FuncBuilder& b, Value rhs, const MatrixView& view, const RhsLayout& layout,
                 int64_t groups) {
  const int64_t width = layout.columns, words = layout.words();
  Value v = b.Transpose(rhs, view.permutation);
  int64_t k = 1, n = 1;
  for (int i = 0; i < v.shape().rank(); ++i) {
    (i < view.k_dims ? k : n) *= v.shape().dim(i).value();
  }
  const int64_t panels = CeilDiv(n, width);
  v = b.Reshape(v, {Dim(k), Dim(n)});
  if (groups > 1) v = SwapColumns(b, v, groups, panels);
  const int64_t more_k = words > 0 ? words * layout.word() - k : 0, more_n = panels * width - n;
  if (more_k + more_n > 0) v = b.Pad(v, b.Scalar(v.dtype(), 0), {0, 0}, {more_k, more_n});
  if (words > 0) {
    const auto in_words = [&](Value x) {
      x = b.Reshape(x, {Dim(words), Dim(layout.word()), Dim(panels), Dim(width)});
      return b.Transpose(x, {2, 0, 3, 1});
    };
    if (layout.halves == 0) return in_words(v);
    const auto [first, second] = SplitInHalves(b, v);
    const Value first_words = in_words(first), second_words = in_words(second);
    return b.Concatenate({first_words, second_words}, 1);
  }
  v = b.Reshape(v, {Dim(k), Dim(panels), Dim(width)});
  return b.Transpose(v, {1, 0, 2});
}

// The inverse.
Value UnpackPanels(ops::FuncBuilder& b, Value packed, const Shape& original, const MatrixView& view,
                   const RhsLayout& layout, int64_t groups) {
  Dims permuted;
  std::vector<int64_t> inverse(view.permutation.size());
  int64_t k = 1, n = 1;
  for (size_t i = 0; i < view.permutation.size(); ++i) {
    permuted.push_back(original.dim(static_cast<int>(view.permutation[i])));
    inverse[view.permutation[i]] = static_cast<int64_t>(i);
    (static_cast<int>(i) < view.k_dims ? k : n) *= permuted.back().value();
  }
  const int64_t panels = packed.shape().dim(0).value();
  Value v;
  if (layout.halves > 0) {
    const auto half = [&](int64_t first) {
      return b.Convert(b.SliceDim(packed, 1, first, first + layout.words()), original.dtype());
    };
    const Value first = half(0), second = half(layout.words());
    packed = b.Add(first, second);
  }
  if (packed.shape().rank() == 4) {
    v = b.Transpose(packed, {1, 3, 0, 2});
    v = b.Reshape(v, {v.shape().dim(0) * v.shape().dim(1), v.shape().dim(2) * v.shape().dim(3)});
    if (v.shape().dim(0) != Dim(k)) v = b.SliceDim(v, 0, Dim(0), Dim(k));
  } else {
    v = b.Transpose(packed, {1, 0, 2});
    v = b.Reshape(v, {Dim(k), v.shape().dim(1) * v.shape().dim(2)});
  }
  if (v.shape().dim(1) != Dim(n)) v = b.SliceDim(v, 1, Dim(0), Dim(n));
  if (groups > 1) v = SwapColumns(b, v, panels, groups);
  return b.Transpose(b.Reshape(v, permuted), inverse);
}

// Weights that are packed already: the steps of an unrolled recurrent layer read the same ones.
struct Packed {
  Value weights;
  std::vector<int64_t> permutation;
  int k_dims = 0;
  RhsLayout layout;
  int64_t groups = 1;
  Value result;
};

absl::StatusOr<Value> PackWeights(Graph& graph, Node* fusion, Value weights,
                                  const std::string& name, const MatrixView& view,
                                  const RhsLayout& layout, int64_t groups,
                                  std::vector<Packed>* packed) {
  for (const Packed& p : *packed) {
    if (p.weights == weights && p.permutation == view.permutation && p.k_dims == view.k_dims &&
        p.layout == layout && p.groups == groups) {
      return p.result;
    }
  }
  auto pack = std::make_unique<Graph>("pack");
  const Value x = pack->AddParameter(weights.shape(), name);
  ops::FuncBuilder b(pack.get(), nullptr);
  const Value result = PackPanels(b, x, view, layout, groups);
  TEKTITE_RETURN_IF_ERROR(b.status());
  pack->SetOutputs({result});
  Node* packing =
      graph.AppendFusion({weights}, {{Attr::kind, ir::FusionKind::kLoop}}, std::move(pack), fusion);
  packing->set_name(fusion->name() + "/pack");
  if (layout.later) packing->attrs().Set(Attr::deferred, true);
  packed->push_back({weights, view.permutation, view.k_dims, layout, groups, packing->result()});
  return packing->result();
}

absl::Status PackRhs(Graph& graph, Node* fusion, const RhsLayout& layout,
                     std::vector<Packed>* packed) {
  Graph& region = fusion->region();
  Node* root = ops::FindContraction(region);
  const Value rhs = root->operand(1);
  const MatrixView view = RhsAsMatrix(*root);
  const int operand = static_cast<int>(rhs.node->Int(Attr::index));
  const Shape original = rhs.shape();
  const int64_t groups = ir::ColumnGroupsOf(*root).count;

  TEKTITE_ASSIGN_OR_RETURN(const Value packing,
                           PackWeights(graph, fusion, fusion->operand(operand), rhs.node->name(),
                                       view, layout, groups, packed));
  if (layout.later) {
    region.AddParameter(packing.shape(), rhs.node->name() + "_panels");
    fusion->AddOperand(packing);
    fusion->attrs().Set(Attr::rhs_panels, layout.columns);
    return absl::OkStatus();
  }
  rhs.node->set_shape(0, packing.shape());
  ops::FuncBuilder inside(&region, root);
  Value unpacked = UnpackPanels(inside, rhs, original, view, layout, groups);
  TEKTITE_RETURN_IF_ERROR(inside.status());
  root->SetOperand(1, unpacked);
  fusion->SetOperand(operand, packing);
  fusion->attrs().Set(Attr::rhs_packed, layout.columns);
  return absl::OkStatus();
}

absl::Status PackRhsInNibbles(Graph& graph, Node* fusion, const RhsLayout& layout) {
  Graph& region = fusion->region();
  Node* const root = ops::FindContraction(region);
  Node* const rhs = root->operand(1).node;
  const auto operand = static_cast<int>(rhs->Int(Attr::index));
  const Dim columns = rhs->shape().dim(2);
  TEKTITE_ASSIGN_OR_RETURN(const Value packed,
                           PackNibbles(graph, fusion->operand(operand), layout.columns, fusion));
  rhs->set_shape(0, packed.shape());
  ops::FuncBuilder inside(&region, root);
  const Value unpacked = UnpackNibbles(inside, rhs->result(), columns);
  TEKTITE_RETURN_IF_ERROR(inside.status());
  root->SetOperand(1, unpacked);
  fusion->SetOperand(operand, packed);
  fusion->attrs().Set(Attr::rhs_nibbles, layout.nibbles);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> AssignLayouts(Graph& graph, PassContext& context) {
  bool changed = false;
  std::vector<Packed> packed_weights;
  for (Node* fusion : graph.NodeList()) {
    if (!fusion->IsFusion(ir::FusionKind::kContraction)) continue;
    if (fusion->attrs().Has(Attr::rhs_packed) || fusion->attrs().Has(Attr::rhs_panels)) continue;
    if (!fusion->attrs().Has(Attr::schedule)) continue;
    TEKTITE_ASSIGN_OR_RETURN(const target::Schedule schedule,
                             target::Schedule::Parse(fusion->String(Attr::schedule)));
    const RhsLayout& layout = schedule.rhs;
    if (layout.columns == 0) continue;
    if (layout.nibbles > 0) {
      if (fusion->attrs().Has(Attr::rhs_nibbles)) continue;
      TEKTITE_RETURN_IF_ERROR(PackRhsInNibbles(graph, fusion, layout));
      changed = true;
      continue;
    }
    if (!PackableRhs(*fusion))
      return InvalidArgument(fusion->Describe(), ": its right-hand side cannot be packed");
    TEKTITE_RETURN_IF_ERROR(PackRhs(graph, fusion, layout, &packed_weights));
    if (layout.halves > 0) ++context.bf16_products;
    changed = true;
  }
  return changed;
}

}  // namespace tektite::passes
