#include "runtime_hooks/tensorflow/hook/graph_pass/whole_calls.h"

#include <algorithm>

#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tektite::tf_hook {
namespace {

using tensorflow::FunctionDef;
using tensorflow::Graph;
using tensorflow::Node;

// What is to be taken apart is so by now.
bool StaysWhole(const Node* node) {
  return node->IsWhileNode() || node->IsIfNode() || node->IsCaseNode() || IsXlaCall(*node);
}

}  // namespace

bool IsXlaCall(const Node& node) {
  if (!node.IsPartitionedCall()) return false;
  const tensorflow::AttrValue* const value = node.attrs().Find("_XlaMustCompile");
  return value != nullptr && value->b();
}

bool HoldsXlaCalls(const tensorflow::GraphDef& graph) {
  const auto is_marked = [](const tensorflow::NodeDef& node) {
    const auto mark = node.attr().find("_XlaMustCompile");
    return mark != node.attr().end() && mark->second.b();
  };
  const auto& functions = graph.library().function();
  return std::any_of(graph.node().begin(), graph.node().end(), is_marked) ||
         std::any_of(functions.begin(), functions.end(), [&](const FunctionDef& function) {
           return std::any_of(function.node_def().begin(), function.node_def().end(), is_marked);
         });
}

bool RunsFunctions(const Graph& graph) {
  const auto nodes = graph.op_nodes();
  return std::any_of(nodes.begin(), nodes.end(), StaysWhole);
}

tensorflow::FunctionDefLibrary FunctionsRun(
    const Graph& graph, const tensorflow::FunctionLibraryDefinition& functions) {
  tensorflow::GraphDef whole;
  for (const Node* node : graph.op_nodes()) {
    if (StaysWhole(node)) *whole.add_node() = node->def();
  }
  tensorflow::FunctionDefLibrary library = functions.ReachableDefinitions(whole).ToProto();
  std::sort(library.mutable_function()->begin(), library.mutable_function()->end(),
            [](const FunctionDef& a, const FunctionDef& b) {
              return a.signature().name() < b.signature().name();
            });
  return library;
}

}  // namespace tektite::tf_hook
