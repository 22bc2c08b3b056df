#include "clustering/graph_def/function_graphs.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clustering/graph_def/inline_functions.h"

namespace tektite::graph_def {
namespace {

// The type of an argument that is one tensor; kInvalid where the attributes do not tell.
DataType TypeOf(const ArgDef& arg, const AttrMap& attrs) {
  return arg.type_attr.empty() ? arg.type : attrs.Type(arg.type_attr);
}

NodeDef End(const char* op, std::string name, size_t index, DataType type) {
  NodeDef node;
  node.op = op;
  node.name = std::move(name);
  node.attrs.Set("T", AttrValue::Of(type));
  node.attrs.Set("index", AttrValue::Of(static_cast<int64_t>(index)));
  return node;
}

}  // namespace

std::vector<FunctionRef> FunctionsOf(const NodeDef& node) {
  std::vector<FunctionRef> functions;
  for (const Attr& attr : node.attrs.entries()) {
    if (const FunctionRef* function = attr.value.As<FunctionRef>()) {
      functions.push_back(*function);
    } else if (const auto* list = attr.value.AsListOf<FunctionRef>()) {
      functions.insert(functions.end(), list->begin(), list->end());
    }
  }
  return functions;
}

std::vector<FunctionDef> ReachableFunctions(absl::Span<const NodeDef> nodes,
                                            const GraphDef& library) {
  if (library.functions.empty()) return {};
  absl::flat_hash_map<absl::string_view, const FunctionDef*> by_name;
  for (const FunctionDef& f : library.functions) by_name.emplace(f.signature.name, &f);
  std::map<absl::string_view, const FunctionDef*> reached;
  std::vector<const FunctionDef*> open;
  const auto reach = [&](absl::string_view name) {
    const auto found = by_name.find(name);
    if (found != by_name.end() && reached.emplace(found->first, found->second).second) {
      open.push_back(found->second);
    }
  };
  const auto reach_from = [&](const NodeDef& node) {
    reach(node.op);
    for (const FunctionRef& function : FunctionsOf(node)) reach(function.name);
  };
  for (const NodeDef& node : nodes) reach_from(node);
  while (!open.empty()) {
    const FunctionDef* const function = open.back();
    open.pop_back();
    for (const NodeDef& node : function->nodes) reach_from(node);
  }
  std::vector<FunctionDef> functions;
  for (const auto& [name, function] : reached) functions.push_back(*function);
  return functions;
}

FunctionGraphs::FunctionGraphs(const GraphDef& graph) : library_(graph) {
  for (const FunctionDef& f : graph.functions) functions_.emplace(f.signature.name, &f);
}

absl::StatusOr<const GraphDef*> FunctionGraphs::Get(const FunctionRef& function) {
  auto it = graphs_.find(function.name);
  if (it == graphs_.end()) {
    absl::StatusOr<GraphDef> graph = Close(function);
    it = graphs_
             .emplace(function.name, graph.ok() ? absl::StatusOr<std::unique_ptr<GraphDef>>(
                                                      std::make_unique<GraphDef>(*std::move(graph)))
                                                : graph.status())
             .first;
  }
  if (!it->second.ok()) return it->second.status();
  return it->second->get();
}

absl::StatusOr<GraphDef> FunctionGraphs::Close(const FunctionRef& function) {
  const auto found = functions_.find(function.name);
  if (found == functions_.end()) {
    return absl::NotFoundError(absl::StrCat("there is no function '", function.name, "'"));
  }
  const FunctionDef& f = *found->second;
  GraphDef graph;
  graph.producer = library_.producer;
  graph.min_consumer = library_.min_consumer;
  NodeDef call;
  call.name = call.op = function.name;
  call.attrs = function.attrs;
  for (size_t i = 0; i < f.signature.inputs.size(); ++i) {
    const ArgDef& arg = f.signature.inputs[i];
    NodeDef node =
        End("_Arg", absl::StrCat(function.name, "/", arg.name), i, TypeOf(arg, function.attrs));
    for (const auto& [index, attrs] : f.arg_attrs) {
      if (index != i) continue;
      for (const Attr& attr : attrs.entries()) node.attrs.Set(attr.name, attr.value);
    }
    call.inputs.push_back({node.name, 0, ""});
    graph.nodes.push_back(std::move(node));
  }
  graph.nodes.push_back(call);
  for (size_t i = 0; i < f.signature.outputs.size(); ++i) {
    const ArgDef& result = f.signature.outputs[i];
    NodeDef node = End("_Retval", absl::StrCat(function.name, "/", result.name, "_RetVal"), i,
                       TypeOf(result, function.attrs));
    node.inputs.push_back({call.name, static_cast<int>(i), ""});
    graph.nodes.push_back(std::move(node));
  }
  graph.functions = ReachableFunctions({&call, 1}, library_);
  InlineFunctions({}, InlineLimits(), &graph);
  const bool is_left = std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const auto& node) {
    return node.name == call.name && node.op == call.op;
  });
  if (is_left) {
    return absl::InvalidArgumentError(
        absl::StrCat("function '", function.name, "': its body does not fit its signature"));
  }
  graph.functions.clear();
  return graph;
}

}  // namespace tektite::graph_def
