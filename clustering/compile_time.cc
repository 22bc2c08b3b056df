#include "clustering/compile_time.h"

#include <algorithm>

#include "clustering/import_table.h"

namespace tektite::clustering {
namespace {

using graph_def::GraphIndex;
using graph_def::NodeDef;

// Their results depend on the shape of their operand only.
constexpr absl::string_view kMeasures[] = {"Rank", "Shape", "ShapeN", "Size"};

// The importer evaluates these on known integers. Sorted.
constexpr absl::string_view kArithmetic[] = {
    "Add",
    "AddN",
    "AddV2",
    "BroadcastArgs",
    "BroadcastGradientArgs",
    "Cast",
    "ConcatV2",
    "Equal",
    "ExpandDims",
    "Fill",
    "FloorDiv",
    "FloorMod",
    "GatherV2",
    "Greater",
    "GreaterEqual",
    "Identity",
    "InvertPermutation",
    "Less",
    "LessEqual",
    "LogicalAnd",
    "LogicalNot",
    "LogicalOr",
    "Max",
    "Maximum",
    "Min",
    "Minimum",
    "Mul",
    "Neg",
    "NotEqual",
    "OnesLike",
    "Pack",
    "Prod",
    "Range",
    "RealDiv",
    "Reshape",
    "ReverseV2",
    "Select",
    "SelectV2",
    "Slice",
    "Split",
    "SplitV",
    "Squeeze",
    "StopGradient",
    "StridedSlice",
    "Sub",
    "Sum",
    "Tile",
    "TruncateDiv",
    "Unpack",
    "ZerosLike",
};

template <size_t N>
bool IsOneOf(absl::string_view op, const absl::string_view (&list)[N]) {
  return std::find(std::begin(list), std::end(list), op) != std::end(list);
}

}  // namespace

CompileTime::CompileTime(const GraphIndex& index, const Together& together)
    : unknown_input_(index.num_nodes(), -1) {
  std::vector<bool> known(index.num_nodes(), false);  // to the node's own cluster
  auto known_to = [&](int from, int to) {
    return known[from] && (index.node(from).op == "Const" || together(from, to));
  };
  for (int node : index.order()) {
    const NodeDef& def = index.node(node);
    const auto inputs = index.inputs(node);
    if (const ImportInfo* info = FindImport(def.op)) {
      ForEachCompileTimeInput(def, *info, [&](int input) {
        if (unknown_input_[node] < 0 && !known_to(inputs[input].node, node)) {
          unknown_input_[node] = input;
        }
      });
    }
    if (def.op == "Const" || IsOneOf(def.op, kMeasures)) {
      known[node] = true;
    } else if (IsOneOf(def.op, kArithmetic)) {
      known[node] = std::all_of(inputs.begin(), inputs.end(), [&](const GraphIndex::Edge& in) {
        return in.is_control() || known_to(in.node, node);
      });
    }
  }
}

}  // namespace tektite::clustering
