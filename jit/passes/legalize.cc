// legalize: brings contractions into the forms that back ends have code for.
//
//   before  convolution(%x: f32[n,c,h,w], %k) {input_layout = "bf01", ...}
//   after   convolution(transpose(%x), transpose(%k)) {input_layout = "b01f", kernel_layout =
//           "01io", output_layout = "b01f"}, transposed back
//
// Convolutions become channels-last; zeros between their inputs and negative padding become a pad;
// a few groups of several channels become convolutions side by side where the back end says that
// this is faster (TargetInfo::groups), and others stay; those of volumes become convolutions of
// images.  A dot_general whose columns are not one
// stride apart gets its right-hand side transposed.  The gradients of convolutions need these
// rewrites: Conv2DBackpropInput dilates its input, and the gradients of filters get the form of
// jit/ops/filter_gradient.h.  few_features.h rewrites convolutions of few features.  Limits: four
// spatial dimensions stay as they are.

#include <algorithm>
#include <numeric>
#include <vector>

#include "jit/base/lists.h"
#include "jit/base/status.h"
#include "jit/ops/builder.h"
#include "jit/ops/filter_gradient.h"
#include "jit/ops/infer.h"
#include "jit/ops/ops.h"
#include "jit/passes/few_features.h"
#include "jit/passes/names.h"
#include "jit/passes/pass.h"

