// Max and average pooling of images and volumes, their gradients, and windows taken apart.
//
// Average pooling divides by the number of elements that are really there: with padding, windows at
// the border count fewer.
#include <algorithm>
#include <limits>

#include "absl/strings/match.h"
#include "clustering/importer/import_table.h"
#include "clustering/importer/layers/windows.h"
#include "clustering/importer/movement/movement.h"

namespace tektite::importer {
namespace {

using ir::Attr;

struct Pooling {
  ImageFormat format;
  std::vector<WindowDim> window;
};

// The windows' sizes and strides are attributes, or from version 2 on the last two inputs.
absl::StatusOr<Pooling> ResolvePooling(const NodeImport& op, const Dims& image) {
  Pooling p;
  TEKTITE_ASSIGN_OR_RETURN(p.format,
                           RequireImageFormat(op, absl::StrContains(op.op(), "3D") ? 3 : 2));
  std::vector<int64_t> sizes = op.Ints("ksize"), strides = op.Ints("strides"), window;
  if (absl::EndsWith(op.op(), "V2")) {
    TEKTITE_ASSIGN_OR_RETURN(sizes, op.RequireInts(op.num_inputs() - 2));
    TEKTITE_ASSIGN_OR_RETURN(strides, op.RequireInts(op.num_inputs() - 1));
  }
  if (static_cast<int>(sizes.size()) != p.format.rank() || sizes[0] != 1 ||
      sizes[p.format.feature()] != 1) {
    return op.Refuse("pooling over batch or channels");
  }
  for (int i = 0; i < p.format.spatial_dims; ++i) window.push_back(sizes[p.format.spatial(i)]);
  TEKTITE_ASSIGN_OR_RETURN(p.window, ResolveWindow(op, image, window, p.format, {strides, {}}));
  return p;
}

// The spatial dimensions' numbers among those of the whole image.
std::vector<int64_t> Spread(const Pooling& p, int64_t WindowDim::*field, int64_t otherwise) {
  std::vector<int64_t> all(p.format.rank(), otherwise);
  for (int i = 0; i < p.format.spatial_dims; ++i) all[p.format.spatial(i)] = p.window[i].*field;
  return all;
}

ops::WindowDims WholeWindow(const Pooling& p) {
  ops::WindowDims w;
  w.window = Spread(p, &WindowDim::size, 1);
  w.strides = Spread(p, &WindowDim::stride, 1);
  w.low = Spread(p, &WindowDim::low, 0);
  w.high = Spread(p, &WindowDim::high, 0);
  w.lhs_dilation = w.window_dilation = std::vector<int64_t>(p.format.rank(), 1);
  return w;
}

// The shape of the result for an image.
Dims PooledDims(const Pooling& p, Dims image) {
  for (int i = 0; i < p.format.spatial_dims; ++i) image[p.format.spatial(i)] = p.window[i].output;
  return image;
}

bool HasPadding(const Pooling& p) {
  return std::any_of(p.window.begin(), p.window.end(),
                     [](const WindowDim& w) { return w.low != 0 || w.high != 0; });
}

// Elements under each window, of shape [1, h, w, 1] for images; a scalar where all windows have the
// same.
Value Counts(FuncBuilder& b, Pooling p, DType dtype) {
  if (!HasPadding(p)) {
    int64_t count = 1;
    for (const WindowDim& w : p.window) count *= w.size;
    return b.Scalar(dtype, static_cast<double>(count));
  }
  Dims dims(p.format.rank(), Dim(1));
  for (int i = 0; i < p.format.spatial_dims; ++i) dims[p.format.spatial(i)] = p.window[i].input;
  Value ones = PadImage(b, b.Full(dtype, 1, dims), b.Scalar(dtype, 0), p.format, &p.window);
  return b.ReduceWindow(ones, "add", WholeWindow(p));
}

}  // namespace

absl::Status ImportPool(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(Pooling p, ResolvePooling(op, op.InputDims(0)));
  Value x = op.Input(0);
  if (!x) return op.Return(x);
  if (absl::StrContains(op.op(), "MaxPool")) {
    x = PadImage(b, x, b.Constant(ops::ReducerIdentity("max", x.dtype())), p.format, &p.window);
    Value y = b.ReduceWindow(x, "max", WholeWindow(p));
    if (!y || !ir::IsFloat(y.dtype())) return op.Return(y);
    // TensorFlow begins with the lowest finite number, which a window of NaN and -inf leaves.
    const Value lowest = b.BroadcastTo(LastFinite(b, y.dtype(), true), y.shape().dims());
    return op.Return(b.Select(b.Compare(y, lowest, "gt"), y, lowest));
  }
  const DType dtype = x.dtype();
  const bool is_integer = ir::IsInteger(dtype);
  const DType sum_type = is_integer ? DType::kS32 : AccumulatorType(dtype);
  Value counts = Counts(b, p, sum_type);
  x = PadImage(b, b.Convert(x, sum_type), b.Scalar(sum_type, 0), p.format, &p.window);
  Value sum = b.ReduceWindow(x, "add", WholeWindow(p));
  if (!is_integer || op.attrs().Bool("_tektite_without_onednn", false)) {
    return op.Return(b.Convert(b.Div(sum, counts), dtype));
  }
  // oneDNN's kernel rounds means of bytes, TensorFlow's own cuts them off.
  const Value mean = b.Div(b.Convert(sum, DType::kF32), b.Convert(counts, DType::kF32));
  return op.Return(b.Convert(b.Unary(Op::kRoundEven, mean), dtype));
}

// Every input element receives its share of the windows that cover it: the shares, spread out by
// the strides, are summed under windows of the same size.  Where all shares are equal, the sum is
// divided, in the same kernel.
absl::Status ImportAvgPoolGrad(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(Dims image, op.RequireContents(0));
  TEKTITE_ASSIGN_OR_RETURN(Pooling p, ResolvePooling(op, image));
  TEKTITE_RETURN_IF_ERROR(RequireKnownPadding(op, p.window));
  if (!AssumeSameDims(b, op.InputDims(1), PooledDims(p, image))) {
    return op.Refuse("a gradient of shape ", op.InputShape(1).ToString());
  }
  Value dy = op.Input(1);
  if (!dy) return op.Return(dy);
  const DType dtype = dy.dtype(), sum_type = AccumulatorType(dtype);
  ops::WindowDims window;
  window.window = Spread(p, &WindowDim::size, 1);
  window.lhs_dilation = Spread(p, &WindowDim::stride, 1);
  window.strides = window.window_dilation = std::vector<int64_t>(p.format.rank(), 1);
  window.low = window.high = std::vector<int64_t>(p.format.rank(), 0);
  for (int i = 0; i < p.format.spatial_dims; ++i) {
    const WindowDim& w = p.window[i];
    const Dim spread = (w.output - Dim(1)) * Dim(w.stride) + Dim(1);
    const Dim after = w.input - spread + Dim(w.low);
    if (!after.is_constant()) return op.Refuse("padding depends on size ", after.ToString());
    window.low[p.format.spatial(i)] = w.size - 1 - w.low;
    window.high[p.format.spatial(i)] = after.value();
  }
  const Value counts = Counts(b, p, sum_type);
  Value shares = b.Convert(dy, sum_type);
  if (HasPadding(p)) shares = b.Div(shares, counts);
  Value sum = b.ReduceWindow(shares, "add", window);
  if (!HasPadding(p)) sum = b.Div(sum, counts);
  return op.Return(b.Convert(sum, dtype));
}

// The gradient goes to the first largest element of each window.  TensorFlow's only kernel for
// volumes in double precision gives it to every one of them.
absl::Status ImportMaxPoolGrad(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Pooling p, ResolvePooling(op, op.InputDims(0)));
  TEKTITE_RETURN_IF_ERROR(op.RequireSameDims(1, 2));
  if (!AssumeSameDims(op.b(), op.InputDims(2), PooledDims(p, op.InputDims(0)))) {
    return op.Refuse("a gradient of shape ", op.InputShape(2).ToString());
  }
  if (p.format.spatial_dims == 3 && op.InputDType(0) == DType::kF64) {
    return op.Refuse("in double precision every largest element of a window receives the gradient");
  }
  TEKTITE_RETURN_IF_ERROR(RequireKnownPadding(op, p.window));
  ops::WindowDims w = WholeWindow(p);
  return op.Return(op.b().AddOne(Op::kSelectAndScatter, {op.Input(0), op.Input(2)},
                                 {{Attr::window, w.window},
                                  {Attr::strides, w.strides},
                                  {Attr::low, w.low},
                                  {Attr::high, w.high}}));
}

