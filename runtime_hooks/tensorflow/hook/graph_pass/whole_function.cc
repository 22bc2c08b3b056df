#include "runtime_hooks/tensorflow/hook/graph_pass/whole_function.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace tektite::tf_hook {
namespace {

using tensorflow::Edge;
using tensorflow::Graph;
using tensorflow::Node;

constexpr char kName[] = "_whole_function";
constexpr char kArgs[] = "_whole_args";
constexpr char kResults[] = "_whole_results";
constexpr int kConstant = -1;

// Null where anything but one cluster computes something.
Node* OnlyCluster(const Graph& graph) {
  Node* cluster = nullptr;
  for (Node* node : graph.op_nodes()) {
    if (node->type_string() == "TektiteCluster") {
      if (cluster != nullptr) return nullptr;
      cluster = node;
    } else if (IsWork(node)) {
      return nullptr;
    }
  }
  return cluster;
}

// The edge that brings an input, from where the value was made.
const Edge* SourceOf(const Node* node, int input) {
  const Edge* edge = nullptr;
  if (!node->input_edge(input, &edge).ok()) return nullptr;
  while (edge->src()->IsIdentity()) {
    if (!edge->src()->input_edge(0, &edge).ok()) return nullptr;
  }
  return edge;
}

bool FindArgs(const Node* cluster, std::vector<int>* args) {
  for (int i = 0; i < cluster->num_inputs(); ++i) {
    const Edge* const edge = SourceOf(cluster, i);
    if (edge == nullptr) return false;
    int index = kConstant;
    if (edge->src()->IsArg()) {
      if (!tensorflow::GetNodeAttr(edge->src()->attrs(), "index", &index).ok()) return false;
    } else if (!edge->src()->IsConstant()) {
      return false;
    }
    args->push_back(index);
  }
  return true;
}

bool FindResults(const Graph& graph, const Node* cluster, std::vector<int>* results) {
  std::vector<std::pair<int, int>> found;  // the result's number, the cluster's output
  for (const Node* node : graph.op_nodes()) {
    if (!node->IsRetval()) continue;
    const Edge* const edge = SourceOf(node, 0);
    int index = 0;
    if (edge == nullptr || edge->src() != cluster ||
        !tensorflow::GetNodeAttr(node->attrs(), "index", &index).ok()) {
      return false;
    }
    found.emplace_back(index, edge->src_output());
  }
  std::sort(found.begin(), found.end());
  std::vector<bool> is_taken(cluster->num_outputs());
  for (size_t i = 0; i < found.size(); ++i) {
    const auto [index, output] = found[i];
    if (index != static_cast<int>(i) || is_taken[output]) return false;
    is_taken[output] = true;
    results->push_back(output);
  }
  return static_cast<int>(found.size()) == cluster->num_outputs();
}

}  // namespace

absl::StatusOr<std::optional<WholeFunction>> WholeFunction::Of(
    tensorflow::OpKernelConstruction* construction) {
  if (!construction->HasAttr(kName)) return std::nullopt;
  WholeFunction whole;
  TF_RETURN_IF_ERROR(construction->GetAttr(kName, &whole.name));
  TF_RETURN_IF_ERROR(construction->GetAttr(kArgs, &whole.args));
  TF_RETURN_IF_ERROR(construction->GetAttr(kResults, &whole.results));
  if (static_cast<int>(whole.args.size()) != construction->num_inputs() ||
      std::any_of(whole.args.begin(), whole.args.end(), [](int arg) { return arg < kConstant; })) {
    return absl::InvalidArgumentError(absl::StrCat(
        kArgs, ": must have an argument or -1 for each of ", construction->num_inputs(),
        " inputs, got [", absl::StrJoin(whole.args, ", "), "]"));
  }
  std::vector<int> sorted = whole.results;
  std::sort(sorted.begin(), sorted.end());
  bool is_permutation = static_cast<int>(sorted.size()) == construction->num_outputs();
  for (size_t i = 0; i < sorted.size(); ++i) is_permutation &= sorted[i] == static_cast<int>(i);
  if (!is_permutation) {
    return absl::InvalidArgumentError(absl::StrCat(kResults, ": must be an order of ",
                                                   construction->num_outputs(), " outputs, got [",
                                                   absl::StrJoin(whole.results, ", "), "]"));
  }
  return whole;
}

bool IsWork(const Node* node) {
  return !node->IsArg() && !node->IsRetval() && !node->IsConstant() && !node->IsIdentity() &&
         node->type_string() != "NoOp";
}

void NoteWholeFunction(const tensorflow::GraphOptimizationPassOptions& options) {
  if (!options.is_function_graph || options.function_def == nullptr) return;
  Graph* const graph = options.graph->get();
  Node* const cluster = OnlyCluster(*graph);
  std::vector<int> args, results;
  if (cluster == nullptr || !FindArgs(cluster, &args) || !FindResults(*graph, cluster, &results)) {
    return;
  }
  cluster->AddAttr(kName, options.function_def->signature().name());
  cluster->AddAttr(kArgs, args);
  cluster->AddAttr(kResults, results);
}

}  // namespace tektite::tf_hook