namespace tektite::passes {
namespace {

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

// A convolution that computes a filter's gradient keeps that form, with images first and channels
// last in its operands.
Value ChannelsLastInOperands(Node* node, const ops::ConvDims& d, FuncBuilder& b) {
  if (ops::IsFilterGradient(d)) return {};
  Ints in = {d.input_feature}, kernel = {d.kernel_input};
  for (int i = 0; i < d.spatial; ++i) {
    in.push_back(d.input_spatial[i]);
    kernel.push_back(d.kernel_spatial[i]);
  }
  in.push_back(d.input_batch);
  kernel.push_back(d.kernel_output);
  const std::string spatial = std::string("012").substr(0, d.spatial);
  Attributes attrs = node->attrs();
  attrs.Set(Attr::input_layout, "f" + spatial + "b").Set(Attr::kernel_layout, "i" + spatial + "o");
  return b.AddOne(Op::kConvolution,
                  {Transposed(b, node->operand(0), in), Transposed(b, node->operand(1), kernel)},
                  attrs);
}

// From here on the input's spatial dimensions are the ones between its first and its last.  The
// gradient of a filter reads the whole image for each tap, so it must have no padding at all.
Value PadOutside(Node* node, const ops::ConvDims& d, FuncBuilder& b) {
  const bool none = ops::IsFilterGradient(d);
  auto is_outside = [none](int64_t x) { return none ? x != 0 : x < 0; };
  if (AllAre(d.lhs_dilation, 1) && std::none_of(d.low.begin(), d.low.end(), is_outside) &&
      std::none_of(d.high.begin(), d.high.end(), is_outside)) {
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

// Each group by itself: the operands' channels in parts.  `grouped`: the attribute that says so.
Value SideBySide(Node* node, Attr grouped, int64_t groups, FuncBuilder& b) {
  const int last = node->shape().rank() - 1;
  const auto part = [&](int operand, int64_t group) {
    const Value v = node->operand(operand);
    const int64_t size = v.shape().dim(last).value() / groups;
    return b.SliceDim(v, last, group * size, (group + 1) * size);
  };
  Attributes attrs = node->attrs();
  attrs.Erase(grouped);
  std::vector<Value> parts;
  for (int64_t g = 0; g < groups; ++g) {
    parts.push_back(b.AddOne(Op::kConvolution, {part(0, g), part(1, g)}, attrs));
  }
  return b.Concatenate(parts, last);
}

bool IsFasterSplit(const Node& node, const ops::ConvDims& d, int64_t groups,
                   const target::TargetInfo& target) {
  const ir::DType dtype = node.shape().dtype();
  if (d.spatial > 2 || !ir::IsFloat(dtype)) return true;
  const int64_t least = std::min(node.operand_shape(0).dims().back().value_or(0),
                                 node.shape().dims().back().value_or(0)) /
                        groups;
  const target::GroupSplitting& rule = target.groups;
  const bool has_many_taps =
      rule.many_taps > 0 && d.batch_groups == 1 &&
      node.operand_shape(1).dim(d.kernel_spatial.back()).value_or(0) >= rule.many_taps;
  if (has_many_taps && least >= rule.channels_of_many_taps) return true;
  return least >= (dtype == ir::DType::kBF16 ? rule.channels_of_bf16 : rule.channels);
}

Value SplitGroups(Node* node, const ops::ConvDims& d, const PassContext& context, FuncBuilder& b) {
  const bool gives_filter = ops::GivesFilter(d) && d.feature_groups == 1;
  const int64_t groups = gives_filter ? d.batch_groups : d.feature_groups;
  const int last = node->shape().rank() - 1;
  const Dim &channels = node->operand_shape(0).dim(last), &features = node->shape().dim(last);
  if (groups == 1 || groups > kMaxGroups || (!gives_filter && d.batch_groups != 1) ||
      !channels.is_constant() || !features.is_constant() || channels == Dim(groups)) {
    return {};
  }
  if (!IsFasterSplit(*node, d, groups, context.target)) return {};
  return SideBySide(node, gives_filter ? Attr::batch_group_count : Attr::feature_group_count,
                    groups, b);
}

// Slices of a volume as images.
Value Images(FuncBuilder& b, Value v) {
  if (!v) return v;
  const Dims& dims = v.shape().dims();
  return b.Reshape(v, {dims[0] * dims[1], dims[2], dims[3], dims[4]});
}

// Without the entry of the dimension that the slices lie along.
Ints OfImage(const Ints& v) { return Ints(v.begin() + 1, v.end()); }

// Taps along that dimension, each of which is a convolution of its own.
constexpr int64_t kMostSlices = 16;

// Groups of a volume: for each tap of the first dimension the slices that it reads are images,
// whose groups back ends have kernels for.
//   [n,d,h,w,c] by [k,kh,kw,i,o]  ->  the sum over k of [n*d',h,w,c] by [kh,kw,i,o]
Value SumOfSlices(Node* node, const ops::ConvDims& d, FuncBuilder& b) {
  const Dims &k = node->operand_shape(1).dims(), &to = node->shape().dims();
  const int64_t taps = k[0].value_or(0);
  const bool rounds = ir::DTypeBytes(node->shape().dtype()) == 2 && taps > 1;  // after each tap
  if (d.spatial != 3 || d.feature_groups == 1 || d.batch_groups != 1 || taps < 1 ||
      taps > kMostSlices || rounds || to[1] == Dim(0)) {
    return {};
  }
  Value x = node->operand(0), sum;
  if (d.low[0] != 0 || d.high[0] != 0) {
    x = b.Pad(x, b.Scalar(x.dtype(), 0), {0, d.low[0], 0, 0, 0}, {0, d.high[0], 0, 0, 0});
  }
  Attributes attrs = node->attrs();
  attrs.Set(Attr::input_layout, std::string("b01f"))
      .Set(Attr::kernel_layout, std::string("01io"))
      .Set(Attr::output_layout, std::string("b01f"))
      .Set(Attr::strides, OfImage(d.strides))
      .Set(Attr::low, OfImage(d.low))
      .Set(Attr::high, OfImage(d.high))
      .Set(Attr::rhs_dilation, OfImage(d.rhs_dilation));
  attrs.Erase(Attr::lhs_dilation);  // 1 by now
  for (int64_t tap = 0; tap < taps; ++tap) {
    const Dim first(tap * d.rhs_dilation[0]);
    const Dim behind = first + (to[1] - Dim(1)) * Dim(d.strides[0]) + Dim(1);
    const Value slices = b.SliceDim(x, 1, first, behind, d.strides[0]);
    const Value kernel = b.Reshape(b.SliceDim(node->operand(1), 0, Dim(tap), Dim(tap + 1)),
                                   {k[1], k[2], k[3], k[4]});
    const Value part = b.AddOne(Op::kConvolution, {Images(b, slices), kernel}, attrs);
    sum = sum ? b.Add(sum, part) : part;
  }
  return b.Reshape(sum, to);
}

// The gradient of such a filter: each of its slices is that of a filter of images.
Value FilterOfSlices(Node* node, const ops::ConvDims& d, FuncBuilder& b) {
  const Dims &to = node->shape().dims(), &given = node->operand_shape(1).dims();
  const int64_t taps = to[0].value_or(0);
  if (d.spatial != 3 || d.batch_groups == 1 || taps < 1 || taps > kMostSlices ||
      given[1] == Dim(0)) {
    return {};
  }
  Attributes attrs = node->attrs();
  attrs.Set(Attr::input_layout, std::string("f01b"))
      .Set(Attr::kernel_layout, std::string("i01o"))
      .Set(Attr::output_layout, std::string("01bf"))
      .Set(Attr::strides, OfImage(d.strides))
      .Set(Attr::rhs_dilation, OfImage(d.rhs_dilation));
  for (const Attr none : {Attr::low, Attr::high, Attr::lhs_dilation}) attrs.Erase(none);
  const Value dy = Images(b, node->operand(1));
  std::vector<Value> parts;
  for (int64_t tap = 0; tap < taps; ++tap) {
    const Dim first(tap * d.strides[0]);
    const Dim behind = first + (given[1] - Dim(1)) * Dim(d.rhs_dilation[0]) + Dim(1);
    const Value slices = b.SliceDim(node->operand(0), 1, first, behind, d.rhs_dilation[0]);
    const Value part = b.AddOne(Op::kConvolution, {Images(b, slices), dy}, attrs);
    parts.push_back(b.Reshape(part, {Dim(1), to[1], to[2], to[3], to[4]}));
  }
  return taps == 1 ? parts[0] : b.Concatenate(parts, 0);
}

Value LegalConvolution(Node* node, const PassContext& context, FuncBuilder& b) {
  auto dims = ops::GetConvDims(node->operand_shape(0).rank(), node->attrs());
  if (!dims.ok() || dims->spatial > 3) return {};
  if (ops::GivesFilter(*dims) && dims->feature_groups == 1) {
    if (Value v = ChannelsLastInOperands(node, *dims, b)) return v;
    if (Value v = FilterOfFewFeatures(*node, *dims, b)) return v;
    if (Value v = PadOutside(node, *dims, b)) return v;
    if (Value v = FilterOfSlices(node, *dims, b)) return v;
    return SplitGroups(node, *dims, context, b);
  }
  if (Value v = ChannelsLast(node, *dims, b)) return v;
  if (Value v = PadOutside(node, *dims, b)) return v;
  if (Value v = SumOfSlices(node, *dims, b)) return v;
  if (Value v = SumOfTaps(*node, *dims, b)) return v;
  return SplitGroups(node, *dims, context, b);
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

absl::StatusOr<bool> Legalize(Graph& graph, PassContext& context) {
  bool changed = false;
  // The result of a rewrite may need another one.
  for (bool again = true; again;) {
    again = false;
    for (Node* node : graph.NodeList()) {
      if (node->op() != Op::kConvolution && node->op() != Op::kDotGeneral) continue;
      FuncBuilder b(&graph, node);
      b.set_name(node->name());
      Value v =
          node->op() == Op::kConvolution ? LegalConvolution(node, context, b) : LegalDot(node, b);
      TEKTITE_RETURN_IF_ERROR(b.status());
      if (!v) continue;
      graph.Replace(node, {v});
      again = changed = true;
    }
  }
  return changed;
}

}  // namespace tektite::passes
