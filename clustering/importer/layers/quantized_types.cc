// QuantizeV2 and Dequantize: floats as integers of quint8, qint8 and their like, which the tensor
// IR holds as u8, s8 and so on.
//
//   MIN_COMBINED   q = round((clamp(x) - low) * scale) + least     x = (q - least) * step + low
//   MIN_FIRST      q = round(x * scale) - round(low * scale) + least, the same with low on the grid
//   SCALED         q = round(clamp(x) * scale)                      x = q * step
//
// Each formula is TensorFlow's to the last rounding, since a step is a large difference.  oneDNN's
// kernel takes MIN_FIRST of quint8 unless the range is narrow, and rounds once, to even: round(x *
// scale - low * scale). Ranges that TensorFlow has an error or an accident for are left to it by a
// check.
#include <algorithm>
#include <limits>

#include "clustering/importer/import_table.h"
#include "clustering/importer/layers/normalization.h"
#include "clustering/importer/layers/quantized_ranges.h"

namespace tektite::importer {
namespace {

constexpr float kMostFloat = std::numeric_limits<float>::max();

// Inputs 1 and 2: scalars, or one number for each index of dimension `axis`.
absl::StatusOr<QuantizedRange> RequireBounds(NodeImport& op, int axis) {
  for (const int i : {1, 2}) {
    if (op.InputDType(i) != DType::kF32) return op.Refuse("a range of other floats");
    if (op.InputRank(i) != (axis < 0 ? 0 : 1)) return op.Refuse("ranks");
    if (axis >= 0 && !op.b().AssumeEqual(op.InputDims(i)[0], op.InputDims(0)[axis])) {
      return op.Refuse("a range for each index, please");
    }
  }
  return QuantizedRange{op.Input(1), op.Input(2)};
}

absl::StatusOr<int> RequireSliceAxis(const NodeImport& op) {
  const int64_t axis = op.attrs().Int("axis", -1);
  if (axis < -1 || axis >= op.InputRank(0)) return op.Refuse("axis ", axis);
  return static_cast<int>(axis);
}

absl::Status RequireIntegers(const NodeImport& op, DType dtype) {
  if (ir::IsInteger(dtype) && ir::DTypeBytes(dtype) <= 2) return absl::OkStatus();
  return op.Refuse(ir::DTypeName(dtype));
}

// number / bound where those have one sign, kMostFloat elsewhere.
Value ScaleOfBound(FuncBuilder& b, Value bound, double number) {
  const Value integer = b.FullLike(bound, number);
  const Value has_room = b.Compare(b.Mul(integer, bound), b.FullLike(bound, 0), "gt");
  return b.Select(has_room, b.Div(integer, bound), b.FullLike(bound, kMostFloat));
}

// With 0 in it, and not too narrow.
QuantizedRange WidenedBounds(FuncBuilder& b, const QuantizedRange& range, float least_size) {
  const Value one = b.FullLike(range.low, 1), zero = b.FullLike(range.low, 0);
  const Value size = b.Max(one, b.Max(b.Abs(range.low), b.Abs(range.high)));
  const Value apart = b.Mul(size, b.FullLike(size, least_size));
  const Value low = b.Min(zero, range.low);
  return {low, b.Max(zero, b.Max(range.high, b.Add(low, apart)))};
}

Value ClampTo(FuncBuilder& b, Value x, const QuantizedRange& range, int axis) {
  const Dims& dims = x.shape().dims();
  return b.Max(b.Min(x, Spread(b, range.high, dims, axis)), Spread(b, range.low, dims, axis));
}

}  // namespace

absl::Status ImportQuantize(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(const DType dtype, op.Type("T", DType::kU8));
  TEKTITE_RETURN_IF_ERROR(RequireIntegers(op, dtype));
  TEKTITE_ASSIGN_OR_RETURN(const int axis, RequireSliceAxis(op));
  const absl::string_view mode = op.attrs().String("mode", "MIN_COMBINED");
  const bool to_even = op.attrs().String("round_mode", "HALF_AWAY_FROM_ZERO") == "HALF_TO_EVEN";
  const bool is_narrow = op.attrs().Bool("narrow_range", false);
  if (to_even && mode != "SCALED") return op.Refuse("round mode HALF_TO_EVEN");
  const bool with_onednn = !is_narrow && !op.attrs().Bool("_tektite_without_onednn", false);
  if (to_even && with_onednn && ir::DTypeBytes(dtype) == 1) {
    return op.Refuse("oneDNN's kernel has a range of its own for bytes, half to even");
  }
  if (axis >= 0) {
    // TensorFlow's results are scalars where there is one index.
    const Dim& indices = op.InputDims(0)[axis];
    if (!indices.is_constant() || indices.value() == 1) return op.Refuse("a range for one index");
  }
  TEKTITE_ASSIGN_OR_RETURN(const QuantizedRange given, RequireBounds(op, axis));
  const Value x = op.Input(0);
  if (!x || !given.low || !given.high) return op.Return({Value(), Value(), Value()});
  const Dims& dims = x.shape().dims();
  const IntegerLimits limits = IntegerLimitsOf(dtype);
  op.Check(b.Compare(given.low, given.high, "le"));
  QuantizedRange range = WidenedBounds(b, given, op.attrs().Float("ensure_minimum_range", 0.01f));
  const Value size = b.Sub(range.high, range.low);
  op.Check(b.Compare(size, b.FullLike(size, 0), "gt"));
  op.Check(b.Compare(size, b.FullLike(size, kMostFloat), "le"));
  const auto spread = [&](Value v) { return Spread(b, v, dims, axis); };
  const auto number = [&](double n) { return b.FullLike(x, n); };
  Value q;
  if (mode == "SCALED") {
    const double least = limits.least + (is_narrow ? 1 : 0);
    const Value scale =
        b.Min(ScaleOfBound(b, range.low, least), ScaleOfBound(b, range.high, limits.greatest));
    op.Check(b.Compare(scale, b.FullLike(scale, kMostFloat), "lt"));
    range = {b.Div(b.FullLike(scale, least), scale),
             b.Div(b.FullLike(scale, limits.greatest), scale)};
    q = b.Unary(to_even ? Op::kRoundEven : Op::kRoundAway,
                b.Mul(ClampTo(b, x, range, axis), spread(scale)));
  } else {
    const Value scale = b.Div(b.FullLike(size, limits.greatest - limits.least), size);
    if (mode == "MIN_FIRST" && with_onednn && dtype == DType::kU8) {
      q = b.Sub(b.Mul(x, spread(scale)), spread(b.Mul(range.low, scale)));
      q = b.Unary(Op::kRoundEven, q);
      q = b.Min(b.Max(q, number(limits.least)), number(limits.greatest));
      q = UnlessNan(b, x, q, limits.greatest);
    } else if (mode == "MIN_FIRST") {
      const Value first = b.Unary(Op::kRoundAway, b.Mul(range.low, scale));
      const Value offset = b.Sub(first, b.FullLike(first, limits.least));
      q = b.Sub(b.Unary(Op::kRoundAway, b.Mul(x, spread(scale))), spread(offset));
      q = b.Min(b.Max(q, number(limits.least)), number(limits.greatest));
      q = UnlessNan(b, x, q, 0);
    } else {
      q = b.Mul(b.Sub(ClampTo(b, x, range, axis), spread(range.low)), spread(scale));
      q = limits.least < 0 ? b.Unary(Op::kRoundAway, b.Add(q, number(limits.least)))
                           : b.Unary(Op::kFloor, b.Add(q, number(0.5)));
    }
  }
  if (axis >= 0) q = UnlessNan(b, x, q, 0);
  return op.Return({b.Convert(q, dtype), range.low, range.high});
}

absl::Status ImportDequantize(NodeImport& op) {
  FuncBuilder& b = op.b();
  const DType from = op.InputDType(0);
  TEKTITE_RETURN_IF_ERROR(RequireIntegers(op, from));
  TEKTITE_ASSIGN_OR_RETURN(const DType to, op.Type("dtype", DType::kF32));
  TEKTITE_ASSIGN_OR_RETURN(const int axis, RequireSliceAxis(op));
  const absl::string_view mode = op.attrs().String("mode", "MIN_COMBINED");
  const bool is_narrow = op.attrs().Bool("narrow_range", false);
  if (to != DType::kF32 && mode != "MIN_COMBINED") return op.Refuse(ir::DTypeName(to));
  if (mode == "MIN_FIRST" && axis >= 0) return op.Refuse("MIN_FIRST with a range for each index");
  // oneDNN has another scale for it.
  if (mode == "SCALED" && from == DType::kU8 && is_narrow) return op.Refuse("quint8, narrow");
  TEKTITE_ASSIGN_OR_RETURN(const QuantizedRange range, RequireBounds(op, axis));
  Value x = op.Input(0);
  if (!x || !range.low || !range.high) return op.Return(Value());
  const Dims& dims = x.shape().dims();
  const IntegerLimits limits = IntegerLimitsOf(from);
  const auto spread = [&](Value v) { return Spread(b, v, dims, axis); };
  const auto number = [&](double n) { return b.FullLike(range.low, n); };
  x = b.Convert(x, DType::kF32);
  if (mode == "SCALED") {
    Value step = b.Div(range.high, number(limits.greatest));
    if (limits.least < 0) {
      const Value below = b.Div(range.low, number(limits.least + (is_narrow ? 1 : 0)));
      step = b.Select(b.Compare(below, step, "lt"), step, below);
    }
    return op.Return(b.Mul(x, spread(step)));
  }
  const Value step = b.Div(b.Sub(range.high, range.low), number(limits.greatest - limits.least));
  if (mode == "MIN_COMBINED") {
    const Value from_zero = b.Sub(x, b.FullLike(x, limits.least));
    return op.Return(b.Convert(b.Add(b.Mul(from_zero, spread(step)), spread(range.low)), to));
  }
  const Value on_grid = b.Mul(b.Unary(Op::kRoundAway, b.Div(range.low, step)), step);
  const Value low = b.Select(b.Compare(range.low, range.high, "eq"), range.low, on_grid);
  const Value zero = b.Sub(low, b.Mul(number(limits.least), step));
  return op.Return(b.Add(b.Mul(x, spread(step)), spread(zero)));
}

}  // namespace tektite::importer
