#include "jit/compiler/fuse_leftovers.h"

#include <memory>
#include <utility>
#include <vector>

namespace tektite::compiler {
namespace {

using ir::Graph;
using ir::Node;
using ir::Op;
using ir::OpFamily;
using ir::Value;

bool StaysOutside(Op op) {
  return op == Op::kParameter || op == Op::kConstant || op == Op::kReshape || op == Op::kFusion;
}

const char* KindOf(const Node& node) {
  switch (node.op()) {
    case Op::kReduce:
      return "reduce";
    case Op::kReduceWindow:
      return "window";
    case Op::kConvolution:
    case Op::kDotGeneral:
      return "contraction";
    case Op::kBroadcastInDim:
    case Op::kIota:
    case Op::kReverse:
    case Op::kSlice:
    case Op::kTranspose:
      return "loop";
    default:
      return ir::IsElementwise(node.op()) ? "loop" : "single";
  }
}

void Wrap(Graph& graph, Node* node) {
  auto region = std::make_unique<Graph>("fused");
  std::vector<Value> inside, operands;
  for (Value operand : node->operands()) {
    operands.push_back(operand);
    inside.push_back(region->AddParameter(operand.shape()));
  }
  const std::vector<ir::Shape> shapes(node->shapes().begin(), node->shapes().end());
  Node* copy = region->Append(node->op(), inside, node->attrs(), shapes);
  copy->set_name(node->name());
  for (int r = 0; r < node->num_regions(); ++r) copy->AddRegion(node->region(r).Clone());
  std::vector<Value> results;
  for (int r = 0; r < copy->num_results(); ++r) results.push_back(copy->result(r));
  region->SetOutputs(results);

  Node* fusion = graph.Append(Op::kFusion, operands, {{ir::Attr::kind, std::string(KindOf(*node))}},
                              shapes, node);
  fusion->set_name(node->name());
  fusion->AddRegion(std::move(region));
  for (int r = 0; r < node->num_results(); ++r) {
    graph.ReplaceAllUses(node->result(r), fusion->result(r));
  }
  graph.Erase(node);
}

}  // namespace

void FuseLeftovers(Graph& graph) {
  for (Node* node : graph.NodeList()) {
    if (StaysOutside(node->op())) continue;
    if (node->IsDead()) {
      graph.Erase(node);
    } else {
      Wrap(graph, node);
    }
  }
}

}  // namespace tektite::compiler
