#include "clustering/compile_time.h"

#include <algorithm>

#include "clustering/graph_def/positions.h"
#include "clustering/importer/contents/contents.h"

namespace tektite::clustering {
namespace {

using graph_def::GraphIndex;
using graph_def::NodeDef;

}  // namespace

CompileTime::CompileTime(const GraphIndex& index, const Together& together, const Given& given,
                         bool for_xla)
    : known_(index.num_nodes(), false), unknown_input_(index.num_nodes(), -1) {
  auto known_to = [&](int from, int to) {
    return known_[from] && (index.node(from).op == "Const" || together(from, to));
  };
  const graph_def::Positions positions(index, known_to, together, for_xla);
  for (int node : index.order()) {
    const NodeDef& def = index.node(node);
    const auto inputs = index.inputs(node);
    const OpFacts& facts = index.facts(node);
    const int data_inputs = facts.IsCompiled() ? def.NumDataInputs() : 0;
    for (int i = 0; i < data_inputs && unknown_input_[node] < 0; ++i) {
      if (!facts.NeedsValue(i, data_inputs) || known_to(inputs[i].node, node)) continue;
      if (facts.Is(OpFacts::kTakesPositions) && positions.MayBeData(node, i)) continue;
      unknown_input_[node] = i;
    }
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
