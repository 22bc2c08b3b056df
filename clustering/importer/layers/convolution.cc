// Convolutions, forward and backward, depthwise ones included.
//
// Of volumes, forward ones and the gradient of the image, which is a transposed convolution.
//
// A depthwise convolution with kernel [h, w, c, m] is a grouped one with c groups and the kernel
// reshaped to [h, w, 1, c * m].
#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/match.h"
#include "clustering/importer/import_table.h"
#include "clustering/importer/layers/fused_ops.h"
#include "clustering/importer/layers/windows.h"
#include "jit/ops/infer.h"

namespace tektite::importer {
namespace {

bool IsDepthwise(const NodeImport& op) { return absl::StrContains(op.op(), "Depthwise"); }

struct Problem {
  ImageFormat format;
  std::vector<WindowDim> window;
  Dims filter;         // [h, w, input features of a group, output features]
  int64_t groups = 1;  // of features
};

// `filter` is as TensorFlow has it, so for depthwise convolutions [h, w, c, m].
absl::StatusOr<Problem> ResolveConvolution(NodeImport& op, const Dims& image, Dims filter) {
  Problem p;
  TEKTITE_ASSIGN_OR_RETURN(p.format, RequireImageFormat(op));
  if (image.size() != 4 || filter.size() != 4)
    return op.Refuse("image and filter of rank 4, please");
  absl::string_view filter_format = op.attrs().String("filter_format", "HWIO");
  if (filter_format != "HWIO") return op.Refuse("filter format ", filter_format);
  for (const Dim& d : filter) {
    if (!d.is_constant() || d.value() < 1) return op.Refuse("filter size ", d.ToString());
  }
  Dim features = image[p.format.feature()];
  if (IsDepthwise(op) || !features.is_constant()) {  // else groups may share the filter
    if (!op.b().AssumeEqual(features, filter[2])) return op.Refuse(op.b().status().message());
    features = filter[2];
  }
  if (IsDepthwise(op)) {
    filter = {filter[0], filter[1], Dim(1), filter[2] * filter[3]};
  }
  int64_t per_group = filter[2].value();
  if (features.value() % per_group != 0 || features.value() == 0) {
    return op.Refuse(features.value(), " channels, but the filter takes ", per_group);
  }
  p.groups = features.value() / per_group;
  if (filter[3].value() % p.groups != 0) {
    return op.Refuse(filter[3].value(), " filters in ", p.groups, " groups");
  }
  p.filter = filter;
  TEKTITE_ASSIGN_OR_RETURN(
      p.window, ResolveWindow(op, image, {filter[0].value(), filter[1].value()}, p.format));
  return p;
}

Value Convolve(FuncBuilder& b, Problem p, Value image, Value filter) {
  if (image) image = PadImage(b, image, b.Scalar(image.dtype(), 0), p.format, &p.window);
  FuncBuilder::ConvOptions options;
  options.input_layout = options.output_layout = p.format.layout();
  if (p.format.spatial_dims == 3) options.kernel_layout = "012io";
  options.strides = Fields(p.window, &WindowDim::stride);
  options.rhs_dilation = Fields(p.window, &WindowDim::dilation);
  options.low = Fields(p.window, &WindowDim::low);
  options.high = Fields(p.window, &WindowDim::high);
  options.feature_groups = p.groups;
  return b.Convolution(image, b.Reshape(filter, p.filter), options);
}

absl::StatusOr<Value> ForwardConvolution(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Problem p, ResolveConvolution(op, op.InputDims(0), op.InputDims(1)));
  return Convolve(op.b(), p, op.Input(0), op.Input(1));
}

absl::StatusOr<Problem> ResolveVolume(NodeImport& op, const Dims& image, Dims filter) {
  Problem p;
  TEKTITE_ASSIGN_OR_RETURN(p.format, RequireImageFormat(op, 3));
  p.filter = std::move(filter);
  if (image.size() != 5 || p.filter.size() != 5) {
    return op.Refuse("volume and filter of rank 5, please");
  }
  std::vector<int64_t> window;
  for (const Dim& d : p.filter) {
    if (!d.is_constant() || d.value() < 1) return op.Refuse("filter size ", d.ToString());
    window.push_back(d.value());
  }
  const Dim& features = image[p.format.feature()];
  // TensorFlow's kernel has no groups here and says so; XLA's has.
  const bool has_groups = op.scope().for_xla && features.is_constant() &&
                          features.value() > window[3] && features.value() % window[3] == 0;
  if (has_groups) {
    p.groups = features.value() / window[3];
    if (window[4] % p.groups != 0) return op.Refuse(window[4], " filters in ", p.groups, " groups");
  } else if (features != p.filter[3] &&
             (features.is_constant() || !op.b().AssumeEqual(features, p.filter[3]))) {
    return op.Refuse(features.ToString(), " channels, but the filter takes ", window[3]);
  }
  window.resize(3);
  TEKTITE_ASSIGN_OR_RETURN(p.window, ResolveWindow(op, image, window, p.format));
  return p;
}

absl::StatusOr<Value> ConvolveVolume(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Problem p, ResolveVolume(op, op.InputDims(0), op.InputDims(1)));
  return Convolve(op.b(), p, op.Input(0), op.Input(1));
}

