#include "clustering/compile_time.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "clustering/graph_def/positions.h"
#include "clustering/importer/contents/contents.h"

namespace tektite::clustering {
namespace {

using graph_def::GraphIndex;
using graph_def::NodeDef;

// How many elements a list has is a scalar.
bool IsListLength(const NodeDef& node, int input) {
  return node.op == "TensorListReserve" && input == 1;
}

// Of whose scalars the arguments are scalars, too.
bool IsScalarArithmetic(const std::string& op) {
  static const auto& ops = *new absl::flat_hash_set<std::string>{
      "Add", "AddV2", "Cast", "FloorDiv", "Identity", "Maximum", "Minimum", "Mul", "Neg", "Sub"};
  return ops.contains(op);
}

}  // namespace

CompileTime::CompileTime(const GraphIndex& index, const Together& together, const Given& given,
                         bool for_xla)
    : known_(index.num_nodes(), false), unknown_input_(index.num_nodes(), -1) {
  auto known_to = [&](int from, int to) {
    return known_[from] && (index.node(from).op == "Const" || together(from, to));
  };
  // What comes from outside, or is arithmetic on that: each call knows it.
  std::vector<bool> is_asked(index.num_nodes(), false);
  auto is_asked_by = [&](int from, int to) {
    return index.node(from).op != "Const" && (!together(from, to) || is_asked[from]);
  };
  const graph_def::Positions positions(index, known_to, together, for_xla);
  for (int node : index.order()) {
    const NodeDef& def = index.node(node);
    const auto inputs = index.inputs(node);
    const OpFacts& facts = index.facts(node);
    const int data_inputs = facts.IsCompiled() ? def.NumDataInputs() : 0;
    for (int i = 0; i < data_inputs && unknown_input_[node] < 0; ++i) {
      if (!facts.NeedsValue(i, data_inputs) || known_to(inputs[i].node, node)) continue;
      if (IsListLength(def, i) && is_asked_by(inputs[i].node, node)) continue;
      if (facts.Is(OpFacts::kTakesPositions) && positions.MayBeData(node, i)) continue;
      unknown_input_[node] = i;
    }
    is_asked[node] =
        IsScalarArithmetic(def.op) &&
        std::all_of(inputs.begin(), inputs.end(), [&](const GraphIndex::Edge& in) {
          return in.is_control() || known_to(in.node, node) || is_asked_by(in.node, node);
        });
    if (def.op == "Const" || facts.Is(OpFacts::kMeasures) || given.contains(node)) {
      known_[node] = true;
    } else if (importer::ContentsComeFromContents(def.op) || facts.Is(OpFacts::kComputesContents)) {
      known_[node] = std::all_of(inputs.begin(), inputs.end(), [&](const GraphIndex::Edge& in) {
        return in.is_control() || known_to(in.node, node);
      });
    }
  }
}

}  // namespace tektite::clustering