// For each window, the gradient that comes in at its first largest element: that which is equal to
// the result of the pooling, an input, too.  Where none is equal, as beside NaN, it is 0.
absl::Status ImportMaxPoolGradGrad(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(const Pooling p, ResolvePooling(op, op.InputDims(0)));
  const DType dtype = op.InputDType(0);
  if (!ir::IsFloat(dtype)) return op.Refuse("integers");
  int64_t taps = 1;
  for (const WindowDim& w : p.window) taps *= w.size;
  constexpr int64_t kMostTaps = 256;  // each is a comparison in the kernel's body
  if (taps > kMostTaps) return op.Refuse("windows of ", taps, " elements");
  if (!AssumeSameDims(b, op.InputDims(1), PooledDims(p, op.InputDims(0)))) {
    return op.Refuse("a result of shape ", op.InputShape(1).ToString());
  }
  TEKTITE_RETURN_IF_ERROR(op.RequireSameDims(2, 0));
  Value x = op.Input(0), y = op.Input(1), dy = op.Input(2);
  if (!x || !y || !dy) return op.Return(Value());
  // What is no number is equal to nothing, so padding is never taken.
  const Value none = b.Scalar(dtype, std::numeric_limits<double>::quiet_NaN());
  const std::vector<Value> values = Taps(b, x, none, p.format, p.window);
  const std::vector<Value> gradients = Taps(b, dy, b.Scalar(dtype, 0), p.format, p.window);
  if (values.empty() || gradients.empty()) return op.Return(Value());
  Value result = b.FullLike(y, 0);
  for (size_t i = values.size(); i-- > 0;) {
    result = b.Select(b.Compare(values[i], y, "eq"), gradients[i], result);
  }
  return op.Return(result);
}

