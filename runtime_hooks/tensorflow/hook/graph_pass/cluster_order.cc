#include "runtime_hooks/tensorflow/hook/graph_pass/cluster_order.h"

#include <cstddef>

#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/tensor.pb.h"

namespace tektite::tf_hook {
namespace {

using tensorflow::Edge;
using tensorflow::Node;

constexpr size_t kLargeConstantBytes = 64 << 10;

// A node behind the cluster.
struct Reached {
  const Node* node;
  int depth;          // how many loops further in than the cluster, the same on every way
  bool by_constants;  // alone
};

}  // namespace

bool IsLargeConstant(const Node& node) {
  if (!node.IsConstant()) return false;
  const tensorflow::AttrValue* value = node.attrs().Find("value");
  return value != nullptr && value->tensor().ByteSizeLong() > kLargeConstantBytes;
}

bool IsCopiedConstant(const Node& node) { return node.IsConstant() && !IsLargeConstant(node); }

std::vector<Node*> Waits(const Node& node, const NodeSet& inside) {
  std::vector<Node*> waits;
  NodeSet seen;
  std::vector<const Node*> open = {&node};
  while (!open.empty()) {
    const Node* const reader = open.back();
    open.pop_back();
    for (const Edge* edge : reader->in_edges()) {
      Node* const source = edge->src();
      if (!edge->IsControlEdge() || source->IsSource() || !seen.insert(source).second) continue;
      if (IsCopiedConstant(*source) && inside.count(source) == 0) {
        open.push_back(source);
      } else {
        waits.push_back(source);
      }
    }
  }
  return waits;
}

bool MakesCycle(const std::vector<Node*>& nodes, const NodeSet& inside) {
  NodeSet seen, seen_by_constants;
  std::vector<Reached> open;
  const auto go_on = [&](const Node& from, int depth, bool by_constants) {
    for (const Edge* edge : from.out_edges()) {
      const Node* const to = edge->dst();
      if (by_constants && inside.count(to) != 0) continue;
      open.push_back({to, depth, by_constants && IsCopiedConstant(*to)});
    }
  };
  for (const Node* node : nodes) go_on(*node, 0, true);
  while (!open.empty()) {
    const auto [node, depth, by_constants] = open.back();
    open.pop_back();
    if (inside.count(node) != 0) return true;
    if (node->IsSink() || (node->IsNextIteration() && depth <= 0)) continue;
    if (!(by_constants ? seen_by_constants : seen).insert(node).second) continue;
    go_on(*node, depth + (node->IsEnter() ? 1 : 0) - (node->IsExit() ? 1 : 0), by_constants);
  }
  return false;
}

}  // namespace tektite::tf_hook