// The filter as the backward pass wants it: mirrored, and from output to input features:
// [h, w, i, g * o] -> [h, w, o, g * i].  Without groups an image's layout says the latter.
Value BackwardFilter(FuncBuilder& b, const Problem& p, Value filter,
                     FuncBuilder::ConvOptions* options) {
  const int spatial = p.format.spatial_dims;
  Dim g(p.groups), i = p.filter[spatial], o = ir::FloorDiv(p.filter.back(), g);
  std::vector<int64_t> places(spatial);
  std::iota(places.begin(), places.end(), 0);
  Value f = b.Reverse(b.Reshape(filter, p.filter), places);
  if (p.groups == 1 && spatial == 2) {
    options->kernel_layout = "01oi";
    return f;
  }
  Dims split(p.filter.begin(), p.filter.end() - 1), joined(p.filter.begin(), p.filter.end() - 2);
  split.insert(split.end(), {g, o});
  joined.insert(joined.end(), {o, g * i});
  places.insert(places.end(), {spatial + 2, spatial + 1, spatial});
  return b.Reshape(b.Transpose(b.Reshape(f, split), places), joined);
}

// A sizes input holds the whole shape, or only height and width.
absl::StatusOr<Dims> CompleteSizes(const NodeImport& op, int input, const Dims& dy,
                                   const Dims& filter, const ImageFormat& format) {
  TEKTITE_ASSIGN_OR_RETURN(Dims sizes, op.RequireContents(input));
  if (sizes.size() == 4) return sizes;
  if (sizes.size() != 2 || dy.size() != 4) return op.Refuse(sizes.size(), " input sizes");
  if (filter.size() != 4) return op.Refuse("a filter of rank ", filter.size());
  Dims image = dy;
  for (int i = 0; i < 2; ++i) image[format.spatial(i)] = sizes[i];
  image[format.feature()] = filter[2];
  return image;
}

// The gradient of a result has its sizes, whatever they are called here; p's are dy's from here on.
absl::Status CheckOutput(NodeImport& op, Problem* p, const Dims& image, const Dims& dy) {
  if (static_cast<int>(dy.size()) != p->format.rank()) {
    return op.Refuse("a gradient of rank ", dy.size());
  }
  if (!op.b().AssumeEqual(dy[0], image[0]) ||
      !op.b().AssumeEqual(dy[p->format.feature()], p->filter.back())) {
    return op.Refuse(op.b().status().message());
  }
  for (int i = 0; i < p->format.spatial_dims; ++i) {
    const Dim& size = dy[p->format.spatial(i)];
    if (!op.b().AssumeEqual(size, p->window[i].output)) {
      return op.Refuse("the gradient has size ", size.ToString(), ", not ",
                       p->window[i].output.ToString());
    }
    p->window[i].output = size;
  }
  return absl::OkStatus();
}

