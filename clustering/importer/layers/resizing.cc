// Images made larger or smaller: bilinear, bicubic, and by the nearest pixel.
//
// Where a row or column of the result lies in the image is computed in single precision as
// TensorFlow computes it, since rounding decides which pixel is the nearest. All of it is
// elementwise work on one row of numbers, and constant where the sizes are.
#include <array>
#include <limits>
#include <utility>

#include "clustering/importer/import_table.h"
#include "clustering/importer/movement/gathering.h"

namespace tektite::importer {
namespace {

constexpr int kHeight = 1, kWidth = 2;  // images are NHWC here

struct Resize {
  Dims from, to;  // height and width
  Dim batch, channels;
  bool align_corners = false, half_pixel_centers = false;
};

// An image's sizes, `dims`, and what they become, `to`.
absl::StatusOr<Resize> ResolveResize(const NodeImport& op, const Dims& dims, Dims to) {
  Resize r;
  r.to = std::move(to);
  if (dims.size() != 4 || r.to.size() != 2) return op.Refuse("an image of rank 4, please");
  r.from = {dims[kHeight], dims[kWidth]};
  r.batch = dims.front();
  r.channels = dims.back();
  r.align_corners = op.attrs().Bool("align_corners", false);
  r.half_pixel_centers = op.attrs().Bool("half_pixel_centers", false);
  if (r.align_corners && r.half_pixel_centers) return op.Refuse("aligned corners and half pixels");
  for (int i = 0; i < 2; ++i) {
    if (r.from[i] == Dim(0) || r.channels == Dim(0)) return op.Refuse("an image without pixels");
    if (r.to[i].is_constant() && r.to[i].value() < 1) return op.Refuse("size ", r.to[i].value());
    if (r.align_corners && !r.to[i].is_constant()) return op.Refuse("aligned corners of any size");
  }
  return r;
}

Value OneLess(FuncBuilder& b, Value x) { return b.Sub(x, b.FullLike(x, 1)); }

absl::StatusOr<Resize> ResolveResize(const NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Dims to, op.RequireContents(1));
  return ResolveResize(op, op.InputDims(0), std::move(to));
}

// f32[to]: the place of each row (axis 0) or column (1) in the image. Half pixels are added but not
// taken off again.
Value Places(NodeImport& op, const Resize& r, int axis) {
  FuncBuilder& b = op.b();
  Value from = op.DimValue(r.from[axis], DType::kF32), to = op.DimValue(r.to[axis], DType::kF32);
  if (r.align_corners && r.to[axis] != Dim(1)) {
    from = OneLess(b, from);
    to = OneLess(b, to);
  }
  Value numbers = b.Iota(DType::kF32, {r.to[axis]}, 0);
  if (r.half_pixel_centers) numbers = b.Add(numbers, b.FullLike(numbers, 0.5));
  return b.Mul(numbers, b.Div(from, to));
}

// Rows (axis 0) or columns (1) at `indices`.
Value TakeAlong(FuncBuilder& b, Value x, Value indices, int axis) {
  if (!x || !indices) return Value();
  const int taken = axis == 0 ? kHeight : kWidth;
  std::vector<int64_t> others;
  for (int i = 0; i < x.shape().rank(); ++i) {
    if (i != taken) others.push_back(i);
  }
  return Gather(b, x, indices, {taken}, others, 1);
}

// What columns are taken of: pixels are copied whole.  A pixel of one channel has no dimension of
// its own, so that vectors go along the width: 256x256 to 213x179 takes 33 us instead of 40, but
// with two channels 65 instead of 46.
Value InPixels(FuncBuilder& b, const Resize& r, Value x, const Dim& height) {
  if (r.channels == Dim(1)) return b.Reshape(x, {r.batch, height, r.from[1]});
  return b.Reshape(x, {r.batch, height, r.from[1], r.channels});
}
// [batch, height, width * channels], in which rows are copied whole, and back again.
Value InRows(FuncBuilder& b, const Resize& r, Value x, const Dim& width) {
  return b.Reshape(x, {r.batch, r.from[0], width * r.channels});
}
Value AsImage(FuncBuilder& b, const Resize& r, Value x) {
  return x ? b.Reshape(x, {r.batch, r.to[0], r.to[1], r.channels}) : x;
}

Value AtMostLast(NodeImport& op, Value indices, const Dim& size) {
  return op.b().Min(indices, op.DimValue(size - Dim(1), DType::kS64));
}

// The two pixels around each place along one dimension, s64[to], and which part of the way from the
// first to the second lies behind, f32[to].
struct Neighbours {
  Value lower, upper, part;
};

Neighbours NeighboursOf(NodeImport& op, const Resize& r, int axis) {
  FuncBuilder& b = op.b();
  Value place = Places(op, r, axis);
  if (r.half_pixel_centers) place = b.Sub(place, b.FullLike(place, 0.5));
  Value floor = b.Unary(Op::kFloor, place);
  Value part = b.Sub(place, floor);
  Value upper = AtMostLast(op, b.Convert(b.Unary(Op::kCeil, place), DType::kS64), r.from[axis]);
  Value lower = b.Convert(floor, DType::kS64);
  lower = b.Min(b.Max(lower, b.FullLike(lower, 0)), upper);
  return {lower, upper, part};
}

Value Interpolate(NodeImport& op, const Resize& r, Value x, int axis) {
  FuncBuilder& b = op.b();
  const Neighbours at = NeighboursOf(op, r, axis);
  Value before = TakeAlong(b, x, at.lower, axis), behind = TakeAlong(b, x, at.upper, axis);
  if (!before || !behind) return Value();
  const int dimension = axis == 0 ? kHeight : kWidth;
  Value weight = b.BroadcastInDim(at.part, before.shape().dims(), {dimension});
  return b.Add(before, b.Mul(b.Sub(behind, before), weight));
}

// A pixel, and how much of it is in the result; all of it without a weight.
struct Tap {
  Value index, weight;  // s64[to], f32[to]
};
using Taps = std::array<Tap, 4>;

// The gradient of a sum of taps: each place's gradient goes to the pixels that it was made of.
Value Distribute(NodeImport& op, const Resize& r, Value dy, int axis, absl::Span<const Tap> taps) {
  FuncBuilder& b = op.b();
  if (!dy || !taps.front().index) return Value();
  const int dimension = axis == 0 ? kHeight : kWidth;
  std::vector<int64_t> others;
  for (int i = 0; i < dy.shape().rank(); ++i) {
    if (i != dimension) others.push_back(i);
  }
  Dims dims = dy.shape().dims();
  dims[dimension] = r.from[axis];
  Value dx = b.Full(dy.dtype(), 0, dims);
  for (const Tap& tap : taps) {
    Value part = dy;
    if (tap.weight) {
      part = b.Mul(dy, b.BroadcastInDim(tap.weight, dy.shape().dims(), {dimension}));
    }
    dx = b.AddOne(Op::kScatter, {dx, tap.index, part},
                  {{ir::Attr::offset_dims, others},
                   {ir::Attr::collapsed_slice_dims, std::vector<int64_t>{dimension}},
                   {ir::Attr::scatter_dims_to_operand_dims, std::vector<int64_t>{dimension}},
                   {ir::Attr::index_vector_dim, int64_t{1}},
                   {ir::Attr::reducer, std::string("add")}});
  }
  return dx;
}

std::array<Tap, 2> LinearTaps(NodeImport& op, const Resize& r, int axis) {
  const Neighbours at = NeighboursOf(op, r, axis);
  FuncBuilder& b = op.b();
  return {Tap{at.lower, b.Sub(b.FullLike(at.part, 1), at.part)}, Tap{at.upper, at.part}};
}

// s64[to]: the pixel that each place is nearest to.
Value Nearest(NodeImport& op, const Resize& r, int axis) {
  FuncBuilder& b = op.b();
  Value place = b.Unary(r.align_corners ? Op::kRoundAway : Op::kFloor, Places(op, r, axis));
  return AtMostLast(op, b.Convert(place, DType::kS64), r.from[axis]);
}

// What the gradient `dy` of an image that was resized from `from` is to be distributed by.
absl::StatusOr<Resize> ResolveGradient(NodeImport& op, const Dims& from) {
  const Dims& dims = op.InputDims(0);
  if (dims.size() != 4) return op.Refuse("a gradient of rank ", dims.size());
  TEKTITE_ASSIGN_OR_RETURN(Resize r, ResolveResize(op, from, {dims[kHeight], dims[kWidth]}));
  op.b().AssumeEqual(dims[0], r.batch);
  op.b().AssumeEqual(dims[3], r.channels);
  return r;
}

// Keys' cubic convolution (IEEE Transactions on Acoustics, Speech, and Signal Processing 29, 1981)
// with parameter a: the weight of a pixel at distance x, f64, in [0, 1].
Value NearWeight(FuncBuilder& b, Value x, double a) {
  Value inner = b.Sub(b.Mul(x, b.FullLike(x, a + 2)), b.FullLike(x, a + 3));
  return b.Add(b.Mul(b.Mul(inner, x), x), b.FullLike(x, 1));
}
// At distance 1 + x.
Value FarWeight(FuncBuilder& b, Value x, double a) {
  x = b.Add(x, b.FullLike(x, 1));
  Value inner = b.Sub(b.Mul(x, b.FullLike(x, a)), b.FullLike(x, 5 * a));
  inner = b.Add(b.Mul(inner, x), b.FullLike(x, 8 * a));
  return b.Sub(b.Mul(inner, x), b.FullLike(x, 4 * a));
}

// With half pixels, pixels outside of the image have no weight and the others all of it; without,
// the image's edge goes on.
void WeighInside(FuncBuilder& b, const std::array<Value, 4>& wanted, Taps* taps) {
  Value sum;
  for (size_t k = 0; k < taps->size(); ++k) {
    Tap& tap = (*taps)[k];
    Value inside = b.Compare(tap.index, wanted[k], "eq");
    tap.weight = b.Select(inside, tap.weight, b.FullLike(tap.weight, 0));
    sum = sum ? b.Add(sum, tap.weight) : tap.weight;
  }
  constexpr float kLeast = 1000 * std::numeric_limits<float>::min();
  Value some = b.Compare(b.Abs(sum), b.FullLike(sum, kLeast), "ge");
  Value scale = b.Div(b.FullLike(sum, 1), sum);
  for (Tap& tap : *taps) tap.weight = b.Select(some, b.Mul(tap.weight, scale), tap.weight);
}

// The four pixels round each place.  TensorFlow has weights for 1024 distances.
Taps CubicTaps(NodeImport& op, const Resize& r, int axis) {
  constexpr double kDistances = 1024;
  FuncBuilder& b = op.b();
  Value place = Places(op, r, axis);
  if (r.half_pixel_centers) place = b.Sub(place, b.FullLike(place, 0.5));
  Value floor = b.Unary(Op::kFloor, place), part = b.Sub(place, floor);
  part = b.Unary(Op::kRoundEven, b.Mul(part, b.FullLike(part, kDistances)));
  Value behind = b.Convert(b.Mul(part, b.FullLike(part, 1 / kDistances)), DType::kF64);
  Value before = b.Sub(b.FullLike(behind, 1), behind);
  const double a = r.half_pixel_centers ? -0.5 : -0.75;
  const std::array<Value, 4> weights = {FarWeight(b, behind, a), NearWeight(b, behind, a),
                                        NearWeight(b, before, a), FarWeight(b, before, a)};
  Value first = b.Convert(floor, DType::kS64);
  std::array<Value, 4> wanted;
  Taps taps;
  for (int k = 0; k < 4; ++k) {
    wanted[k] = b.Add(first, b.FullLike(first, k - 1));
    Value inside = AtMostLast(op, b.Max(wanted[k], b.FullLike(first, 0)), r.from[axis]);
    taps[k] = {inside, b.Convert(weights[k], DType::kF32)};
  }
  if (r.half_pixel_centers) WeighInside(b, wanted, &taps);
  return taps;
}

Value Combine(NodeImport& op, const Resize& r, Value x, int axis) {
  FuncBuilder& b = op.b();
  Value sum;
  for (const Tap& tap : CubicTaps(op, r, axis)) {
    Value pixels = TakeAlong(b, x, tap.index, axis);
    if (!pixels) return pixels;
    const int dimension = axis == 0 ? kHeight : kWidth;
    Value term = b.Mul(pixels, b.BroadcastInDim(tap.weight, pixels.shape().dims(), {dimension}));
    sum = sum ? b.Add(sum, term) : term;
  }
  return sum;
}

// Each pixel `factor` times along a dimension.
Value Repeat(FuncBuilder& b, Value x, int dimension, int64_t factor) {
  if (!x || factor == 1) return x;
  Dims spread = x.shape().dims(), result = spread;
  result[dimension] = result[dimension] * Dim(factor);
  spread.insert(spread.begin() + dimension + 1, Dim(factor));
  std::vector<int64_t> places;
  for (int i = 0; i < static_cast<int>(spread.size()); ++i) {
    if (i != dimension + 1) places.push_back(i);
  }
  return b.Reshape(b.BroadcastInDim(x, spread, places), result);
}

// How many times larger, where half pixels make each pixel the nearest to just as many; else 0.
int64_t WholeFactor(const Resize& r, int axis) {
  const Dim &from = r.from[axis], &to = r.to[axis];
  if (!r.half_pixel_centers || !from.is_constant() || !to.is_constant()) return 0;
  return to.value() % from.value() == 0 ? to.value() / from.value() : 0;
}

}  // namespace

