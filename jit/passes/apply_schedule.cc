#include "jit/passes/apply_schedule.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "jit/base/status.h"
#include "jit/ops/ops.h"
#include "jit/passes/names.h"
#include "jit/passes/store_features_first.h"

namespace tektite::passes {
namespace {

// Moves a contraction's epilogue out of its fusion, into a fusion of its own, for a way to make the
// kernel that can do nothing else.
//
//   before  fusion(%x, %w, %b) {kind = contraction}: max(add(convolution(%x, %w), %b), 0)
//   after   fusion(%x, %w) {kind = contraction}: convolution(%x, %w)
//           fusion(that, %b) {kind = loop}: max(add(%0, %b), 0)
//
// The right-hand side is not packed yet.  Returns the fusion that holds the contraction, which is
// `fusion` itself when there is nothing beside it; null when the contraction reads something that
// is computed in the fusion, or is read outside through a view.
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
  alone->SetOutputs({alone->AppendCopy(*root, inside)->result()});
  Node* const contraction = graph.AppendFusion(outside, fusion->attrs(), std::move(alone), fusion);
  contraction->set_name(fusion->name());

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
    Node* const copy = rest->AppendCopy(*node, from);
    for (int r = 0; r < node->num_results(); ++r) moved[node->result(r)] = copy->result(r);
  }
  std::vector<Value> outputs;
  for (Value v : region.outputs()) outputs.push_back(moved.at(v));
  rest->SetOutputs(outputs);
  ir::Attributes attrs = fusion->attrs();
  attrs.Set(Attr::kind, ir::FusionKind::kLoop);
  attrs.Erase(Attr::schedule);
  Node* const epilogue = graph.AppendFusion(operands, attrs, std::move(rest), fusion);
  epilogue->set_name(fusion->name() + "/epilogue");
  graph.Replace(fusion, epilogue->results());
  return contraction;
}

}  // namespace

absl::StatusOr<ir::Node*> ApplySchedule(ir::Graph& graph, ir::Node* fusion,
                                        const target::Schedule& schedule) {
  if (schedule.stands_alone) fusion = SplitEpilogue(graph, fusion);
  if (fusion == nullptr) return fusion;
  if (schedule.features_first) {
    TEKTITE_ASSIGN_OR_RETURN(fusion, StoreFeaturesFirst(graph, fusion));
  }
  target::SetSchedule(schedule, fusion);
  return fusion;
}

}  // namespace tektite::passes
