#include "clustering/load_model.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "clustering/graph_def/function_graphs.h"
#include "clustering/graph_def/inline_functions.h"
#include "clustering/graph_def/reader.h"
#include "clustering/graph_def/saved_model.h"
#include "clustering/graph_def/text_reader.h"

namespace tektite::clustering {
namespace {

using graph_def::AttrValue;
using graph_def::GraphDef;
using graph_def::NodeDef;
using graph_def::NodeInput;
using graph_def::SavedModel;
using graph_def::Signature;
using graph_def::SignatureTensor;

// Only what `roots` need, in the order of the graph.
void Prune(const std::vector<std::string>& roots, GraphDef* graph) {
  absl::flat_hash_map<absl::string_view, int> by_name;
  for (size_t i = 0; i < graph->nodes.size(); ++i) by_name.emplace(graph->nodes[i].name, i);
  std::vector<bool> needed(graph->nodes.size(), false);
  std::vector<absl::string_view> work(roots.begin(), roots.end());
  while (!work.empty()) {
    auto it = by_name.find(work.back());
    work.pop_back();
    if (it == by_name.end() || needed[it->second]) continue;
    needed[it->second] = true;
    for (const NodeInput& input : graph->nodes[it->second].inputs) work.push_back(input.node);
  }
  std::vector<NodeDef> kept;
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    if (needed[i]) kept.push_back(std::move(graph->nodes[i]));
  }
  graph->nodes = std::move(kept);
}

const Signature* ChooseSignature(const SavedModel& model) {
  for (const Signature& signature : model.signatures) {
    if (signature.name == "serving_default") return &signature;
  }
  // Keras exports its endpoint as "serve"; what starts with "__" is TensorFlow's own.
  for (const Signature& signature : model.signatures) {
    if (signature.name.rfind("__", 0) != 0 && !signature.outputs.empty()) return &signature;
  }
  return nullptr;
}

// A loaded model's functions get its variables as arguments; so does this graph.
void MakeVariablesArguments(GraphDef* graph) {
  int64_t index = 0;
  for (NodeDef& node : graph->nodes) {
    if (node.op != "VarHandleOp") continue;
    const AttrValue* shape_attr = node.attrs.Find("shape");
    const auto* shape = shape_attr == nullptr ? nullptr : shape_attr->As<graph_def::PartialShape>();
    graph_def::AttrMap attrs;
    attrs.Set("T", AttrValue::Of(graph_def::DataType::kResource));
    attrs.Set("index", AttrValue::Of(index++));
    if (shape != nullptr) {
      attrs.Set("_handle_shapes",
                AttrValue::Of<graph_def::AttrList>(std::vector<graph_def::PartialShape>{*shape}));
      attrs.Set("_handle_dtypes", AttrValue::Of<graph_def::AttrList>(
                                      std::vector<graph_def::DataType>{node.attrs.Type("dtype")}));
    }
    node.op = "_Arg";
    node.attrs = std::move(attrs);
  }
}

// The graph that runs one signature: its outputs as _Retval nodes, and the nodes that they need.
GraphDef RunSignature(SavedModel model, const Signature& signature,
                      const graph_def::InlineLimits& limits) {
  GraphDef graph = std::move(model.graph);
  std::vector<std::string> roots;
  for (size_t i = 0; i < signature.outputs.size(); ++i) {
    const SignatureTensor& output = signature.outputs[i];
    NodeDef retval;
    retval.name = absl::StrCat("signature/", signature.name, "/", output.key);
    retval.op = "_Retval";
    retval.inputs.push_back(NodeInput::Parse(output.tensor));
    retval.attrs.Set("T", AttrValue::Of(output.dtype));
    retval.attrs.Set("index", AttrValue::Of<int64_t>(static_cast<int64_t>(i)));
    roots.push_back(retval.name);
    graph.nodes.push_back(std::move(retval));
  }
  Prune(roots, &graph);
  graph_def::InlineFunctions(model.ops, limits, &graph);
  // Bodies hold more than their results need.
  Prune(roots, &graph);
  MakeVariablesArguments(&graph);
  graph.functions = graph_def::ReachableFunctions(graph.nodes, graph);
  return graph;
}

}  // namespace

absl::StatusOr<GraphDef> LoadModel(absl::string_view bytes, XlaCalls xla_calls) {
  graph_def::InlineLimits limits;
  limits.xla_calls = xla_calls == XlaCalls::kApart;
  if (graph_def::LooksLikeSavedModel(bytes)) {
    absl::StatusOr<SavedModel> model =
        graph_def::ReadSavedModel(bytes, graph_def::TensorStorage::kBorrow);
    if (!model.ok()) return model.status();
    const Signature* chosen = ChooseSignature(*model);
    if (chosen == nullptr) return absl::NotFoundError("the SavedModel has no signature to run");
    const Signature signature = *chosen;
    return RunSignature(std::move(*model), signature, limits);
  }
  absl::StatusOr<GraphDef> graph =
      graph_def::LooksLikeText(bytes)
          ? graph_def::ReadTextGraphDef(bytes)
          : graph_def::ReadGraphDef(bytes, graph_def::TensorStorage::kBorrow);
  if (!graph.ok()) return graph.status();
  if (graph->nodes.empty()) return absl::InvalidArgumentError("the model holds no graph");
  graph_def::InlineFunctions({}, limits, &*graph);
  return graph;
}

}  // namespace tektite::clustering
