// VerifyNode and VerifyGraph: that a graph is what its nodes say it is.
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "jit/ops/infer.h"
#include "jit/ops/names.h"

namespace tektite::ops {

namespace {

bool Compatible(const Shape& a, const Shape& b) {
  if (a.dtype() != b.dtype() || a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i) {
    if (ProvablyDifferent(a.dim(i), b.dim(i))) return false;
  }
  return true;
}

bool InRange(Value v) {
  return v.node != nullptr && v.index >= 0 && v.index < v.node->num_results();
}

absl::Status CheckUses(const Node& node, int64_t num_uses) {
  int64_t listed = 0;
  for (int i = 0; i < node.num_results(); ++i) {
    for (const ir::Use& use : node.uses(i)) {
      const bool right = use.operand < use.user->num_operands() &&
                         use.user->operand(use.operand) == Value{const_cast<Node*>(&node), i};
      if (!right) return Internal(node.Describe(), ": a use is listed that does not exist");
      ++listed;
    }
  }
  if (listed == num_uses) return absl::OkStatus();
  return Internal(node.Describe(), ": ", num_uses, " uses, ", listed, " listed");
}

}  // namespace

absl::Status VerifyNode(const Node& node) {
  for (const Shape& shape : node.shapes()) {
    for (const ir::Dim& d : shape.dims()) {
      if (d.is_constant() && d.value() < 0) {
        return InvalidArgument(node.Describe(), ": negative size in ", shape.ToString());
      }
    }
    TEKTITE_RETURN_IF_ERROR(CheckCountable(shape));
  }
  if (node.op() == Op::kParameter) {
    if (node.num_operands() == 0 && node.num_results() == 1) return absl::OkStatus();
    return InvalidArgument(node.Describe(), ": a parameter has one result and no operands");
  }
  Shapes operands;
  for (Value v : node.operands()) {
    if (!InRange(v)) return Internal(node.Describe(), ": an operand is no result of its node");
    operands.push_back(v.shape());
  }
  std::vector<const Graph*> regions;
  for (int i = 0; i < node.num_regions(); ++i) regions.push_back(&node.region(i));
  auto shapes = Infer({node.op(), operands, node.attrs(), regions, nullptr});
  if (!shapes.ok()) {
    return absl::Status(shapes.status().code(),
                        absl::StrCat(node.Describe(), ": ", shapes.status().message()));
  }
  if (shapes->size() != node.shapes().size()) {
    return InvalidArgument(node.Describe(), ": has ", node.num_results(), " results, should have ",
                           shapes->size());
  }
  for (int i = 0; i < node.num_results(); ++i) {
    if (!Compatible((*shapes)[i], node.shape(i))) {
      return InvalidArgument(node.Describe(), ": result ", i, " is ", node.shape(i).ToString(),
                             ", should be ", (*shapes)[i].ToString());
    }
  }
  return absl::OkStatus();
}

absl::Status VerifyGraph(const Graph& graph) {
  for (int i = 0; i < graph.num_parameters(); ++i) {
    const Node& p = *graph.parameter(i);
    if (p.op() != Op::kParameter || p.Int(ir::Attr::index, -1) != i) {
      return Internal("graph '", graph.name(), "': parameter ", i, " is out of place");
    }
  }
  absl::flat_hash_set<const Node*> defined;
  absl::flat_hash_map<const Node*, int64_t> uses;
  int parameters = 0;
  for (const auto& owned : graph.nodes()) {
    const Node& node = *owned;
    if (node.graph() != &graph) return Internal(node.Describe(), ": belongs to another graph");
    parameters += node.op() == Op::kParameter;
    for (Value v : node.operands()) {
      if (defined.count(v.node) == 0) {
        return Internal(node.Describe(), ": an operand is not defined before it");
      }
      ++uses[v.node];
    }
    // Regions first: their shapes take part in the node's.
    for (int i = 0; i < node.num_regions(); ++i) {
      absl::Status status = VerifyGraph(node.region(i));
      if (!status.ok()) {
        return absl::Status(status.code(), absl::StrCat("in ", node.Describe(), ", region ", i,
                                                        ": ", status.message()));
      }
    }
    TEKTITE_RETURN_IF_ERROR(VerifyNode(node));
    defined.insert(&node);
  }
  if (parameters != graph.num_parameters()) {
    return Internal("graph '", graph.name(), "': ", parameters, " parameter nodes, ",
                    graph.num_parameters(), " listed");
  }
  for (const auto& node : graph.nodes()) {
    TEKTITE_RETURN_IF_ERROR(CheckUses(*node, uses[node.get()]));
  }
  for (Value v : graph.outputs()) {
    if (!InRange(v) || defined.count(v.node) == 0) {
      return Internal("graph '", graph.name(), "': an output is not defined in it");
    }
  }
  return absl::OkStatus();
}

}  // namespace tektite::ops
