// Floats rounded to the numbers that a few bits can tell apart, and kept as floats: what a network
// computes while it is trained for integers, and the gradients of that.
//
//   y = round((clamp(x, low, high) - low) / step) * step + low      FakeQuantWithMinMax*
//   y = round(clamp(x, low, high) * scale) / scale                  QuantizeAndDequantize*
//
// Each formula is TensorFlow's to the last rounding, since a step is a large difference.
#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clustering/importer/import_table.h"
#include "clustering/importer/layers/normalization.h"

namespace tektite::importer {
namespace {

constexpr int64_t kMostBits = 63;

// Scalars, or one number a channel.
struct Range {
  Value low, high;
};

// ---- FakeQuantWithMinMax* ----

struct Grid {
  Value low, high, step;
  Value scale;  // steps a unit, where TensorFlow multiplies by them: but for one range of inputs
};

// The range moved so that 0 is one of its numbers.
Grid Nudge(FuncBuilder& b, const Range& range, double least, double greatest) {
  if (!range.low || !range.high) return {};
  Value step = b.Div(b.Sub(range.high, range.low), b.FullLike(range.low, greatest - least));
  Value first = b.FullLike(step, least), last = b.FullLike(step, greatest);
  Value zero = b.Sub(first, b.Div(range.low, step));
  Value rounded = b.Unary(Op::kRoundAway, zero);
  rounded = b.Select(b.Compare(zero, zero, "eq"), rounded, b.FullLike(zero, 0));
  rounded = b.Select(b.Compare(zero, last, "gt"), last, rounded);
  rounded = b.Select(b.Compare(zero, first, "lt"), first, rounded);
  return {b.Mul(b.Sub(first, rounded), step), b.Mul(b.Sub(last, rounded), step), step, Value()};
}

bool IsPerChannel(const NodeImport& op) { return absl::StrContains(op.op(), "PerChannel"); }

// Inputs `first` and the one after it, or attributes.
absl::StatusOr<Range> RequireRange(NodeImport& op, int first) {
  FuncBuilder& b = op.b();
  if (absl::StrContains(op.op(), "Args")) {
    const float low = op.attrs().Float("min", -6.0f), high = op.attrs().Float("max", 6.0f);
    return Range{b.Scalar(DType::kF32, low), b.Scalar(DType::kF32, high)};
  }
  const int rank = IsPerChannel(op) ? 1 : 0;
  if (op.InputRank(first) != rank || op.InputRank(first + 1) != rank) return op.Refuse("ranks");
  if (rank == 1) {
    if (op.InputRank(0) < 1) return op.Refuse("a scalar");
    for (const int i : {first, first + 1}) {
      if (!b.AssumeEqual(op.InputDims(i)[0], op.InputDims(0).back())) {
        return op.Refuse("a range for each channel, please");
      }
    }
  }
  return Range{op.Input(first), op.Input(first + 1)};
}

absl::StatusOr<Grid> RequireGrid(NodeImport& op, const Range& range) {
  const int64_t bits = op.attrs().Int("num_bits", 8);
  if (bits < 2 || bits > 16) return op.Refuse(bits, " bits");
  FuncBuilder& b = op.b();
  const double least = op.attrs().Bool("narrow_range", false) ? 1 : 0;
  const double greatest = static_cast<double>((int64_t{1} << bits) - 1);
  Grid grid = Nudge(b, range, least, greatest);
  if (grid.step && (absl::StrContains(op.op(), "Args") || IsPerChannel(op))) {
    Value size = b.Sub(range.high, range.low);
    grid.scale = b.Div(b.FullLike(size, greatest - least), size);
  }
  return grid;
}

// Where nothing was measured yet, the range is from 0 to 0.
Value IsUnset(FuncBuilder& b, const Range& range) {
  return b.Binary(Op::kAnd, b.Compare(range.low, b.FullLike(range.low, 0), "eq"),
                  b.Compare(range.high, b.FullLike(range.high, 0), "eq"));
}

// ---- QuantizeAndDequantize* ----

struct Scales {
  Value low, high, scale, inverse;
};

// The greatest scale at which the range has room in the integers, and the range that fills it.
Scales ScaleOf(FuncBuilder& b, const Range& range, double least, double greatest) {
  if (!range.low || !range.high) return {};
  const DType dtype = range.low.dtype();
  const double none =
      dtype == DType::kF32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  const auto scale_of = [&](Value bound, double number) {
    Value integer = b.FullLike(bound, number);
    Value has_room = b.Compare(b.Mul(integer, bound), b.FullLike(bound, 0), "gt");
    return b.Select(has_room, b.Div(integer, bound), b.FullLike(bound, none));
  };
  Value from_low = scale_of(range.low, least), from_high = scale_of(range.high, greatest);
  Value by_low = b.Compare(from_low, from_high, "lt");
  Value inverse_low = b.Div(range.low, b.FullLike(range.low, least));
  Value inverse_high = b.Div(range.high, b.FullLike(range.high, greatest));
  Scales s;
  s.scale = b.Select(by_low, from_low, from_high);
  s.inverse = b.Select(by_low, inverse_low, inverse_high);
  s.high = b.Select(by_low, b.Mul(b.FullLike(inverse_low, greatest), inverse_low), range.high);
  s.low = b.Select(by_low, range.low, b.Mul(b.FullLike(inverse_high, least), inverse_high));
  return s;
}

// The dimension that has a range of its own for each index; -1: one range for all.
absl::StatusOr<int> RequireChannelAxis(const NodeImport& op) {
  const int64_t axis = op.attrs().Int("axis", -1);
  if (axis < -1 || axis >= op.InputRank(0)) return op.Refuse("axis ", axis);
  return static_cast<int>(axis);
}

absl::StatusOr<Range> RequireGivenRange(NodeImport& op, int axis, int first) {
  for (const int i : {first, first + 1}) {
    if (op.InputRank(i) != (axis < 0 ? 0 : 1)) return op.Refuse("ranks");
    if (axis >= 0 && !op.b().AssumeEqual(op.InputDims(i)[0], op.InputDims(0)[axis])) {
      return op.Refuse("a range for each channel, please");
    }
  }
  return Range{op.Input(first), op.Input(first + 1)};
}

}  // namespace

absl::Status ImportFakeQuant(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(const Range range, RequireRange(op, 1));
  TEKTITE_ASSIGN_OR_RETURN(Grid grid, RequireGrid(op, range));
  Value x = op.Input(0);
  if (!x || !grid.step) return op.Return(Value());
  const Dims& dims = x.shape().dims();
  const int last = x.shape().rank() - 1;
  Value zero = b.Neg(grid.low);
  zero = grid.scale ? b.Mul(zero, grid.scale) : b.Div(zero, grid.step);
  zero = b.Add(zero, b.FullLike(zero, 0.5));
  zero = b.Unary(Op::kFloor, zero);
  const auto spread = [&](Value v) { return Spread(b, v, dims, last); };
  Value low = spread(grid.low);
  Value clamped = b.Max(b.Min(x, spread(grid.high)), low);
  Value steps = b.Sub(clamped, low);
  steps = grid.scale ? b.Mul(steps, spread(grid.scale)) : b.Div(steps, spread(grid.step));
  steps = b.Add(b.Sub(steps, spread(zero)), b.FullLike(x, 0.5));
  Value y = b.Mul(b.Unary(Op::kFloor, steps), spread(grid.step));
  if (absl::StrContains(op.op(), "Args")) return op.Return(y);
  return op.Return(b.Select(spread(IsUnset(b, range)), b.FullLike(y, 0), y));
}

// Inside the range the gradient is x's, outside that of the bound.
absl::Status ImportFakeQuantGradient(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(const Range range, RequireRange(op, 2));
  TEKTITE_ASSIGN_OR_RETURN(const Grid grid, RequireGrid(op, range));
  TEKTITE_RETURN_IF_ERROR(op.RequireSameDims(0, 1));
  Value dy = op.Input(0), x = op.Input(1);
  if (!dy || !x || !grid.low) return op.Return(Value());
  const Dims& dims = x.shape().dims();
  const int last = x.shape().rank() - 1;
  const bool has_inputs = !absl::StrContains(op.op(), "Args");
  Value low = Spread(b, grid.low, dims, last), high = Spread(b, grid.high, dims, last);
  Value unset;
  if (has_inputs) unset = Spread(b, IsUnset(b, range), dims, last);
  const auto masked = [&](Value mask, bool of_bound) {
    Value part = b.Mul(dy, b.Convert(mask, DType::kF32));
    if (!has_inputs) return part;
    return b.Select(unset, of_bound ? b.FullLike(part, 0) : dy, part);
  };
  Value inside = b.Binary(Op::kAnd, b.Compare(x, low, "ge"), b.Compare(x, high, "le"));
  TEKTITE_RETURN_IF_ERROR(op.Return(masked(inside, false)));
  if (!has_inputs) return absl::OkStatus();
  const std::vector<int64_t> axes = AllBut(last + 1, IsPerChannel(op) ? last : -1);
  for (Value outside : {b.Compare(x, low, "lt"), b.Compare(x, high, "gt")}) {
    Value part = masked(outside, true);
    TEKTITE_RETURN_IF_ERROR(op.Return(axes.empty() ? part : b.Reduce(part, axes, "add")));
  }
  return absl::OkStatus();
}

absl::Status ImportQuantizeAndDequantize(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(const int axis, RequireChannelAxis(op));
  int64_t bits = op.attrs().Int("num_bits", 8);
  if (op.op() == "QuantizeAndDequantizeV3") {
    TEKTITE_ASSIGN_OR_RETURN(bits, op.RequireInt(3));
  }
  const bool is_signed = op.attrs().Bool("signed_input", true);
  if (bits < 1 || bits > kMostBits - 1 || (is_signed && bits < 2)) return op.Refuse(bits, " bits");
  const absl::string_view mode = op.attrs().String("round_mode", "HALF_TO_EVEN");
  if (mode != "HALF_TO_EVEN" && mode != "HALF_UP") return op.Refuse("round mode ", mode);
  const DType dtype = op.InputDType(0);
  if (dtype != DType::kF32 && dtype != DType::kF64) return op.Refuse(ir::DTypeName(dtype));
  Value x = op.Input(0);
  if (!x) return op.Return(x);
  const Dims& dims = x.shape().dims();
  const bool is_given = op.attrs().Bool("range_given", false);
  Range range;
  if (is_given) {
    // TensorFlow raises an error for any.
    if (axis >= 0 && op.op() != "QuantizeAndDequantizeV3") return op.Refuse("a range a channel");
    TEKTITE_ASSIGN_OR_RETURN(range, RequireGivenRange(op, axis, 1));
    op.Check(b.Compare(range.low, range.high, "le"));
  } else {
    const std::vector<int64_t> axes = AllBut(x.shape().rank(), axis);
    range = axes.empty() ? Range{x, x} : Range{b.Reduce(x, axes, "min"), b.Reduce(x, axes, "max")};
  }
  const int64_t half = int64_t{1} << (bits - 1);
  const bool is_narrow = op.attrs().Bool("narrow_range", false);
  const int64_t least = !is_signed ? 0 : is_narrow ? 1 - half : -half;
  const int64_t greatest = is_signed ? half - 1 : 2 * half - 1;
  const Scales s = ScaleOf(b, range, static_cast<double>(least), static_cast<double>(greatest));
  const auto spread = [&](Value v) { return Spread(b, v, dims, axis); };
  if (is_given) x = b.Max(b.Min(x, spread(s.high)), spread(s.low));
  x = b.Mul(x, spread(s.scale));
  if (mode == "HALF_UP") {
    x = b.Unary(Op::kFloor, b.Add(x, b.FullLike(x, 0.5)));
  } else {
    x = b.Unary(Op::kRoundEven, x);
  }
  return op.Return(b.Mul(x, spread(s.inverse)));
}

// The gradient passes where x lies in the range; the range has none.
absl::Status ImportQuantizeAndDequantizeGrad(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(const int axis, RequireChannelAxis(op));
  TEKTITE_ASSIGN_OR_RETURN(const Range range, RequireGivenRange(op, axis, 2));
  TEKTITE_RETURN_IF_ERROR(op.RequireSameDims(0, 1));
  Value dy = op.Input(0), x = op.Input(1);
  if (!dy || !x || !range.low) return op.Return(Value());
  const Dims& dims = x.shape().dims();
  Value inside = b.Binary(Op::kAnd, b.Compare(x, Spread(b, range.low, dims, axis), "ge"),
                          b.Compare(x, Spread(b, range.high, dims, axis), "le"));
  const Value none = b.FullLike(range.low, 0);
  return op.Return({b.Mul(dy, b.Convert(inside, dy.dtype())), none, none});
}

}  // namespace tektite::importer
