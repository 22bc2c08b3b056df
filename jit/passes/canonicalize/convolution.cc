// Rules of convolution.
#include <algorithm>
#include <utility>
#include <vector>

#include "jit/ops/ops.h"
#include "jit/passes/canonicalize/rules.h"

namespace tektite::passes::rules {

using ops::ConvDims;

// convolution(%x: f32[n,7,7,64], %w: f32[1,1,64,128])
//   ->  dot_general(%x, reshape(%w), shape=[64,128]), lhs_contracting=[3], rhs_contracting=[0]
// for one tap, stride 1, no padding, no groups, and features last in input and output.
Value ConvolutionOfOneTap(Node* node, FuncBuilder& b) {
  const std::optional<ConvDims> d = ConvolutionDims(*node);
  const Shape &input = node->operand_shape(0), &kernel = node->operand_shape(1);
  if (!d || !IsOfOneTap(*node, *d) || !AllAre(d->strides, 1)) return {};
  // dot_general leaves the input's dimensions in their order and appends the output features.
  std::vector<int> from = {d->input_batch}, to = {d->output_batch};
  from.insert(from.end(), d->input_spatial.begin(), d->input_spatial.end());
  to.insert(to.end(), d->output_spatial.begin(), d->output_spatial.end());
  if (d->input_feature != input.rank() - 1 || d->output_feature != input.rank() - 1 || from != to) {
    return {};
  }
  const bool input_first = d->kernel_input < d->kernel_output;
  const Dim &in = kernel.dim(d->kernel_input), &out = kernel.dim(d->kernel_output);
  Value matrix = b.Reshape(node->operand(1), input_first ? Dims{in, out} : Dims{out, in});
  ops::DotDims dot;
  dot.lhs_contracting = {d->input_feature};
  dot.rhs_contracting = {input_first ? 0 : 1};
  return b.DotGeneral(node->operand(0), matrix, dot);
}

// convolution(%x: f32[n,3,3,64], %w: f32[1,1,64,128]), lhs_dilation=[2,2], high=[1,1]
//   ->  pad(convolution(%x, %w), 0), interior=[0,1,1,0], high=[0,1,1,0]
// for one tap and stride 1: the zeros between the elements need not be multiplied.  The gradient
// towards the input of a strided convolution of one tap; with strides of 2, a quarter of the work.
Value ConvolutionOfSpreadInput(Node* node, FuncBuilder& b) {
  const std::optional<ConvDims> d = ConvolutionDims(*node);
  if (!d || d->batch_groups != 1 || !AllAre(d->strides, 1) || AllAre(d->lhs_dilation, 1)) return {};
  const int rank = node->shape().rank();
  Ints low(rank, 0), high(rank, 0), interior(rank, 0);
  for (int i = 0; i < d->spatial; ++i) {
    if (!IsOne(node->operand_shape(1).dim(d->kernel_spatial[i]))) return {};
    const int out = d->output_spatial[i];
    low[out] = d->low[i];
    high[out] = d->high[i];
    interior[out] = d->lhs_dilation[i] - 1;
  }
  Attributes attrs = node->attrs();
  for (Attr attr : {Attr::low, Attr::high, Attr::lhs_dilation}) attrs.Erase(attr);
  Value y = b.AddOne(Op::kConvolution, {node->operand(0), node->operand(1)}, attrs);
  return y ? b.Pad(y, b.Scalar(y.dtype(), 0), low, high, interior) : Value();
}

// convolution(%x: f32[8,7,7,64], %w: f32[8,7,7,128]), input fhwb, kernel ihwo, output hwbf
//   ->  reshape(dot_general(%x, %w), lhs_contracting=[0,1,2], rhs_contracting=[0,1,2])
// for one place of the window and no padding, as the gradient of a filter of one tap has it; a
// dilated window reads a strided slice.
Value ConvolutionOfOnePlace(Node* node, FuncBuilder& b) {
  const std::optional<ConvDims> d = ConvolutionDims(*node);
  if (!d || d->feature_groups != 1 || d->batch_groups != 1 || !AllAre(d->low, 0) ||
      !AllAre(d->high, 0) || !AllAre(d->lhs_dilation, 1) || d->output_batch > d->output_feature) {
    return {};
  }
  const Shape &input = node->operand_shape(0), &kernel = node->operand_shape(1);
  Dims limits = input.dims();
  Ints steps(input.rank(), 1);
  // In the order in which they lie in the input, so that they are one dimension where they can be.
  std::vector<std::pair<int64_t, int64_t>> contracting = {{d->input_feature, d->kernel_input}};
  for (size_t i = 0; i < d->input_spatial.size(); ++i) {
    const int in = d->input_spatial[i], k = d->kernel_spatial[i];
    if (!IsOne(node->shape().dim(d->output_spatial[i])) || !kernel.dim(k).is_constant() ||
        kernel.dim(k) == Dim(0)) {
      return {};
    }
    limits[in] = Dim((kernel.dim(k).value() - 1) * d->rhs_dilation[i] + 1);
    steps[in] = d->rhs_dilation[i];
    contracting.emplace_back(in, k);
  }
  std::sort(contracting.begin(), contracting.end());
  ops::DotDims dot;
  for (const auto& [in, k] : contracting) {
    dot.lhs_contracting.push_back(in);
    dot.rhs_contracting.push_back(k);
  }
  Value x = node->operand(0);
  if (limits != input.dims() || !AllAre(steps, 1)) {
    x = b.Slice(x, Dims(input.rank(), Dim(0)), limits, steps);
  }
  return b.Reshape(b.DotGeneral(x, node->operand(1), dot), node->shape().dims());
}

// convolution(pad(%x, 0), low=[0,1,1,0], high=[0,1,1,0], %w), low=[0,0], high=[0,0]
//   ->  convolution(%x, %w), low=[1,1], high=[1,1]
// as ZeroPadding2D before Conv2D makes it.  Padding that is never read is not multiplied either, so
// an infinite weight makes no NaN at the border.
Value ConvolutionOfPad(Node* node, FuncBuilder& b) {
  Node* pad = Producer(node->operand(0), Op::kPad);
  if (!pad || !IsSplat(pad->operand(1), 0) || !AllAre(pad->Ints(Attr::interior), 0)) return {};
  const std::optional<ConvDims> d = ConvolutionDims(*node);
  if (!d || !AllAre(d->lhs_dilation, 1)) return {};
  const Ints pad_low = PerDimension(*pad, Attr::low, 0),
             pad_high = PerDimension(*pad, Attr::high, 0);
  Ints low = d->low, high = d->high;
  for (int i = 0; i < pad->shape().rank(); ++i) {
    const int64_t before = pad_low[i], after = pad_high[i];
    if (before == 0 && after == 0) continue;
    auto it = std::find(d->input_spatial.begin(), d->input_spatial.end(), i);
    if (before < 0 || after < 0 || it == d->input_spatial.end()) return {};
    low[it - d->input_spatial.begin()] += before;
    high[it - d->input_spatial.begin()] += after;
  }
  Attributes attrs = node->attrs();
  attrs.Set(Attr::low, low).Set(Attr::high, high);
  return b.AddOne(Op::kConvolution, {pad->operand(0), node->operand(1)}, attrs);
}

}  // namespace tektite::passes::rules