// Columns first, as TensorFlow does, so that the sums are the same.
absl::Status ImportResizeBilinear(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Resize r, ResolveResize(op));
  Value x = op.Input(0);
  if (!x) return op.Return(x);
  FuncBuilder& b = op.b();
  x = b.Convert(x, DType::kF32);
  x = Interpolate(op, r, InPixels(b, r, x, r.from[0]), 1);
  if (x) x = Interpolate(op, r, InRows(b, r, x, r.to[1]), 0);
  return op.Return(AsImage(b, r, x));
}

// Its gradient, from the result's and the image.
absl::Status ImportResizeBilinearGrad(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const Resize r, ResolveGradient(op, op.InputDims(1)));
  Value dx = op.Input(0);
  for (int axis : {1, 0}) dx = Distribute(op, r, dx, axis, LinearTaps(op, r, axis));
  return op.Return(op.b().Convert(dx, op.InputDType(1)));
}

// Rows first, as TensorFlow does here.
absl::Status ImportResizeBicubic(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Resize r, ResolveResize(op));
  Value x = op.Input(0);
  if (!x) return op.Return(x);
  FuncBuilder& b = op.b();
  x = b.Convert(x, DType::kF32);
  x = Combine(op, r, InRows(b, r, x, r.from[1]), 0);
  if (x) x = Combine(op, r, InPixels(b, r, x, r.to[0]), 1);
  return op.Return(AsImage(b, r, x));
}

