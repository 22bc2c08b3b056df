#include "clustering/importer/row_counts.h"

#include <algorithm>
#include <vector>

#include "clustering/graph_def/tensor.h"

namespace tektite::importer {
namespace {

using graph_def::GraphIndex;
using graph_def::NodeDef;

// Whether the node is a constant 0.
bool IsZero(const NodeDef& node) {
  const graph_def::AttrValue* value = node.attrs.Find("value");
  const auto* tensor = value == nullptr ? nullptr : value->As<graph_def::TensorProto>();
  if (node.op != "Const" || tensor == nullptr) return false;
  const auto elements = graph_def::MaterializeIntegers(*tensor);
  return elements.ok() && *elements == std::vector<int64_t>{0};
}

// The first dimension stays, whatever its size.
bool KeepsFirst(const NodeDef& squeeze) {
  const graph_def::AttrValue* value = squeeze.attrs.Find("squeeze_dims");
  const auto* dims = value == nullptr ? nullptr : value->AsListOf<int64_t>();
  return dims != nullptr && !dims->empty() &&
         std::all_of(dims->begin(), dims->end(), [](int64_t d) { return d > 0; });
}

// The rows of the indices become those of the result.
bool GathersRows(const GraphIndex& index, int node) {
  const auto inputs = index.inputs(node);
  return index.node(node).attrs.Int("batch_dims", 0) == 0 && inputs.size() > 2 &&
         IsZero(index.node(inputs[2].node));
}

}  // namespace

bool MakesRowCount(const NodeDef& node, int output) {
  if (node.op == "Where" || node.op == "DynamicPartition") return true;
  return (node.op == "Unique" || node.op == "UniqueWithCounts") && output != 1;
}

bool TakesRowCount(const GraphIndex& index, int node, int input) {
  const NodeDef& def = index.node(node);
  if (def.op == "_Retval" || def.op == "Identity" || def.op == "Snapshot" ||
      def.op == "StopGradient" || def.op == "PreventGradient") {
    return true;
  }
  if (def.op == "Squeeze") return KeepsFirst(def);
  return def.op == "GatherV2" && input == 1 && GathersRows(index, node);
}

}  // namespace tektite::importer