// TensorFlow's gradients of depthwise convolutions take no note of dilations, or fail; a call may
// not depend on which side runs it.
absl::Status RefuseDilatedDepthwise(const NodeImport& op) {
  if (!IsDepthwise(op)) return absl::OkStatus();
  for (const int64_t d : op.Ints("dilations")) {
    if (d != 1) return op.Refuse("a dilated depthwise convolution");
  }
  return absl::OkStatus();
}

// The convolution of dy, spread out by the strides, with the mirrored filter.  How many pixels
// behind the last window no window reaches depends on the size, so where that is not known, as many
// as there can be are computed, and the padding with them; both are cut off.
Value ConvolveBackward(FuncBuilder& b, const Problem& p, Value dy, Value filter,
                       FuncBuilder::ConvOptions options) {
  options.input_layout = options.output_layout = p.format.layout();
  if (p.format.spatial_dims == 3) options.kernel_layout = "012io";
  options.feature_groups = p.groups;
  options.lhs_dilation = Fields(p.window, &WindowDim::stride);
  options.rhs_dilation = Fields(p.window, &WindowDim::dilation);
  std::vector<int> cut;
  for (int i = 0; i < p.format.spatial_dims; ++i) {
    const WindowDim& w = p.window[i];
    const Dim reach = (w.output - Dim(1)) * Dim(w.stride) + Dim(w.extent());
    const Dim behind = w.input + Dim(w.low) - reach;
    const bool known = behind.is_constant() && !w.is_cut;
    if (!known) cut.push_back(i);
    options.low.push_back(w.extent() - 1 - (known ? w.low : 0));
    options.high.push_back(w.extent() - 1 + (known ? behind.value() : w.stride - 1));
  }
  Value dx = b.Convolution(dy, filter, options);
  for (int i : cut) {
    const WindowDim& w = p.window[i];
    const Dim begin = Dim(w.low) - w.skipped;
    dx = b.SliceDim(dx, p.format.spatial(i), begin, begin + w.input);
  }
  return dx;
}

// The padded image without what no window reaches, so that its sizes say how large the filter is.
Value WhatWindowsRead(FuncBuilder& b, Value x, const Problem& p) {
  if (!x) return x;
  const int rank = p.format.rank();
  std::vector<int64_t> low(rank, 0), high(rank, 0);
  for (int i = 0; i < p.format.spatial_dims; ++i) {
    low[p.format.spatial(i)] = p.window[i].low;
    high[p.format.spatial(i)] = p.window[i].high;
  }
  if (low != std::vector<int64_t>(rank, 0) || high != low) {
    x = b.Pad(x, b.Scalar(x.dtype(), 0), low, high);
  }
  for (int i = 0; i < p.format.spatial_dims; ++i) {
    const WindowDim& w = p.window[i];
    const int d = p.format.spatial(i);
    const Dim reach = ops::Dilated(w.output, w.stride) + Dim(w.extent() - 1);
    if (!w.is_cut && x.shape().dim(d) == reach) continue;
    x = b.SliceDim(x, d, w.skipped, w.skipped + reach);
  }
  return x;
}

Value FilterGradient(NodeImport& op, const Problem& p) {
  const std::string places = p.format.spatial_dims == 3 ? "012" : "01";
  FuncBuilder::ConvOptions options;
  options.input_layout = p.format.channels_first ? "fb" + places : "f" + places + "b";
  options.kernel_layout = p.format.channels_first ? "io" + places : "i" + places + "o";
  options.output_layout = places + "bf";
  options.batch_groups = p.groups;
  options.strides = Fields(p.window, &WindowDim::dilation);
  options.rhs_dilation = Fields(p.window, &WindowDim::stride);
  const Value x = WhatWindowsRead(op.b(), op.Input(0), p);
  return op.b().Convolution(x, op.Input(2), options);
}

}  // namespace

