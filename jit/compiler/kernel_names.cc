#include "jit/compiler/kernel_names.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "jit/ops/ops.h"
#include "jit/target/schedules.h"

namespace tektite::compiler {
namespace {

using ir::Attr;
using ir::FusionKind;
using ir::Graph;
using ir::Node;
using ir::Op;

// Parts of a description beside its head.
constexpr size_t kMostParts = 3;
constexpr size_t kMostLayerBytes = 60;

bool IsSplat(const Node& node, double value) {
  if (node.op() == Op::kBroadcastInDim) return IsSplat(*node.operand(0).node, value);
  return node.op() == Op::kConstant && node.attrs().GetLiteral(Attr::value).IsAll(value);
}

std::string ConvolutionText(const Node& node) {
  const auto dims = ops::GetConvDims(node.operand_shape(0).rank(), node.attrs());
  if (!dims.ok()) return "conv";
  const ir::Shape& kernel = node.operand_shape(1);
  const std::string window =
      absl::StrJoin(dims->kernel_spatial, "x", [&](std::string* out, int64_t d) {
        absl::StrAppend(out, kernel.dim(static_cast<int>(d)).ToString());
      });
  return absl::StrCat(dims->feature_groups > 1 ? "depthwise conv " : "conv ", window);
}

// Softmax and the like are several reductions and what is between them.
std::string RowsText(const Graph& region) {
  bool has_exp = false, has_root = false;
  absl::string_view reducer;
  for (const auto& node : region.nodes()) {
    has_exp |= node->op() == Op::kExp;
    has_root |= node->op() == Op::kRsqrt || node->op() == Op::kSqrt;
    if (node->op() == Op::kReduce) reducer = node->String(Attr::reducer);
  }
  if (has_exp) return "softmax";
  if (has_root) return "normalize";
  return reducer.empty() ? std::string(HeadOp(region)) : absl::StrCat("reduce ", reducer);
}

std::string HeadText(const Node& fusion) {
  const Graph& region = fusion.region();
  switch (fusion.fusion_kind()) {
    case FusionKind::kAttention:
      return "attention";
    case FusionKind::kRow:
    case FusionKind::kReduce:
      return RowsText(region);
    default:
      break;
  }
  const Node* const root = ops::FindContraction(region);
  if (root != nullptr && root->op() == Op::kConvolution) return ConvolutionText(*root);
  // A convolution of single pixels has become a product.
  if (root != nullptr) return root->operand_shape(0).rank() > 3 ? "conv 1x1" : "matmul";
  return std::string(HeadOp(region));
}

// What an elementwise op is called by people; empty for what says nothing.
std::string PartText(const Node& node) {
  if (!ir::IsElementwise(node.op())) return "";
  const auto is_operand = [&](Op op) {
    return std::any_of(node.operands().begin(), node.operands().end(),
                       [op](ir::Value v) { return v.node->op() == op; });
  };
  const auto has_splat = [&](double value) {
    return std::any_of(node.operands().begin(), node.operands().end(),
                       [value](ir::Value v) { return IsSplat(*v.node, value); });
  };
  switch (node.op()) {
    case Op::kAdd:
      return is_operand(Op::kBroadcastInDim) ? "bias" : "add";
    case Op::kMax:
      return has_splat(0) ? "relu" : "max";
    case Op::kMin:
      return has_splat(6) ? "relu6" : "min";
    case Op::kClamp:
      return has_splat(0) && has_splat(6) ? "relu6" : "clamp";
    case Op::kSelect:
      // How activations are written that keep NaN as TensorFlow does.
      return has_splat(6) ? "relu6" : has_splat(0) ? "relu" : "";
    case Op::kBitcast:
    case Op::kConvert:
    case Op::kCompare:
      return "";
    default:
      return std::string(ir::OpName(node.op()));
  }
}

// The parts that follow a contraction, or all of a fusion that has no other head.
std::vector<std::string> PartsOf(const Node& fusion, const Node* after) {
  std::vector<std::string> parts;
  bool counts = after == nullptr;
  for (const auto& node : fusion.region().nodes()) {
    if (counts) {
      const std::string part = PartText(*node);
      if (part == "relu6" && !parts.empty() && parts.back() == "relu") parts.pop_back();
      if (!part.empty() && std::find(parts.begin(), parts.end(), part) == parts.end()) {
        parts.push_back(part);
      }
    }
    counts |= node.get() == after;
  }
  return parts;
}

}  // namespace

absl::string_view HeadOp(const Graph& region) {
  absl::string_view head = "copy";
  for (const auto& node : region.nodes()) {
    switch (ir::GetOpInfo(node->op()).family) {
      case ir::OpFamily::contraction:
      case ir::OpFamily::indexed:
      case ir::OpFamily::matrix:
      case ir::OpFamily::order:
      case ir::OpFamily::spectrum:
        return ir::OpName(node->op());
      default:
        if (node->op() != Op::kParameter) head = ir::OpName(node->op());
    }
  }
  return head;
}

const Node* NarrowProduct(const Graph& region) {
  const Node* const root = ops::FindContraction(region);
  return root != nullptr && root->attrs().Has(Attr::dtype) ? root : nullptr;
}

ir::DType NarrowTypeOf(const Node& product) {
  const ir::DType lhs = product.operand_shape(0).dtype();
  return lhs == product.shape().dtype() ? product.operand_shape(1).dtype() : lhs;
}

std::string DescribeFusion(const Node& fusion) {
  const FusionKind kind = fusion.fusion_kind();
  const Node* const root = ops::FindContraction(fusion.region());
  const bool is_elementwise = kind == FusionKind::kLoop && root == nullptr;
  std::vector<std::string> parts;
  // Within attention or softmax nothing is worth a word.
  if (is_elementwise || (root != nullptr && kind != FusionKind::kAttention)) {
    parts = PartsOf(fusion, root);
  }
  if (!is_elementwise || parts.empty()) parts.insert(parts.begin(), HeadText(fusion));
  if (parts.size() > kMostParts + 1) {
    const size_t more = parts.size() - kMostParts;
    parts.resize(kMostParts);
    parts.push_back(absl::StrCat(more, " more"));
  }
  return absl::StrJoin(parts, " + ");
}

std::string LayerOf(absl::string_view node) {
  std::vector<absl::string_view> scopes;
  bool is_gradient = false;
  for (absl::string_view part : absl::StrSplit(node, '/')) {
    is_gradient |= part == "gradient_tape" || part == "gradients";
    const bool says_nothing = absl::StrContains(part, "PartitionedCall") ||
                              part == "gradient_tape" || part == "gradients" || part.empty();
    if (!says_nothing) scopes.push_back(part);
  }
  const absl::string_view own = scopes.empty() ? absl::string_view() : scopes.back();
  if (!scopes.empty()) scopes.pop_back();
  if (scopes.size() > 1) scopes.erase(scopes.begin());
  if (scopes.size() > 2) scopes.erase(scopes.begin(), scopes.end() - 2);
  std::string layer = scopes.empty() ? std::string(own) : absl::StrJoin(scopes, "/");
  if (layer.size() > kMostLayerBytes) {
    layer = absl::StrCat("...", layer.substr(layer.size() - kMostLayerBytes));
  }
  if (is_gradient) absl::StrAppend(&layer, " gradient");
  return layer;
}

KernelName NameOfKernel(const Node& fusion, size_t number) {
  const std::string layer = LayerOf(fusion.name());
  const target::Schedule schedule = target::ScheduleOf(fusion);
  std::string id = absl::StrCat("k", number, "_", ir::FusionKindName(fusion.fusion_kind()), "_",
                                HeadOp(fusion.region()));
  KernelName names;
  names.what = DescribeFusion(fusion);
  if (const Node* const product = NarrowProduct(fusion.region()); product != nullptr) {
    const std::string dtype(ir::DTypeName(NarrowTypeOf(*product)));
    absl::StrAppend(&id, "_in_", dtype);  // programs that are loaded count such steps by it
    absl::StrAppend(&names.what, " in ", dtype);
  }
  if (!schedule.IsOwn()) {
    absl::StrAppend(&id, "_by_", schedule.implementation);
    absl::StrAppend(&names.what, " by ", schedule.implementation);
  }
  names.title = absl::StrCat(layer, layer.empty() ? "" : ": ", names.what);
  names.shown = absl::StrCat(names.title, " [", id, "]");
  names.symbol = id;
  if (!layer.empty()) absl::StrAppend(&names.symbol, "_of_");
  for (const char c : layer) {
    names.symbol += absl::ascii_isalnum(static_cast<unsigned char>(c)) ? c : '_';
  }
  return names;
}

}  // namespace tektite::compiler
