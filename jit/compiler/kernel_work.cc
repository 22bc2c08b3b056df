#include "jit/compiler/kernel_work.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "jit/ops/ops.h"

namespace tektite::compiler {
namespace {

using ir::Attr;
using ir::Node;
using ir::Op;
using ir::Value;

double Elements(const ir::Shape& shape) { return static_cast<double>(shape.num_elements()); }

double Flops(const Node& node) {
  double additions = 0;  // of one element of the result
  if (node.op() == Op::kDotGeneral) {
    additions = 1;
    for (int64_t d : node.Ints(Attr::lhs_contracting)) {
      additions *= static_cast<double>(node.operand_shape(0).sizes()[d]);
    }
  } else if (node.op() == Op::kConvolution) {
    const auto dims = ops::GetConvDims(node.operand_shape(0).rank(), node.attrs());
    if (!dims.ok()) return 0;
    const ir::Shape& kernel = node.operand_shape(1);
    additions =
        Elements(kernel) / std::max(1.0, static_cast<double>(kernel.sizes()[dims->kernel_output]));
  }
  return 2 * additions * Elements(node.shape());
}

double FlopsOf(const ir::Graph& region) {
  double flops = 0;
  for (const auto& node : region.nodes()) {
    flops += Flops(*node);
    for (int r = 0; r < node->num_regions(); ++r) flops += FlopsOf(node->region(r));
  }
  return flops;
}

// What a fusion reads of the operand that is `parameter` inside it.
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

}  // namespace

std::vector<KernelWork> WorkOfKernels(const ir::Graph& graph) {
  std::vector<KernelWork> all;
  absl::flat_hash_set<const Node*> of_weights;
  for (const auto& node : graph.nodes()) {
    if (node->op() == Op::kParameter ? node->Bool(Attr::weight) : AllIn(of_weights, *node)) {
      of_weights.insert(node.get());
    }
    if (node->op() != Op::kFusion) continue;
    if (!IsStatic(*node)) {
      all.emplace_back();
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
    all.push_back(work);
  }
  return all;
}

}  // namespace tektite::compiler
