#include "clustering/importer/layers/quantized_ranges.h"

namespace tektite::importer {
namespace {

constexpr double kGreatestInF32 = 2147483520;

// How many numbers a type has.
double NumbersOf(DType dtype) {
  const IntegerLimits limits = IntegerLimitsOf(dtype);
  return limits.greatest - limits.least + 1;
}

Value SizeInF64(FuncBuilder& b, const QuantizedRange& range) {
  return b.Convert(b.Sub(range.high, range.low), DType::kF64);
}

Value IsEmpty(FuncBuilder& b, const QuantizedRange& range) {
  return b.Compare(range.low, range.high, "eq");
}

// The range's size, a step longer at its end, in f64.
Value AdjustedSize(FuncBuilder& b, DType dtype, const QuantizedRange& range) {
  const double numbers = NumbersOf(dtype);
  const Value size = SizeInF64(b, range);
  return b.Mul(size, b.FullLike(size, numbers / (numbers - 1)));
}

// An f32 step, and the f32 range's begin on its grid.
struct FloatGrid {
  Value step, low;
};

FloatGrid FloatGridOf(FuncBuilder& b, Value step, const QuantizedRange& range) {
  step = b.Convert(step, DType::kF32);
  return {step, b.Mul(b.Unary(Op::kRoundAway, b.Div(range.low, step)), step)};
}

}  // namespace

Value UnlessNan(FuncBuilder& b, Value x, Value q, double number) {
  return b.Select(b.Compare(x, x, "eq"), q, b.FullLike(q, number));
}

IntegerLimits IntegerLimitsOf(DType dtype) {
  const int bits = 8 * ir::DTypeBytes(dtype);
  const double numbers = static_cast<double>(int64_t{1} << bits);
  if (ir::IsUnsigned(dtype)) return {0, numbers - 1};
  return {-numbers / 2, numbers / 2 - 1};
}

absl::StatusOr<QuantizedRange> RequireQuantizedRange(NodeImport& op, int i, int j) {
  for (const int k : {i, j}) {
    if (op.InputDType(k) != DType::kF32) return op.Refuse("a range of other floats");
    TEKTITE_RETURN_IF_ERROR(op.RequireScalar(k));
  }
  return QuantizedRange{op.Input(i), op.Input(j)};
}

Value QuantizedInteger(FuncBuilder& b, DType dtype, double number, const QuantizedRange& range) {
  if (!range.low || !range.high) return Value();
  return QuantizedIntegers(b, dtype, b.Scalar(DType::kF64, number), range);
}

Value QuantizedIntegers(FuncBuilder& b, DType dtype, Value numbers, const QuantizedRange& range) {
  const Value size = AdjustedSize(b, dtype, range);
  const Value scale = b.Div(b.FullLike(size, NumbersOf(dtype)), size);
  const auto scaled = [&](Value v) { return b.Unary(Op::kRoundAway, b.Mul(v, scale)); };
  const Value steps =
      b.Convert(b.Sub(scaled(numbers), scaled(b.Convert(range.low, DType::kF64))), DType::kS64);
  const double least = IntegerLimitsOf(dtype).least;
  // Added as f64: of a range with NaN the least s64 stays that, instead of wrapping.
  const Value whole = b.Convert(steps, DType::kF64);
  const Value integer = b.Convert(b.Add(whole, b.FullLike(whole, least)), DType::kS64);
  return b.SelectImplicit(IsEmpty(b, range), b.FullLike(integer, least), integer);
}

Value QuantizedNumber(FuncBuilder& b, DType dtype, double number, const QuantizedRange& range) {
  const Value integer = QuantizedInteger(b, dtype, number, range);
  if (!integer) return integer;
  const IntegerLimits limits = IntegerLimitsOf(dtype);
  const Value at_least = b.Max(integer, b.FullLike(integer, limits.least));
  return b.Convert(b.Min(at_least, b.FullLike(integer, limits.greatest)), dtype);
}

Value NumbersInF64(FuncBuilder& b, Value x, const QuantizedRange& range) {
  const Value size = AdjustedSize(b, x.dtype(), range);
  const Value step = b.Div(size, b.FullLike(size, NumbersOf(x.dtype())));
  const FloatGrid grid = FloatGridOf(b, step, range);
  const Value low = b.Convert(grid.low, DType::kF64);
  // qint32 becomes f32 on its way, which rounds more than 24 bits.
  const Value integers = b.Convert(b.Convert(x, DType::kF32), DType::kF64);
  const Value steps = b.Sub(integers, b.FullLike(integers, IntegerLimitsOf(x.dtype()).least));
  const Value y = b.Convert(b.Add(low, b.Mul(steps, step)), DType::kF32);
  return b.SelectImplicit(IsEmpty(b, range), range.low, y);
}

Value NumbersInF32(FuncBuilder& b, Value x, const QuantizedRange& range) {
  const Value size = SizeInF64(b, range);
  const FloatGrid grid =
      FloatGridOf(b, b.Div(size, b.FullLike(size, NumbersOf(x.dtype()) - 1)), range);
  const Value low = b.Select(IsEmpty(b, range), range.low, grid.low);
  const Value least = b.FullLike(grid.step, IntegerLimitsOf(x.dtype()).least);
  const Value zero = b.Sub(low, b.Mul(least, grid.step));
  return b.Add(zero, b.Mul(b.Convert(x, DType::kF32), grid.step));
}

Value IntegersInF32(FuncBuilder& b, Value x, DType dtype, const QuantizedRange& range) {
  const IntegerLimits limits = IntegerLimitsOf(dtype);
  const Value size = SizeInF64(b, range);
  Value scale = b.Convert(b.Div(b.FullLike(size, NumbersOf(dtype) - 1), size), DType::kF32);
  scale = b.Select(IsEmpty(b, range), b.FullLike(scale, 0), scale);
  const Value low = b.Unary(Op::kRoundAway, b.Mul(range.low, scale));
  const Value offset = b.Sub(low, b.FullLike(low, limits.least));
  const Value wide = b.Sub(b.Unary(Op::kRoundAway, b.Mul(x, scale)), offset);
  Value q = b.Max(wide, b.Scalar(DType::kF32, limits.least));
  // The greatest f32 below 2^31, of s32.
  const double greatest = dtype == DType::kS32 ? kGreatestInF32 : limits.greatest;
  q = b.Min(q, b.Scalar(DType::kF32, greatest));
  // NaN is the least s32, of which bytes are 0.
  return b.Convert(UnlessNan(b, wide, q, dtype == DType::kS32 ? limits.least : 0), dtype);
}

QuantizedRange RangeOfProduct(FuncBuilder& b, const QuantizedRange& x, DType x_type,
                              const QuantizedRange& y, DType y_type) {
  if (!x.low || !x.high || !y.low || !y.high) return {};
  const auto step = [&](const QuantizedRange& range, DType dtype) {
    const Value size = b.Sub(range.high, range.low);
    return b.Div(size, b.FullLike(size, NumbersOf(dtype) - 1));
  };
  const Value product = b.Mul(step(x, x_type), step(y, y_type));
  const IntegerLimits limits = IntegerLimitsOf(DType::kS32);
  return {b.Mul(product, b.FullLike(product, limits.least)),
          b.Mul(product, b.FullLike(product, limits.greatest))};
}

}  // namespace tektite::importer