// Each window's pixels, one behind the other in the place of the channels; padding is zeros.
absl::Status ImportExtractImagePatches(NodeImport& op) {
  FuncBuilder& b = op.b();
  const std::vector<int64_t> sizes = op.Ints("ksizes");
  const ImageFormat format;
  if (sizes.size() != 4 || sizes[0] != 1 || sizes[3] != 1 || sizes[1] < 1 || sizes[2] < 1) {
    return op.Refuse("patches over batch or channels");
  }
  constexpr int64_t kMostTaps = 1024;  // each is an operand of a concatenation
  if (sizes[1] > kMostTaps || sizes[2] > kMostTaps || sizes[1] * sizes[2] > kMostTaps) {
    return op.Refuse("patches of ", sizes[1], " by ", sizes[2], " pixels");
  }
  TEKTITE_ASSIGN_OR_RETURN(std::vector<WindowDim> window,
                           ResolveWindow(op, op.InputDims(0), {sizes[1], sizes[2]}, format,
                                         {op.Ints("strides"), op.Ints("rates")}));
  const Value none = b.Scalar(op.InputDType(0), 0);
  const std::vector<Value> taps = Taps(b, op.Input(0), none, format, std::move(window));
  if (taps.empty()) return op.Return(Value());
  return op.Return(taps.size() == 1 ? taps[0] : b.Concatenate(taps, format.feature()));
}

}  // namespace tektite::importer