absl::Status ImportResizeBicubicGrad(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const Resize r, ResolveGradient(op, op.InputDims(1)));
  Value dx = op.Input(0);
  for (int axis : {0, 1}) dx = Distribute(op, r, dx, axis, CubicTaps(op, r, axis));
  return op.Return(op.b().Convert(dx, op.InputDType(1)));
}

// From the result's gradient and the image's height and width.
absl::Status ImportResizeNearestNeighborGrad(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(const Dims size, op.RequireContents(1));
  const Dims dims = op.InputDims(0);
  if (dims.size() != 4 || size.size() != 2) return op.Refuse("ranks");
  for (const Dim& d : size) {
    if (d.is_constant() && d.value() < 1) return op.Refuse("size ", d.value());
  }
  TEKTITE_ASSIGN_OR_RETURN(const Resize r,
                           ResolveGradient(op, {dims[0], size[0], size[1], dims[3]}));
  Value dy = op.Input(0);
  if (!dy) return op.Return(dy);
  const DType dtype = dy.dtype();
  if (!ir::IsFloat(dtype)) return op.Refuse(ir::DTypeName(dtype));
  if (ir::DTypeBytes(dtype) == 2) dy = b.Convert(dy, DType::kF32);
  const int64_t rows = WholeFactor(r, 0), columns = WholeFactor(r, 1);
  if (rows != 0 && columns != 0) {
    dy = b.Reshape(dy, {r.batch, size[0], Dim(rows), size[1], Dim(columns), r.channels});
    return op.Return(b.Convert(b.Reduce(dy, {2, 4}, "add"), dtype));
  }
  for (int axis : {1, 0}) {
    const Tap all = {Nearest(op, r, axis), Value()};
    dy = Distribute(op, r, dy, axis, {all});
  }
  return op.Return(b.Convert(dy, dtype));
}

absl::Status ImportResizeNearestNeighbor(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Resize r, ResolveResize(op));
  FuncBuilder& b = op.b();
  Value x = op.Input(0);
  if (!x) return op.Return(x);
  const int64_t rows = WholeFactor(r, 0), columns = WholeFactor(r, 1);
  if (rows != 0 && columns != 0) {
    return op.Return(Repeat(b, Repeat(b, x, kWidth, columns), kHeight, rows));
  }
  for (int axis : {1, 0}) {
    x = axis == 1 ? InPixels(b, r, x, r.from[0]) : InRows(b, r, x, r.to[1]);
    const Value nearest = Nearest(op, r, axis);
    if (!nearest || !x) return op.Return(Value());
    x = TakeAlong(b, x, nearest, axis);
  }
  return op.Return(AsImage(b, r, x));
}

}  // namespace tektite::importer
