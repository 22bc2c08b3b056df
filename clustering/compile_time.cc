#include "clustering/compile_time.h"

#include <algorithm>

#include "clustering/importer/contents.h"
#include "clustering/importer/import_table.h"

namespace tektite::clustering {
namespace {

using graph_def::GraphIndex;
using graph_def::NodeDef;

// Their results depend on the shape of their operand only.
constexpr absl::string_view kMeasures[] = {"Rank", "Shape", "ShapeN", "Size"};

// Import functions that give known values from known values, beside what the importer folds.
constexpr absl::string_view kGiveContents[] = {"BroadcastGradientArgs", "InvertPermutation"};

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
    if (rule != nullptr && !rule->compile_time_inputs.empty()) {
      const int data_inputs = def.NumDataInputs();
      for (int i : rule->compile_time_inputs) {
        const int input = i < 0 ? data_inputs + i : i;
        if (input < 0 || input >= data_inputs || unknown_input_[node] >= 0) continue;
        if (!known_to(inputs[input].node, node)) unknown_input_[node] = input;
      }
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