absl::Status ImportConv2D(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Value y, ForwardConvolution(op));
  return op.Return(y);
}

absl::Status ImportFusedConv2D(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(ImageFormat format, RequireImageFormat(op));
  TEKTITE_ASSIGN_OR_RETURN(Value y, ForwardConvolution(op));
  TEKTITE_ASSIGN_OR_RETURN(y, ApplyFusedOps(op, y, format.feature(), 2));
  return op.Return(y);
}

absl::Status ImportConv3D(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Value y, ConvolveVolume(op));
  return op.Return(y);
}

absl::Status ImportFusedConv3D(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(ImageFormat format, RequireImageFormat(op, 3));
  TEKTITE_ASSIGN_OR_RETURN(Value y, ConvolveVolume(op));
  TEKTITE_ASSIGN_OR_RETURN(y, ApplyFusedOps(op, y, format.feature(), 2));
  return op.Return(y);
}

// dx = dy, spread out by the strides, convolved with the mirrored filter.
absl::Status ImportConv2DBackpropInput(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_RETURN_IF_ERROR(RefuseDilatedDepthwise(op));
  TEKTITE_ASSIGN_OR_RETURN(ImageFormat format, RequireImageFormat(op));
  TEKTITE_ASSIGN_OR_RETURN(Dims image,
                           CompleteSizes(op, 0, op.InputDims(2), op.InputDims(1), format));
  TEKTITE_ASSIGN_OR_RETURN(Problem p, ResolveConvolution(op, image, op.InputDims(1)));
  TEKTITE_RETURN_IF_ERROR(CheckOutput(op, &p, image, op.InputDims(2)));
  FuncBuilder::ConvOptions options;
  const Value filter = BackwardFilter(b, p, op.Input(1), &options);
  return op.Return(ConvolveBackward(b, p, op.Input(2), filter, std::move(options)));
}

absl::Status ImportConv3DBackpropInput(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(Dims image, op.RequireContents(0));
  TEKTITE_ASSIGN_OR_RETURN(Problem p, ResolveVolume(op, image, op.InputDims(1)));
  TEKTITE_RETURN_IF_ERROR(CheckOutput(op, &p, image, op.InputDims(2)));
  FuncBuilder::ConvOptions options;
  const Value filter = BackwardFilter(b, p, op.Input(1), &options);
  return op.Return(ConvolveBackward(b, p, op.Input(2), filter, std::move(options)));
}

// df = x convolved with dy, which is dilated by the strides; batch is what is summed over, and the
// channels of x take the place of the batch.
absl::Status ImportConv2DBackpropFilter(NodeImport& op) {
  TEKTITE_RETURN_IF_ERROR(RefuseDilatedDepthwise(op));
  TEKTITE_ASSIGN_OR_RETURN(Dims sizes, op.RequireContents(1));
  TEKTITE_ASSIGN_OR_RETURN(Problem p, ResolveConvolution(op, op.InputDims(0), sizes));
  TEKTITE_RETURN_IF_ERROR(CheckOutput(op, &p, op.InputDims(0), op.InputDims(2)));
  return op.Return(op.b().Reshape(FilterGradient(op, p), sizes));
}

absl::Status ImportConv3DBackpropFilter(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const Dims sizes, op.RequireContents(1));
  TEKTITE_ASSIGN_OR_RETURN(Problem p, ResolveVolume(op, op.InputDims(0), sizes));
  TEKTITE_RETURN_IF_ERROR(CheckOutput(op, &p, op.InputDims(0), op.InputDims(2)));
  return op.Return(FilterGradient(op, p));
}

}  // namespace tektite::importer
