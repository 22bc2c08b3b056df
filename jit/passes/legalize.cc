// legalize: brings contractions into the forms that back ends have code for.
//
//   before  convolution(%x: f32[n,c,h,w], %k) {input_layout = "bf01", ...}
//   after   convolution(transpose(%x), transpose(%k)) {input_layout = "b01f", kernel_layout =
//           "01io", output_layout = "b01f"}, transposed back
//
// Convolutions become channels-last; zeros between their inputs and negative padding become a pad;
// feature groups become depthwise convolutions, or convolutions side by side.  A dot_general whose
// columns are not one stride apart gets its right-hand side transposed.  The gradients of
// convolutions need these rewrites: Conv2DBackpropInput dilates its input, and the gradients of
// filters get the form of jit/ops/filter_gradient.h, groups side by side.  A depthwise one stays
// where each channel has one filter, and is a sum of products for each tap otherwise.
// few_features.h rewrites convolutions of few features.  Limits: more groups than kMaxGroups that
// are not depthwise and four spatial dimensions stay as they are.

#include <algorithm>
#include <numeric>
#include <vector>

#include "jit/base/status.h"
#include "jit/ops/builder.h"
#include "jit/ops/filter_gradient.h"
#include "jit/ops/infer.h"
#include "jit/ops/ops.h"
#include "jit/passes/few_features.h"
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
// The gradient of a filter with several features for each channel has a sum for each of its taps.
constexpr int64_t kMaxTaps = 128;

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

Value SplitGroups(Node* node, const ops::ConvDims& d, FuncBuilder& b) {
  const int64_t groups = d.feature_groups;
  const int last = node->shape().rank() - 1;
  const auto channels = node->operand_shape(0).dim(last), features = node->shape().dim(last);
  if (groups == 1 || d.batch_groups != 1 || !channels.is_constant() || !features.is_constant()) {
    return {};
  }
  const int64_t in = channels.value() / groups, out = features.value() / groups;
  if (in == 1 && out == 1 && groups > 1) return {};  // depthwise
  if (d.spatial <= 2 && ir::IsFloat(node->shape().dtype())) return {};
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

// For each tap the sum over images and pixels of x * dy: f32[h,w,1,c*m] of x: f32[n,..,c] and
// dy: f32[n,..,c*m].
Value DepthwiseFilter(Node* node, const ops::ConvDims& d, FuncBuilder& b) {
  Value x = node->operand(0), dy = node->operand(1);
  const ir::DType dtype = x.shape().dtype();
  const bool is_narrow = ir::IsFloat(dtype) && ir::DTypeBytes(dtype) < 4;
  const Dim channels = x.shape().dims().back();
  Dims product = dy.shape().dims();
  product.back() = channels;
  product.push_back(FloorDiv(dy.shape().dims().back(), channels));
  dy = b.Reshape(dy, product);
  Ints places(product.size() - 1), summed(d.spatial + 1);
  std::iota(places.begin(), places.end(), 0);
  std::iota(summed.begin(), summed.end(), 0);
  // Behind the last pixel that a tap reads there is room for the rest of its step, so that it is
  // seen to read as many as dy has, whatever that is.
  Ints none(node->shape().rank(), 0), rest = none;
  for (int i = 0; i < d.spatial; ++i) {
    if (!product[1 + i].is_constant()) rest[1 + i] = d.rhs_dilation[i] - 1;
  }
  if (rest != none) x = b.Pad(x, b.Scalar(dtype, 0), none, rest);
  std::vector<Value> taps;
  std::vector<int64_t> tap(d.spatial, 0);
  auto next = [&] {  // false after the last one
    for (int i = d.spatial; i-- > 0;) {
      if (++tap[i] < node->shape().dim(i).value()) return true;
      tap[i] = 0;
    }
    return false;
  };
  do {
    Dims starts = {Dim(0)}, limits = {product[0]};
    Ints steps = {1};
    for (int i = 0; i < d.spatial; ++i) {
      starts.push_back(tap[i] * d.strides[i]);
      const Dim& size = product[1 + i];
      limits.push_back(starts.back() + (size.is_constant() ? ops::Dilated(size, d.rhs_dilation[i])
                                                           : size * Dim(d.rhs_dilation[i])));
      steps.push_back(d.rhs_dilation[i]);
    }
    starts.push_back(Dim(0));
    limits.push_back(channels);
    steps.push_back(1);
    Value moved = b.BroadcastInDim(b.Slice(x, starts, limits, steps), product, places);
    Value terms = is_narrow
                      ? b.Mul(b.Convert(moved, ir::DType::kF32), b.Convert(dy, ir::DType::kF32))
                      : b.Mul(moved, dy);
    Value sum = b.Convert(b.Reduce(terms, summed, "add"), dtype);
    taps.push_back(b.Reshape(sum, {Dim(1), node->shape().dims().back()}));
  } while (next());
  return b.Reshape(b.Concatenate(taps, 0), node->shape().dims());
}

Value SplitFilterGroups(Node* node, const ops::ConvDims& d, FuncBuilder& b) {
  const int last = node->shape().rank() - 1;
  const auto channels = node->operand_shape(0).dim(last), features = node->shape().dim(last);
  const int64_t groups = d.batch_groups;
  if (groups == 1 || !channels.is_constant() || !features.is_constant()) return {};
  int64_t num_taps = 1;
  for (int i = 0; i < d.spatial; ++i) {
    const Dim& size = node->shape().dim(i);
    if (!size.is_constant()) return {};
    num_taps *= size.value();
  }
  if (d.spatial <= 2 && ir::IsFloat(node->shape().dtype())) return {};
  if (channels.value() == groups && num_taps > 0 && num_taps <= kMaxTaps) {
    const bool has_code =
        features == channels && d.spatial <= 2 && ir::IsFloat(node->shape().dtype());
    return has_code ? Value() : DepthwiseFilter(node, d, b);
  }
  if (groups > kMaxGroups) return {};
  const int64_t in = channels.value() / groups, out = features.value() / groups;
  Attributes attrs = node->attrs();
  attrs.Erase(Attr::batch_group_count);
  std::vector<Value> parts;
  for (int64_t g = 0; g < groups; ++g) {
    Value x = b.SliceDim(node->operand(0), last, g * in, (g + 1) * in);
    Value dy = b.SliceDim(node->operand(1), last, g * out, (g + 1) * out);
    parts.push_back(b.AddOne(Op::kConvolution, {x, dy}, attrs));
  }
  return b.Concatenate(parts, last);
}

Value LegalConvolution(Node* node, FuncBuilder& b) {
  auto dims = ops::GetConvDims(node->operand_shape(0).rank(), node->attrs());
  if (!dims.ok() || dims->spatial > 3) return {};
  if (ops::GivesFilter(*dims) && dims->feature_groups == 1) {
    if (Value v = ChannelsLastInOperands(node, *dims, b)) return v;
    if (Value v = FilterOfFewFeatures(*node, *dims, b)) return v;
    if (Value v = PadOutside(node, *dims, b)) return v;
    return SplitFilterGroups(node, *dims, b);
  }
  if (Value v = ChannelsLast(node, *dims, b)) return v;
  if (Value v = PadOutside(node, *dims, b)) return v;
  if (Value v = SumOfTaps(*node, *dims, b)) return v;
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
  // The result of a rewrite may need another one.
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
