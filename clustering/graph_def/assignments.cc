#include "clustering/graph_def/assignments.h"

#include <algorithm>

namespace tektite::graph_def {

bool MayAssign(const GraphIndex& index, int node) {
  if (index.facts(node).Is(clustering::OpFacts::kWritesVariable)) return true;
  const NodeDef& def = index.node(node);
  if (def.op != "If" && def.op != "Case" && def.op != "StatefulPartitionedCall") return false;
  const AttrValue* const types = def.attrs.Find("Tin");
  const auto* list = types == nullptr ? nullptr : types->AsListOf<DataType>();
  return list != nullptr &&
         std::find(list->begin(), list->end(), DataType::kResource) != list->end();
}

}  // namespace tektite::graph_def
