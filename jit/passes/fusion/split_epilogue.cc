#include "jit/passes/fusion/split_epilogue.h"
#include "jit/ops/ops.h"
#include "jit/passes/names.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace tektite::passes {
namespace {

Node* Copy(const Node& node, const std::vector<Value>& operands, Graph* into) {
  Node* copy =
      into->Append(node.op(), operands, node.attrs(), {node.shapes().begin(), node.shapes().end()});
  copy->set_name(node.name());
  for (int r = 0; r < node.num_regions(); ++r) copy->AddRegion(node.region(r).Clone());
  return copy;
}

}  // namespace

Node* SplitEpilogue(Graph& graph, Node* fusion) {
  const Graph& region = fusion->region();
  Node* const root = ops::FindContraction(region);
  if (root == nullptr) return nullptr;
  for (Value v : root->operands()) {
    if (v.node->op() != Op::kParameter) return nullptr;
  }
  if (region.outputs().size() == 1 && region.outputs()[0].node == root) return fusion;

  auto alone = std::make_unique<Graph>("contraction");
  std::vector<Value> outside, inside;
  for (Value v : root->operands()) {
    outside.push_back(fusion->operand(static_cast<int>(v.node->Int(Attr::index))));
    inside.push_back(alone->AddParameter(v.shape(), v.node->name()));
  }
  alone->SetOutputs({Copy(*root, inside, alone.get())->result()});
  Node* const contraction =
      graph.Append(Op::kFusion, outside, fusion->attrs(), {root->shape()}, fusion);
  contraction->set_name(fusion->name());
  contraction->AddRegion(std::move(alone));

  auto rest = std::make_unique<Graph>("epilogue");
  absl::flat_hash_map<Value, Value> moved;
  std::vector<Value> operands = {contraction->result()};
  moved[root->result()] = rest->AddParameter(root->shape());
  for (const auto& node : region.nodes()) {
    if (node->op() != Op::kParameter || (node->uses().empty() && !node->IsOutput())) continue;
    bool read = node->IsOutput();
    for (const ir::Use& use : node->uses()) read |= use.user != root;
    if (!read) continue;
    operands.push_back(fusion->operand(static_cast<int>(node->Int(Attr::index))));
    moved[node->result()] = rest->AddParameter(node->shape(), node->name());
  }
  for (const auto& node : region.nodes()) {
    if (node->op() == Op::kParameter || node.get() == root) continue;
    std::vector<Value> from;
    for (Value v : node->operands()) from.push_back(moved.at(v));
    Node* const copy = Copy(*node, from, rest.get());
    for (int r = 0; r < node->num_results(); ++r) moved[node->result(r)] = copy->result(r);
  }
  std::vector<Value> outputs;
  for (Value v : region.outputs()) outputs.push_back(moved.at(v));
  rest->SetOutputs(outputs);
  ir::Attributes attrs = fusion->attrs();
  attrs.Set(Attr::kind, ir::FusionKind::kLoop);
  attrs.Erase(Attr::schedule);
  Node* const epilogue = graph.Append(Op::kFusion, operands, attrs,
                                      {fusion->shapes().begin(), fusion->shapes().end()}, fusion);
  epilogue->set_name(fusion->name() + "/epilogue");
  epilogue->AddRegion(std::move(rest));
  for (int r = 0; r < fusion->num_results(); ++r) {
    graph.ReplaceAllUses(fusion->result(r), epilogue->result(r));
  }
  graph.Erase(fusion);
  return contraction;
}

}  // namespace tektite::passes
