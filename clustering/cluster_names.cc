#include "clustering/cluster_names.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace tektite::clustering {
namespace {

using graph_def::GraphDef;
using graph_def::NodeDef;

constexpr size_t kMostBytes = 80, kMostScopes = 3;
// A scope is the cluster's where it holds this part of its nodes.
constexpr double kMostNodes = 0.6;

// Without the number that TensorFlow appends to make a name its own: "train_step_1234".
absl::string_view WithoutNumber(absl::string_view name) {
  absl::string_view rest = name;
  while (!rest.empty() && absl::ascii_isdigit(static_cast<unsigned char>(rest.back()))) {
    rest.remove_suffix(1);
  }
  return rest.size() < name.size() && rest.size() > 1 && absl::ConsumeSuffix(&rest, "_") ? rest
                                                                                         : name;
}

// A call that was inlined, or what TensorFlow puts around the names of a model's gradients.
bool SaysNothing(absl::string_view scope) {
  const absl::string_view plain = WithoutNumber(scope);
  return plain == "StatefulPartitionedCall" || plain == "PartitionedCall" ||
         plain == "gradient_tape" || plain == "gradients" || plain == "signature";
}

// The scopes that the node stands in, outermost first.
std::vector<absl::string_view> ScopesOf(absl::string_view name) {
  std::vector<absl::string_view> parts = absl::StrSplit(name, '/');
  parts.pop_back();  // the node's own
  parts.erase(std::remove_if(parts.begin(), parts.end(), SaysNothing), parts.end());
  return parts;
}

// "serving_default", from the names that TensorFlow, or LoadModel, gives a signature's ends.
std::string SignatureOf(const GraphDef& graph) {
  for (const NodeDef& node : graph.nodes) {
    absl::string_view name = node.name;
    if (node.op == "_Retval" && absl::ConsumePrefix(&name, "signature/")) {
      return std::string(name.substr(0, name.find('/')));
    }
    if (node.op != "_Arg" && node.op != "Placeholder" && node.op != "_Recv") continue;
    absl::ConsumePrefix(&name, "_arg_");
    absl::ConsumePrefix(&name, "_recv_");
    if (absl::StartsWith(name, "serving_default_")) return "serving_default";
  }
  return "";
}

std::string ScopeOf(const GraphDef& graph, const std::vector<int>& nodes) {
  std::vector<std::vector<absl::string_view>> paths;
  for (int node : nodes) {
    const std::string& op = graph.nodes[node].op;
    if (op == "Const" || op == "_Arg" || op == "NoOp" || op == "ReadVariableOp") continue;
    paths.push_back(ScopesOf(graph.nodes[node].name));
  }
  const auto enough = kMostNodes * static_cast<double>(paths.size());
  std::vector<absl::string_view> shared;
  while (shared.size() < kMostScopes) {
    const size_t depth = shared.size();
    std::map<absl::string_view, int> counts;
    for (const auto& path : paths) {
      if (path.size() > depth) ++counts[path[depth]];
    }
    const auto most = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, auto& b) { return a.second < b.second; });
    if (most == counts.end() || static_cast<double>(most->second) < enough) break;
    const absl::string_view scope = most->first;
    shared.push_back(scope);
    paths.erase(std::remove_if(
                    paths.begin(), paths.end(),
                    [&](const auto& path) { return path.size() <= depth || path[depth] != scope; }),
                paths.end());
  }
  return absl::StrJoin(shared, "/");
}

}  // namespace

std::string ReadableFunction(absl::string_view name) {
  const bool is_backward = absl::ConsumePrefix(&name, "__backward_");
  if (!absl::ConsumePrefix(&name, "__inference_")) absl::ConsumePrefix(&name, "__forward_");
  name = WithoutNumber(name);
  return absl::StrCat(name, is_backward ? " (backward)" : "");
}

ClusterNames::ClusterNames(const GraphDef& graph, absl::string_view function)
    : graph_(graph),
      function_(function.empty() ? SignatureOf(graph) : ReadableFunction(function)) {}

std::string ClusterNames::NameOf(const std::vector<int>& nodes) {
  std::string name = ScopeOf(graph_, nodes);
  if (name.size() > kMostBytes) name = absl::StrCat("...", name.substr(name.size() - kMostBytes));
  // A function often opens a scope of its own name.
  if (!function_.empty() && name != function_ && !absl::EndsWith(name, "/" + function_)) {
    absl::StrAppend(&name, name.empty() ? "" : "/", function_.substr(0, kMostBytes));
  }
  if (name.empty()) name = absl::StrCat("cluster_", clusters_);
  ++clusters_;
  const int number = ++named_[name];
  return number == 1 ? name : absl::StrCat(name, "#", number);
}

}  // namespace tektite::clustering
