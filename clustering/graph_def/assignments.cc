#include "clustering/graph_def/assignments.h"

#include <algorithm>

#include "clustering/graph_def/function_graphs.h"

namespace tektite::graph_def {
namespace {

constexpr int kMostDepth = 8;  // of loops in loops; deeper ones count as assigning

bool TakesResource(const NodeDef& node, absl::string_view types_attr) {
  const AttrValue* const types = node.attrs.Find(types_attr);
  const auto* list = types == nullptr ? nullptr : types->AsListOf<DataType>();
  return list != nullptr &&
         std::find(list->begin(), list->end(), DataType::kResource) != list->end();
}

bool FunctionAssigns(const GraphDef& library, absl::string_view name, int depth) {
  const auto function =
      std::find_if(library.functions.begin(), library.functions.end(),
                   [&](const FunctionDef& candidate) { return candidate.signature.name == name; });
  if (function == library.functions.end() || depth > kMostDepth) return true;
  return std::any_of(function->nodes.begin(), function->nodes.end(), [&](const NodeDef& node) {
    if (clustering::FactsOf(node.op).Is(clustering::OpFacts::kWritesVariable)) return true;
    const std::vector<FunctionRef> inner = FunctionsOf(node);
    return std::any_of(inner.begin(), inner.end(), [&](const FunctionRef& ref) {
      return FunctionAssigns(library, ref.name, depth + 1);
    });
  });
}

bool LoopAssigns(const GraphDef& library, const NodeDef& loop) {
  if (!TakesResource(loop, "T")) return false;
  const AttrValue* const attr = loop.attrs.Find("body");
  const auto* body = attr == nullptr ? nullptr : attr->As<FunctionRef>();
  return body == nullptr || FunctionAssigns(library, body->name, 1);
}

}  // namespace

bool MayAssign(const GraphIndex& index, int node) {
  if (index.facts(node).Is(clustering::OpFacts::kWritesVariable)) return true;
  const NodeDef& def = index.node(node);
  if (def.op == "While" || def.op == "XlaWhile") return LoopAssigns(index.graph(), def);
  if (def.op != "If" && def.op != "Case" && def.op != "StatefulPartitionedCall") return false;
  return TakesResource(def, "Tin");
}

}  // namespace tektite::graph_def
