#include "clustering/compile_time.h"

#include <algorithm>

#include "clustering/importer/contents/contents.h"
#include "clustering/importer/import_table.h"

namespace tektite::clustering {
namespace {

using graph_def::GraphIndex;
using graph_def::NodeDef;

// Their results depend on the shape of their operand only.
constexpr absl::string_view kMeasures[] = {"Rank", "Shape", "ShapeN", "Size"};

// Import functions that give known values from known values, beside what the importer folds.
constexpr absl::string_view kGiveContents[] = {"BroadcastGradientArgs", "ConcatOffset",
                                               "InvertPermutation"};

template <size_t N>
bool IsOneOf(absl::string_view op, const absl::string_view (&list)[N]) {
  return std::find(std::begin(list), std::end(list), op) != std::end(list);
}

}  // namespace

CompileTime::CompileTime(const GraphIndex& index, const Together& together)
    : known_(index.num_nodes(), false), unknown_input_(index.num_nodes(), -1) {
  auto known_to = [&](int from, int to) {
    return known_[from] && (index.node(from).op == "Const" || together(from, to));
  };
  for (int node : index.order()) {
    const NodeDef& def = index.node(node);
    const auto inputs = index.inputs(node);
    const importer::ImportRule* rule = importer::FindImportRule(def.op);
    const int data_inputs = rule == nullptr ? 0 : def.NumDataInputs();
    for (int i = 0; i < data_inputs && unknown_input_[node] < 0; ++i) {
      if (rule->NeedsValue(def, i) && !known_to(inputs[i].node, node)) unknown_input_[node] = i;
    }
    if (def.op == "Const" || IsOneOf(def.op, kMeasures)) {
      known_[node] = true;
    } else if (importer::ContentsComeFromContents(def.op) || IsOneOf(def.op, kGiveContents)) {
      known_[node] = std::all_of(inputs.begin(), inputs.end(), [&](const GraphIndex::Edge& in) {
        return in.is_control() || known_to(in.node, node);
      });
    }
  }
}

}  // namespace tektite::clustering
