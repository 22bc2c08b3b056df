#include "jit/compiler/kernel_work.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/ir/control.h"
#include "jit/ops/contraction_axes.h"

namespace tektite::compiler {
namespace {

using ir::Attr;
using ir::Node;
using ir::Op;
using ir::Value;

double Elements(const ir::Shape& shape) { return static_cast<double>(shape.num_elements()); }

// Of an exponential, which takes the multipliers seven instructions (jit/llvm/math/exp.cc): one to
// find the exponent, two to take it off in two parts, three for the polynomial, one to multiply by
// the entry of a table.
constexpr double kFlopsOfExp = 14;

double Flops(const Node& node) {
  if (node.op() != Op::kDotGeneral && node.op() != Op::kConvolution) return 0;
  const auto axes = ops::GetContractionAxes(node);
  if (!axes.ok()) return 0;
  return 2 * static_cast<double>(SizeOf(axes->k).value()) * Elements(node.shape());
}

double FlopsOf(const ir::Graph& region) {
  double products = 0, exponentials = 0;
  for (const auto& node : region.nodes()) {
    products += Flops(*node);
    for (int r = 0; r < node->num_regions(); ++r) products += FlopsOf(node->region(r));
    if (node->op() == Op::kExp) exponentials += Elements(node->shape());
  }
  return products == 0 ? 0 : products + kFlopsOfExp * exponentials;
}

std::string Sizes(const std::vector<int64_t>& sizes, const std::vector<int64_t>& picked) {
  return absl::StrJoin(picked, "x",
                       [&](std::string* out, int64_t d) { absl::StrAppend(out, sizes[d]); });
}

std::string ShapeOfConvolution(const Node& node) {
  const auto dims = ops::GetConvDims(node.operand_shape(0).rank(), node.attrs());
  if (!dims.ok()) return "";
  const std::vector<int64_t> image = node.operand_shape(0).sizes(),
                             kernel = node.operand_shape(1).sizes();
  const std::string batch =
      image[dims->input_batch] == 1 ? "" : absl::StrCat(image[dims->input_batch], " of ");
  const int64_t channels = image[dims->input_feature], features = kernel[dims->kernel_output];
  const bool depthwise = dims->feature_groups == channels && features == channels;
  return absl::StrCat(batch, Sizes(image, {dims->input_spatial.begin(), dims->input_spatial.end()}),
                      "x", channels, " ",
                      Sizes(kernel, {dims->kernel_spatial.begin(), dims->kernel_spatial.end()}),
                      "/", dims->strides.empty() ? 1 : dims->strides.back(), " ",
                      depthwise ? "each" : absl::StrCat(features));
}

std::string ShapeOfProduct(const Node& node) {
  const ops::ContractionAxes axes = ops::GetDotAxes(node);
  const int64_t batch = SizeOf(axes.batch).value();
  return absl::StrCat(batch == 1 ? "" : absl::StrCat(batch, " of "), SizeOf(axes.m).value(), "x",
                      SizeOf(axes.k).value(), "x", SizeOf(axes.n).value());
}

std::string ShapeOf(const Node& fusion) {
  const Node* root = ops::FindContraction(fusion.region());
  if (root == nullptr) return absl::StrJoin(fusion.shapes()[0].sizes(), "x");
  return root->op() == Op::kConvolution ? ShapeOfConvolution(*root) : ShapeOfProduct(*root);
}

// The bytes that a fusion reads of the operand that is `parameter` inside it.
int64_t BytesRead(const Node& parameter) {
  int64_t gathered = 0;
  for (const ir::Use& use : parameter.uses()) {
    if (use.user->op() != Op::kGather || use.operand != 0) return parameter.shape().num_bytes();
    gathered += use.user->shape().num_bytes();
  }
  return std::min(gathered, parameter.shape().num_bytes());
}

bool IsStatic(const Node& fusion) {
  const auto is_static = [](const ir::Shape& shape) { return shape.is_static(); };
  return std::all_of(fusion.shapes().begin(), fusion.shapes().end(), is_static) &&
         std::all_of(fusion.operands().begin(), fusion.operands().end(),
                     [&](Value v) { return is_static(v.shape()); });
}

bool AllIn(const absl::flat_hash_set<const Node*>& set, const Node& node) {
  return std::all_of(node.operands().begin(), node.operands().end(),
                     [&](Value v) { return set.contains(v.node); });
}

void AddWork(const ir::Graph& graph, std::vector<KernelWork>* all) {
  absl::flat_hash_set<const Node*> of_weights;
  for (const auto& node : graph.nodes()) {
    if (node->op() == Op::kParameter ? node->Bool(Attr::weight) : AllIn(of_weights, *node)) {
      of_weights.insert(node.get());
    }
    if (ir::IsControl(*node)) {
      for (int r = 0; r < node->num_regions(); ++r) AddWork(node->region(r), all);
    }
    if (node->op() != Op::kFusion) continue;
    if (!IsStatic(*node)) {
      all->emplace_back();
      continue;
    }
    KernelWork work;
    work.flops = FlopsOf(node->region());
    for (int i = 0; i < node->num_operands(); ++i) {
      const int64_t bytes = BytesRead(*node->region().parameters()[i]);
      work.bytes += bytes;
      if (of_weights.contains(node->operand(i).node)) work.weight_bytes += bytes;
    }
    for (const ir::Shape& shape : node->shapes()) work.bytes += shape.num_bytes();
    work.shape = ShapeOf(*node);
    all->push_back(work);
  }
}

}  // namespace

std::vector<KernelWork> WorkOfKernels(const ir::Graph& graph) {
  std::vector<KernelWork> all;
  AddWork(graph, &all);
  return all;
}

}  // namespace tektite::compiler
