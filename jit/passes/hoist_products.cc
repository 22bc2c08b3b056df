// hoist_products: makes one product before a loop of those of its turns that read a row each.
//
//   before  body: %x1 = dynamic_slice(%x, %i, 0, 0) {sizes = (1, b, k)}
//                 %q = dot_general(reshape(%x1), %w)
//   after   body: %p = dot_general(%x, %w)                        // hoist_invariants moves it out
//                 %q = reshape(dynamic_slice(%p, %i, 0, 0) {sizes = (1, b, n)})
//
// %x and %w are the same in every turn.  A recurrent layer's inputs meet their weights so: a
// product of all steps' rows reads the weights once, and tiles where one of few rows streams.
//
// The rows are taken in turn: %i is carried, and each turn adds 1 to it or takes 1 off.  A loop
// that ends early has computed rows that it did not need.  Limits: a result of more than
// kMostBytesOfTurns stays as it is.

#include <algorithm>
#include "jit/base/status.h"
#include "jit/passes/names.h"

#include "jit/ir/control.h"
#include "jit/ops/builder.h"
#include "jit/ops/ops.h"
#include "jit/passes/loops/loop_nodes.h"
#include "jit/passes/pass.h"

namespace tektite::passes {
namespace {

// Each turn adds 1 to it, or takes 1 off.
bool IsCounter(const Node& loop, Value v) {
  if (v.node->op() != Op::kParameter) return false;
  const std::optional<int64_t> step = StepOf(loop, static_cast<int>(v.node->Int(Attr::index)));
  return step == 1 || step == -1;
}

// Row %i of an invariant, which the counter %i numbers: the first of its dimensions is cut to 1.
bool IsRowOfTurn(const Node& loop, const Node& slice) {
  if (slice.op() != Op::kDynamicSlice || !IsInvariantParameter(loop, slice.operand(0)))
    return false;
  const Dims &rows = slice.shape().dims(), &whole = slice.operand_shape(0).dims();
  if (rows.size() < 2 || rows[0] != Dim(1) || !IsCounter(loop, slice.operand(1))) return false;
  return std::equal(rows.begin() + 1, rows.end(), whole.begin() + 1);
}

Value ProductOfAll(ops::FuncBuilder& b, const Node& dot, const Node& slice, Value w) {
  ops::DotDims dims;
  // The row's own dimension is free, and comes first.
  const int shift = slice.shape().rank() - dot.operand_shape(0).rank();
  for (int64_t d : dot.Ints(Attr::lhs_contracting)) dims.lhs_contracting.push_back(d + shift);
  for (int64_t d : dot.Ints(Attr::rhs_contracting)) dims.rhs_contracting.push_back(d);
  return b.DotGeneral(slice.operand(0), w, dims);
}

bool HoistProduct(const Node& loop, Graph& body, Node* dot) {
  if (dot->op() != Op::kDotGeneral || !dot->Ints(Attr::lhs_batch).empty()) return false;
  const Value lhs = dot->operand(0), w = dot->operand(1);
  const bool reshaped = lhs.node->op() == Op::kReshape;
  const Node& slice = reshaped ? *lhs.node->operand(0).node : *lhs.node;
  if (!IsRowOfTurn(loop, slice) || !IsInvariantParameter(loop, w)) return false;
  const Dims& rows = slice.shape().dims();
  if (reshaped && lhs.shape().dims() != Dims(rows.begin() + 1, rows.end())) return false;
  if (!reshaped) {
    for (int64_t d : dot->Ints(Attr::lhs_contracting)) {
      if (d == 0) return false;
    }
  }
  ops::FuncBuilder b(&body, dot);
  b.set_name(dot->name());
  const Value all = ProductOfAll(b, *dot, slice, w);
  if (!b.status().ok()) return false;
  if (all.shape().is_static() && all.shape().num_bytes() > kMostBytesOfTurns) return false;
  Dims sizes = all.shape().dims();
  sizes[0] = Dim(1);
  std::vector<Value> starts = {slice.operand(1)};
  for (int i = 1; i < all.shape().rank(); ++i) {
    starts.push_back(b.Scalar(slice.operand(1).dtype(), 0));
  }
  const Value row = b.DynamicSlice(all, starts, sizes);
  const Value result = b.Reshape(row, dot->shape().dims());
  if (!b.status().ok() || result.shape() != dot->shape()) return false;
  body.Replace(dot, {result});
  return true;
}

bool HoistProductsIn(Graph& graph) {
  bool changed = false;
  for (const auto& node : graph.nodes()) {
    if (!ir::IsControl(*node)) continue;
    for (int r = 0; r < node->num_regions(); ++r) changed |= HoistProductsIn(node->region(r));
    if (node->op() != Op::kWhile) continue;
    Graph& body = Body(*node);
    for (Node* inside : body.NodeList()) changed |= HoistProduct(*node, body, inside);
    body.EraseDead();
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> HoistProducts(Graph& graph, PassContext&) { return HoistProductsIn(graph); }

}  // namespace tektite::passes
