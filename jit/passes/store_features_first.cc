#include "jit/passes/store_features_first.h"

#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "jit/base/status.h"
#include "jit/ops/builder.h"
#include "jit/ops/filter_gradient.h"
#include "jit/ops/ops.h"
#include "jit/passes/names.h"

namespace tektite::passes {
namespace {

// "01": the dimensions of pixels.
std::string Digits(int spatial) {
  std::string digits;
  for (int i = 0; i < spatial; ++i) digits.push_back(static_cast<char>('0' + i));
  return digits;
}

// Where each dimension of layout `to` stands in `from`.
std::vector<int64_t> PermutationBetween(const std::string& from, const std::string& to) {
  std::vector<int64_t> permutation;
  for (char dimension : to) permutation.push_back(static_cast<int64_t>(from.find(dimension)));
  return permutation;
}

// A fusion, before `before`, that transposes `x`.
absl::StatusOr<Node*> Transposition(Graph& graph, Value x, const std::vector<int64_t>& permutation,
                                    const std::string& name, Node* before) {
  auto region = std::make_unique<Graph>("transposition");
  const Value operand = region->AddParameter(x.shape());
  ops::FuncBuilder b(region.get(), nullptr);
  const Value moved = b.Transpose(operand, permutation);
  TEKTITE_RETURN_IF_ERROR(b.status());
  region->SetOutputs({moved});
  Node* const fusion =
      graph.AppendFusion({x}, {{Attr::kind, ir::FusionKind::kLoop}}, std::move(region), before);
  fusion->set_name(name);
  return fusion;
}

absl::StatusOr<Node*> StoreFilter(Graph& graph, Node* fusion, Node* root, const std::string& to) {
  const std::string from = root->String(Attr::kernel_layout);
  const Value filter = root->operand(1);
  if (from == to || filter.node->op() != Op::kParameter) return fusion;
  const int operand = static_cast<int>(filter.node->Int(Attr::index));
  TEKTITE_ASSIGN_OR_RETURN(Node* const moved, Transposition(graph, fusion->operand(operand),
                                                            PermutationBetween(from, to),
                                                            fusion->name() + "/filter", fusion));
  filter.node->set_shape(0, moved->shape());
  root->attrs().Set(Attr::kernel_layout, to);
  fusion->SetOperand(operand, moved->result());
  return fusion;
}

absl::StatusOr<Node*> StoreGradient(Graph& graph, Node* fusion, const std::string& to) {
  const Graph& region = fusion->region();
  const Node& root = *ops::FindContraction(region);
  if (region.outputs().size() != 1 || region.outputs()[0].node != &root) return fusion;
  const std::string from = root.String(Attr::output_layout);
  auto alone = region.Clone();
  Node* const moved_root = ops::FindContraction(*alone);
  const std::vector<int64_t> permutation = PermutationBetween(from, to);
  ir::Dims dims;
  for (int64_t d : permutation) dims.push_back(root.shape().dim(static_cast<int>(d)));
  moved_root->attrs().Set(Attr::output_layout, to);
  moved_root->set_shape(0, ir::Shape(root.shape().dtype(), dims));
  Node* const gradient =
      graph.AppendFusion(fusion->operands(), fusion->attrs(), std::move(alone), fusion);
  gradient->set_name(fusion->name());
  TEKTITE_ASSIGN_OR_RETURN(Node* const back,
                           Transposition(graph, gradient->result(), PermutationBetween(to, from),
                                         fusion->name() + "/filter", fusion));
  graph.Replace(fusion, back->results());
  return gradient;
}

}  // namespace

absl::StatusOr<Node*> StoreFeaturesFirst(Graph& graph, Node* fusion) {
  Node* const root = ops::FindContraction(fusion->region());
  if (root == nullptr || root->op() != Op::kConvolution) return fusion;
  TEKTITE_ASSIGN_OR_RETURN(const ops::ConvDims dims,
                           ops::GetConvDims(root->operand_shape(0).rank(), root->attrs()));
  const std::string pixels = Digits(dims.spatial);
  if (ops::IsFilterGradient(dims)) return StoreGradient(graph, fusion, "f" + pixels + "b");
  if (dims.output_feature == 0) return fusion;  // such a gradient, stored so already
  for (int64_t spread : dims.lhs_dilation) {
    if (spread != 1) return StoreFilter(graph, fusion, root, "i" + pixels + "o");
  }
  return StoreFilter(graph, fusion, root, "o" + pixels + "i");
}

}  // namespace tektite::passes
