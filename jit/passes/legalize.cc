// legalize: brings contractions into the forms that back ends have code for.
//
//   before  convolution(%x: f32[n,c,h,w], %k) {input_layout = "bf01", ...}
//   after   convolution(transpose(%x), transpose(%k)) {input_layout = "b01f", kernel_layout =
//           "01io", output_layout = "b01f"}, transposed back
//
// Convolutions become channels-last; zeros between their inputs and negative padding become a pad;
// feature groups become depthwise convolutions, or convolutions side by side.  A dot_general whose
// columns are not one stride apart gets its right-hand side transposed.  What the gradients of
// convolutions need is among these: Conv2DBackpropInput dilates its input, Conv2DBackpropFilter has
// batch and features change places.
// Limits: more groups than kMaxGroups that are not depthwise, batch groups and four spatial
// dimensions stay as they are.

#include <algorithm>
#include <numeric>
#include <vector>

#include "jit/base/status.h"
#include "jit/ops/builder.h"
#include "jit/ops/ops.h"
#include "jit/passes/pass.h"

namespace tektite::passes {
namespace {

using ir::Attr;
using ir::Attributes;
using ir::Dim;
using ir::Dims;
using ir::Graph;
using ir::Node;
using ir::Op;
using ir::Value;
using ops::FuncBuilder;
using Ints = std::vector<int64_t>;

// Side by side, each group is a kernel of its own.
constexpr int64_t kMaxGroups = 32;

Value Transposed(FuncBuilder& b, Value v, const Ints& permutation) {
  return std::is_sorted(permutation.begin(), permutation.end()) ? v : b.Transpose(v, permutation);
}

Ints Inverse(const Ints& permutation) {
  Ints inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) inverse[permutation[i]] = static_cast<int64_t>(i);
  return inverse;
}

bool AllAre(const Ints& values, int64_t v) {
  return std::all_of(values.begin(), values.end(), [v](int64_t x) { return x == v; });
}

// Channels last, in the order of the spatial dimensions.
Value ChannelsLast(Node* node, const ops::ConvDims& d, FuncBuilder& b) {
  Ints in = {d.input_batch}, kernel, out = {d.output_batch};
  for (int i = 0; i < d.spatial; ++i) {
    in.push_back(d.input_spatial[i]);
    kernel.push_back(d.kernel_spatial[i]);
    out.push_back(d.output_spatial[i]);
  }
  in.push_back(d.input_feature);
  kernel.insert(kernel.end(), {d.kernel_input, d.kernel_output});
  out.push_back(d.output_feature);
  auto sorted = [](const Ints& v) { return std::is_sorted(v.begin(), v.end()); };
  if (sorted(in) && sorted(kernel) && sorted(out)) return {};
  const std::string spatial = std::string("012").substr(0, d.spatial);
  Attributes attrs = node->attrs();
  attrs.Set(Attr::input_layout, "b" + spatial + "f")
      .Set(Attr::kernel_layout, spatial + "io")
      .Set(Attr::output_layout, "b" + spatial + "f");
  Value y = b.AddOne(Op::kConvolution,
                     {Transposed(b, node->operand(0), in), Transposed(b, node->operand(1), kernel)},
                     attrs);
  return Transposed(b, y, Inverse(out));
}

// From here on convolutions are channels-last.
Value PadOutside(Node* node, const ops::ConvDims& d, FuncBuilder& b) {
  auto negative = [](int64_t x) { return x < 0; };
  if (AllAre(d.lhs_dilation, 1) && std::none_of(d.low.begin(), d.low.end(), negative) &&
      std::none_of(d.high.begin(), d.high.end(), negative)) {
    return {};
  }
  Ints low = {0}, high = {0}, interior = {0};
  for (int i = 0; i < d.spatial; ++i) {
    low.push_back(d.low.empty() ? 0 : d.low[i]);
    high.push_back(d.high.empty() ? 0 : d.high[i]);
    interior.push_back(d.lhs_dilation.empty() ? 0 : d.lhs_dilation[i] - 1);
  }
  for (Ints* v : {&low, &high, &interior}) v->push_back(0);
  Value x = node->operand(0);
  x = b.Pad(x, b.Scalar(x.dtype(), 0), low, high, interior);
  Attributes attrs = node->attrs();
  attrs.Erase(Attr::low);
  attrs.Erase(Attr::high);
  attrs.Erase(Attr::lhs_dilation);
  return b.AddOne(Op::kConvolution, {x, node->operand(1)}, attrs);
}

Value SplitGroups(Node* node, const ops::ConvDims& d, FuncBuilder& b) {
  const int64_t groups = d.feature_groups;
  const int last = node->shape().rank() - 1;
  const auto channels = node->operand_shape(0).dim(last), features = node->shape().dim(last);
  if (groups == 1 || d.batch_groups != 1 || !channels.is_constant() || !features.is_constant()) {
    return {};
  }
  const int64_t in = channels.value() / groups, out = features.value() / groups;
  if (in == 1 && out == 1 && groups > 1) return {};  // depthwise
  std::vector<Value> parts;
  if (in == 1 && out <= kMaxGroups) {
    // Several filters per channel: a depthwise convolution for each, interleaved.
    for (int64_t j = 0; j < out; ++j) {
      Value kernel = b.SliceDim(node->operand(1), last, j, features, out);
      Value y = b.AddOne(Op::kConvolution, {node->operand(0), kernel}, node->attrs());
      Dims dims = y.shape().dims();
      dims.push_back(Dim(1));
      parts.push_back(b.Reshape(y, dims));
    }
    return b.Reshape(b.Concatenate(parts, last + 1), node->shape().dims());
  }
  if (groups > kMaxGroups) return {};
  Attributes attrs = node->attrs();
  attrs.Erase(Attr::feature_group_count);
  for (int64_t g = 0; g < groups; ++g) {
    Value x = b.SliceDim(node->operand(0), last, g * in, (g + 1) * in);
    Value kernel = b.SliceDim(node->operand(1), last, g * out, (g + 1) * out);
    parts.push_back(b.AddOne(Op::kConvolution, {x, kernel}, attrs));
  }
  return b.Concatenate(parts, last);
}

Value LegalConvolution(Node* node, FuncBuilder& b) {
  auto dims = ops::GetConvDims(node->operand_shape(0).rank(), node->attrs());
  if (!dims.ok() || dims->spatial > 3) return {};
  if (Value v = ChannelsLast(node, *dims, b)) return v;
  if (Value v = PadOutside(node, *dims, b)) return v;
  return SplitGroups(node, *dims, b);
}

// Columns that are one stride apart: the right-hand side's free dimensions are neighbours.
Value LegalDot(Node* node, FuncBuilder& b) {
  ops::DotDims dims = ops::GetDotDims(*node);
  Ints free;
  for (int64_t d : dims.rhs_free) {
    if (node->operand_shape(1).dim(static_cast<int>(d)) != Dim(1)) free.push_back(d);
  }
  bool neighbours = true;
  for (size_t i = 1; i < free.size(); ++i) {
    for (int64_t d = free[i - 1] + 1; d < free[i]; ++d) {
      neighbours &= node->operand_shape(1).dim(static_cast<int>(d)) == Dim(1);
    }
  }
  if (neighbours) return {};
  Ints permutation = dims.rhs_batch;
  permutation.insert(permutation.end(), dims.rhs_contracting.begin(), dims.rhs_contracting.end());
  permutation.insert(permutation.end(), dims.rhs_free.begin(), dims.rhs_free.end());
  std::iota(dims.rhs_batch.begin(), dims.rhs_batch.end(), 0);
  std::iota(dims.rhs_contracting.begin(), dims.rhs_contracting.end(),
            static_cast<int64_t>(dims.rhs_batch.size()));
  return b.DotGeneral(node->operand(0), b.Transpose(node->operand(1), permutation), dims);
}

}  // namespace

absl::StatusOr<bool> Legalize(Graph& graph, PassContext&) {
  bool changed = false;
  // What a rewrite makes may need another one.
  for (bool again = true; again;) {
    again = false;
    for (Node* node : graph.NodeList()) {
      if (node->op() != Op::kConvolution && node->op() != Op::kDotGeneral) continue;
      FuncBuilder b(&graph, node);
      b.set_name(node->name());
      Value v = node->op() == Op::kConvolution ? LegalConvolution(node, b) : LegalDot(node, b);
      TEKTITE_RETURN_IF_ERROR(b.status());
      if (!v) continue;
      graph.ReplaceAllUses(node->result(), v);
      graph.Erase(node);
      again = changed = true;
    }
  }
  return changed;
}

}  // namespace tektite::passes
