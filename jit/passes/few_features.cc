#include "jit/passes/few_features.h"

#include "jit/base/lists.h"
#include "jit/passes/names.h"

#include <algorithm>
#include <vector>

namespace tektite::passes {
namespace {

using Ints = std::vector<int64_t>;

constexpr int64_t kMostFeatures = 4, kFewestChannels = 16;
// A slice and an addition for each, in one kernel.
constexpr int64_t kMostTaps = 64;
struct Filter {
  Ints window;  // by spatial dimension
  int64_t taps = 1, channels = 0, features = 0;
};

// From sizes, spatial ones first, then channels and features.  False where it is not for here.
bool Resolve(const ir::Shape& shape, Filter* filter) {
  if (!shape.is_static()) return false;
  const Ints sizes = shape.sizes();
  filter->window.assign(sizes.begin(), sizes.end() - 2);
  for (int64_t n : filter->window) filter->taps *= n;
  filter->channels = sizes[sizes.size() - 2];
  filter->features = sizes.back();
  return filter->features >= 1 && filter->features <= kMostFeatures &&
         filter->channels >= kFewestChannels && filter->taps >= 2 && filter->taps <= kMostTaps;
}

// The places of the taps, in the order in which a filter holds them.
std::vector<Ints> Taps(const Filter& filter) {
  std::vector<Ints> taps = {{}};
  for (int64_t n : filter.window) {
    std::vector<Ints> longer;
    for (const Ints& tap : taps) {
      for (int64_t i = 0; i < n; ++i) {
        longer.push_back(tap);
        longer.back().push_back(i);
      }
    }
    taps = std::move(longer);
  }
  return taps;
}

int64_t At(const Ints& values, int i, int64_t otherwise) {
  return values.empty() ? otherwise : values[i];
}

// Narrow floats would be rounded once for each tap.
bool IsPlain(const Node& node, const ops::ConvDims& d) {
  return ir::DTypeBytes(node.shape().dtype()) >= 4 && d.feature_groups == 1 &&
         d.batch_groups == 1 && AllAre(d.strides, 1) && AllAre(d.lhs_dilation, 1);
}

}  // namespace

Value SumOfTaps(const Node& node, const ops::ConvDims& d, ops::FuncBuilder& b) {
  Filter filter;
  if (!IsPlain(node, d) || !Resolve(node.operand_shape(1), &filter)) return {};
  if (filter.features != 1) return {};
  const int spatial = d.spatial;
  Value x = node.operand(0);
  const Dims image = x.shape().dims();
  Dim pixels(1);
  Dims places = {image[0], Dim(filter.taps)};
  for (int i = 0; i < spatial; ++i) {
    pixels = pixels * image[1 + i];
    places.push_back(image[1 + i]);
  }
  // Taps come before pixels, so that those lie in rows.
  const Dim taps(filter.taps), channels(filter.channels);
  Value k = b.Reshape(node.operand(1), {taps, channels});
  ops::DotDims product;
  product.lhs_batch = product.rhs_batch = {0};
  product.lhs_contracting = product.rhs_contracting = {2};
  product.lhs_free = product.rhs_free = {1};
  Value z = b.DotGeneral(b.BroadcastInDim(k, {image[0], taps, channels}, {1, 2}),
                         b.Reshape(x, {image[0], pixels, channels}), product);
  z = b.Reshape(z, places);
  Ints low = {0, 0}, high = {0, 0};
  for (int i = 0; i < spatial; ++i) {
    low.push_back(At(d.low, i, 0));
    high.push_back(At(d.high, i, 0));
  }
  if (!AllAre(low, 0) || !AllAre(high, 0)) z = b.Pad(z, b.Scalar(z.dtype(), 0), low, high);
  Value sum;
  int64_t number = 0;
  for (const Ints& tap : Taps(filter)) {
    Dims starts = {Dim(0), Dim(number)}, limits = {image[0], Dim(number + 1)};
    ++number;
    for (int i = 0; i < spatial; ++i) {
      starts.push_back(Dim(tap[i] * At(d.rhs_dilation, i, 1)));
      limits.push_back(starts.back() + node.shape().dim(1 + i));
    }
    Value term = b.Slice(z, starts, limits);
    sum = sum ? b.Add(sum, term) : term;
  }
  return b.Reshape(sum, node.shape().dims());
}

Value FilterOfFewFeatures(const Node& node, const ops::ConvDims& d, ops::FuncBuilder& b) {
  Filter filter;
  if (!IsPlain(node, d) || !AllAre(d.rhs_dilation, 1) || !Resolve(node.shape(), &filter)) return {};
  const int spatial = d.spatial, last = spatial + 1;
  Value x = node.operand(0), dy = node.operand(1);
  const Dims image = x.shape().dims();
  // Features come before pixels, so that those lie in rows.
  Ints order = {0, last}, low = {0, 0}, high = {0, 0};
  for (int i = 0; i < spatial; ++i) {
    order.push_back(1 + i);
    low.push_back(filter.window[i] - 1 - At(d.low, i, 0));
    high.push_back(filter.window[i] - 1 - At(d.high, i, 0));
  }
  dy = b.Pad(b.Transpose(dy, order), b.Scalar(dy.dtype(), 0), low, high);
  std::vector<Value> moved;
  for (const Ints& tap : Taps(filter)) {
    Dims starts = {Dim(0), Dim(0)}, limits = {image[0], Dim(filter.features)};
    for (int i = 0; i < spatial; ++i) {
      starts.push_back(Dim(filter.window[i] - 1 - tap[i]));
      limits.push_back(starts.back() + image[1 + i]);
    }
    moved.push_back(b.Slice(dy, starts, limits));
  }
  Dim pixels(1);
  for (int i = 0; i < spatial; ++i) pixels = pixels * image[1 + i];
  const Dim rows(filter.taps * filter.features), channels(filter.channels);
  Value all = b.Reshape(b.Concatenate(moved, 1), {image[0], rows, pixels});
  ops::DotDims product;
  product.lhs_batch = product.rhs_batch = {0};
  product.lhs_contracting = {2};
  product.rhs_contracting = {1};
  product.lhs_free = {1};
  product.rhs_free = {2};
  Value of_images = b.DotGeneral(all, b.Reshape(x, {image[0], pixels, channels}), product);
  const bool is_one = image[0] == Dim(1);
  Value sum = is_one ? b.Reshape(of_images, {rows, channels}) : b.Reduce(of_images, {0}, "add");
  Dims sizes;
  for (int64_t n : filter.window) sizes.push_back(Dim(n));
  sizes.push_back(Dim(filter.features));
  sizes.push_back(channels);
  Ints features_last;
  for (int i = 0; i < spatial; ++i) features_last.push_back(i);
  features_last.insert(features_last.end(), {spatial + 1, spatial});
  return b.Transpose(b.Reshape(sum, sizes), features_last);
}

}  // namespace tektite::passes
