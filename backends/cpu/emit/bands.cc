#include "backends/cpu/emit/bands.h"

#include <algorithm>
#include <vector>

#include "backends/cpu/contraction/epilogue.h"
#include "jit/ops/ops.h"

namespace tektite::cpu {
namespace {

using ir::Dim;
using ir::Node;
using ir::Op;

bool IsReduceOfRow(const Node& node) {
  return node.op() == Op::kReduce &&
         node.Ints(ir::Attr::dimensions) ==
             std::vector<int64_t>{node.operand_shape(0).rank() - int64_t{1}};
}

// Each value of a row comes from values of the same row, and from what has no rows.
bool StaysInRow(const Node& node) {
  if (node.op() == Op::kParameter || node.op() == Op::kConstant || node.op() == Op::kIota ||
      ir::IsElementwise(node.op()) || IsReduceOfRow(node)) {
    return true;
  }
  if (node.op() != Op::kBroadcastInDim) return false;
  const Op source = node.operand(0).node->op();
  if (source == Op::kParameter || source == Op::kConstant) return true;
  const std::vector<int64_t>& dims = node.Ints(ir::Attr::dimensions);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

}  // namespace

Dim RowsIn(const ir::Dims& dims) {
  if (dims.empty()) return 0;
  Dim rows = 1;
  for (size_t i = 0; i + 1 < dims.size(); ++i) rows = rows * dims[i];
  return rows;
}

EmittedBands BandsOfContraction(const ir::Graph& region, const ContractionPlan& plan,
                                const Dim& chunks, const Dim& rows) {
  const ir::Dims& space = region.outputs()[0].shape().dims();
  const Dim all_rows = plan.batch * plan.m;
  if (space.empty() || space.back() != plan.n || RowsIn(space) != all_rows) return {};
  EmittedBands bands = {chunks, rows, all_rows, {}};
  for (const auto& [operand, result] : EpilogueInPlace(region, *plan.root)) {
    if (bands.by_row.empty() || bands.by_row.back() != operand) bands.by_row.push_back(operand);
  }
  return bands;
}

void AddLeftHandSide(const ContractionPlan& plan, EmittedBands* bands) {
  const Node& lhs = *plan.root->operand(0).node;
  if (bands->chunks == Dim(0) || lhs.op() != Op::kParameter || lhs.uses().size() != 1) return;
  const int64_t last = lhs.shape().rank() - int64_t{1};
  if (ops::GetDotDims(*plan.root).lhs_contracting != std::vector<int64_t>{last}) return;
  if (RowsIn(lhs.shape().dims()) != bands->all_rows) return;
  bands->by_row.push_back(ops::ParameterIndex(plan.root->operand(0)));
}

EmittedBands BandsOfRows(const ir::Graph& region, const Dim& rows, const Dim& size,
                         const Dim& rows_per_chunk) {
  for (ir::Value v : region.outputs()) {
    const ir::Dims& dims = v.shape().dims();
    if (dims.empty() || RowsIn(dims) != rows) return {};
  }
  const auto& nodes = region.nodes();
  const bool by_row =
      std::all_of(nodes.begin(), nodes.end(), [](const auto& node) { return StaysInRow(*node); });
  EmittedBands bands = {1, rows_per_chunk, rows, {}};
  for (int i = 0; by_row && i < region.num_parameters(); ++i) {
    const Node* p = region.parameter(i);
    const ir::Dims& dims = p->shape().dims();
    if (dims.empty() || dims.back() != size || RowsIn(dims) != rows) continue;
    // Read at the same position by all, or summed up row by row.
    if (std::all_of(p->uses().begin(), p->uses().end(), [](const ir::Use& use) {
          return ir::IsElementwise(use.user->op()) || IsReduceOfRow(*use.user);
        })) {
      bands.by_row.push_back(i);
    }
  }
  return bands;
}

}  // namespace tektite::cpu
