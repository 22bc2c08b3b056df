// Images under a projection: what layers that rotate, zoom and shift use.
//
// Pixel (y, x) of the result is the image at
//
//   in_x = (t0 x + t1 y + t2) / (t6 x + t7 y + 1),  in_y = (t3 x + t4 y + t5) / (t6 x + t7 y + 1)
//
// for the eight numbers t of all images or of each, in single precision and in the order of
// TensorFlow's kernel, since rounding decides which pixel is the nearest.  The four modes say what
// lies outside of the image.
#include <functional>
#include <string>
#include <utility>

#include "clustering/importer/import_table.h"
#include "clustering/importer/movement/gathering.h"

namespace tektite::importer {
namespace {

constexpr int kCoefficients = 8;

struct Projection {
  Dims from;                              // NHWC
  Dims to;                                // the result's, without channels
  Value pixels;                           // [batch * height * width, channels]
  std::function<Value(Value)> to_result;  // a value of each result's place, for each channel
  Value fill;                             // a scalar
};

// Where the numbers s64[to] lie in [0, size).
Value Inside(NodeImport& op, Value at, const Dim& size) {
  FuncBuilder& b = op.b();
  Value limit = b.BroadcastTo(op.DimValue(size, DType::kS64), at.shape().dims());
  return b.Binary(Op::kAnd, b.Compare(at, b.FullLike(at, 0), "ge"), b.Compare(at, limit, "lt"));
}

Value ClampTo(NodeImport& op, Value at, const Dim& size) {
  FuncBuilder& b = op.b();
  return b.Min(b.Max(at, b.FullLike(at, 0)), op.DimValue(size - Dim(1), at.dtype()));
}

// The pixels at s64[to], f32[to, channels] or of the image's type; `fill` outside.
Value Read(NodeImport& op, const Projection& p, Value y, Value x) {
  FuncBuilder& b = op.b();
  if (!y || !x || !p.pixels) return Value();
  Value inside = b.Binary(Op::kAnd, Inside(op, y, p.from[1]), Inside(op, x, p.from[2]));
  Value row = b.Add(b.Mul(b.Iota(DType::kS64, p.to, 0), op.DimValue(p.from[1], DType::kS64)),
                    ClampTo(op, y, p.from[1]));
  Value index = b.Add(b.Mul(row, op.DimValue(p.from[2], DType::kS64)), ClampTo(op, x, p.from[2]));
  Value read = Gather(b, p.pixels, index, {0}, {3}, 3);
  if (!read) return read;
  return b.Select(p.to_result(inside), read, b.BroadcastTo(p.fill, read.shape().dims()));
}

// How far x / per periods (towards zero, and `more`) reach, `length` each.  The count and the
// product are 64-bit integers, as in TensorFlow's kernel, and wrap around as its do.
Value Reach(FuncBuilder& b, Value x, double per, double length, double more = 0) {
  Value periods = b.Convert(b.Div(x, b.FullLike(x, per)), DType::kS64);
  if (!periods) return periods;
  periods = b.Add(periods, b.FullLike(periods, more));
  return b.Convert(b.Mul(periods, b.FullLike(periods, length)), DType::kF32);
}

// [abcd] goes on as [dcba|abcd|dcba].
Value Reflect(FuncBuilder& b, Value at, double size) {
  const double both = 2 * size;
  auto full = [&](double value) { return b.FullLike(at, value); };
  Value before = b.Add(Reach(b, b.Neg(at), both, both), at);
  before = b.Select(b.Compare(before, full(-size), "lt"), b.Add(before, full(both)),
                    b.Sub(b.Neg(before), full(1)));
  Value behind = b.Sub(at, Reach(b, at, both, both));
  behind = b.Select(b.Compare(behind, full(size), "ge"), b.Sub(b.Sub(full(both), behind), full(1)),
                    behind);
  return b.Select(b.Compare(at, full(0), "lt"), before,
                  b.Select(b.Compare(at, full(size - 1), "gt"), behind, at));
}

// [abcd] goes on as [abcd|abcd|abcd].
Value Wrap(FuncBuilder& b, Value at, double size) {
  auto full = [&](double value) { return b.FullLike(at, value); };
  Value before = b.Add(at, Reach(b, b.Neg(at), size - 1, size, 1));
  Value behind = b.Sub(at, Reach(b, at, size - 1, size));
  return b.Select(b.Compare(at, full(0), "lt"), before,
                  b.Select(b.Compare(at, full(size - 1), "gt"), behind, at));
}

// A place along one dimension of the image, as the mode has it.
absl::StatusOr<Value> Place(NodeImport& op, absl::string_view mode, Value at, const Dim& size) {
  FuncBuilder& b = op.b();
  if (mode == "CONSTANT" || !at) return at;
  if (mode == "NEAREST") return ClampTo(op, at, size);
  if (mode != "REFLECT" && mode != "WRAP") return op.Refuse("fill mode '", mode, "'");
  if (!size.is_constant()) return op.Refuse("fill mode ", mode, " of images of any size");
  const double pixels = static_cast<double>(size.value());
  if (pixels > 1) at = mode == "WRAP" ? Wrap(b, at, pixels) : Reflect(b, at, pixels);
  return ClampTo(op, at, size);
}

Value Nearest(NodeImport& op, const Projection& p, Value y, Value x) {
  FuncBuilder& b = op.b();
  auto rounded = [&](Value at) { return b.Convert(b.Unary(Op::kRoundAway, at), DType::kS64); };
  return Read(op, p, rounded(y), rounded(x));
}

Value Bilinear(NodeImport& op, const Projection& p, Value y, Value x) {
  FuncBuilder& b = op.b();
  Value low_y = b.Unary(Op::kFloor, y), low_x = b.Unary(Op::kFloor, x);
  Value high_y = b.Add(low_y, b.FullLike(y, 1)), high_x = b.Add(low_x, b.FullLike(x, 1));
  auto read = [&](Value at_y, Value at_x) {
    return b.Convert(Read(op, p, b.Convert(at_y, DType::kS64), b.Convert(at_x, DType::kS64)),
                     DType::kF32);
  };
  auto mix = [&](Value low, Value to_high, Value high, Value from_low) {
    return b.Add(b.Mul(p.to_result(to_high), low), b.Mul(p.to_result(from_low), high));
  };
  Value to_high = b.Sub(high_x, x), from_low = b.Sub(x, low_x);
  Value upper = mix(read(low_y, low_x), to_high, read(low_y, high_x), from_low);
  Value lower = mix(read(high_y, low_x), to_high, read(high_y, high_x), from_low);
  return mix(upper, b.Sub(high_y, y), lower, b.Sub(y, low_y));
}

}  // namespace

absl::Status ImportProjection(NodeImport& op) {
  const Dims& from = op.InputDims(0);
  const Dims& numbers = op.InputDims(1);
  TEKTITE_ASSIGN_OR_RETURN(const Dims size, op.RequireContents(2));
  if (from.size() != 4 || numbers.size() != 2 || size.size() != 2) return op.Refuse("ranks");
  if (numbers[1] != Dim(kCoefficients)) return op.Refuse(numbers[1].ToString(), " coefficients");
  for (const Dim& d : size) {
    if (d.is_constant() && d.value() < 1) return op.Refuse("size ", d.value());
  }
  if (ProvablyEmpty(from)) return op.Refuse("an image without pixels");
  const DType dtype = op.InputDType(0);
  if (!ir::IsFloat(dtype)) return op.Refuse(ir::DTypeName(dtype), " pixels");
  const bool shared = numbers[0] == Dim(1);
  Value image = op.Input(0), transforms = op.Input(1);
  if (!image || !transforms) return op.Return(Value());
  FuncBuilder& b = op.b();
  if (!shared) b.AssumeEqual(numbers[0], from[0]);

  Projection p;
  p.from = from;
  p.to = {from[0], size[0], size[1]};
  p.pixels = b.Reshape(image, {from[0] * from[1] * from[2], from[3]});
  Dims result = p.to;
  result.push_back(from[3]);
  p.to_result = [&b, result](Value x) { return b.BroadcastInDim(x, result, {0, 1, 2}); };
  p.fill = b.Scalar(dtype, 0);
  if (op.num_inputs() > 3) {
    if (op.InputRank(3) != 0) return op.Refuse("a fill value of rank ", op.InputRank(3));
    p.fill = b.Convert(op.Input(3), dtype);
  }

  auto number = [&](int k) {
    Value column = b.SliceDim(transforms, 1, Dim(k), Dim(k + 1));
    if (shared) return b.BroadcastInDim(b.Reshape(column, {}), p.to, {});
    return b.BroadcastInDim(b.Reshape(column, {from[0]}), p.to, {0});
  };
  Value y = b.Iota(DType::kF32, p.to, 1), x = b.Iota(DType::kF32, p.to, 2);
  auto sum = [&](int k) { return b.Add(b.Mul(number(k), x), b.Mul(number(k + 1), y)); };
  Value scale = b.Add(sum(6), b.FullLike(x, 1));
  const std::string mode(op.attrs().String("fill_mode", "CONSTANT"));
  TEKTITE_ASSIGN_OR_RETURN(Value in_x,
                           Place(op, mode, b.Div(b.Add(sum(0), number(2)), scale), from[2]));
  TEKTITE_ASSIGN_OR_RETURN(Value in_y,
                           Place(op, mode, b.Div(b.Add(sum(3), number(5)), scale), from[1]));
  const absl::string_view way = op.attrs().String("interpolation");
  if (way != "NEAREST" && way != "BILINEAR") return op.Refuse("interpolation '", way, "'");
  Value pixels = way == "NEAREST" ? Nearest(op, p, in_y, in_x) : Bilinear(op, p, in_y, in_x);
  if (!pixels) return op.Return(pixels);
  pixels = b.Convert(pixels, dtype);
  // A point at infinity.
  Value none = p.to_result(b.Compare(scale, b.FullLike(scale, 0), "eq"));
  return op.Return(b.Select(none, b.BroadcastTo(p.fill, result), pixels));
}

}  // namespace tektite::importer
