// s32 sums with a range, in bytes with a narrower one.
//
//   RequantizationRange           the range that the sums use
//   Requantize                    the sums as bytes of a given range
//   QuantizeDownAndShrinkRange    both of these
#include "clustering/importer/import_table.h"
#include "clustering/importer/layers/quantized_ranges.h"

namespace tektite::importer {
namespace {

// What the least and the greatest of the sums mean; the range begins at 0 or below.
QuantizedRange UsedRange(FuncBuilder& b, Value sums, const QuantizedRange& range) {
  std::vector<int64_t> all;
  for (int d = 0; d < sums.shape().rank(); ++d) all.push_back(d);
  const Value low = NumbersInF64(b, b.Reduce(sums, all, "min"), range);
  const Value zero = b.FullLike(low, 0);  // instead of NaN, too
  return {b.Select(b.Compare(low, zero, "lt"), low, zero),
          NumbersInF64(b, b.Reduce(sums, all, "max"), range)};
}

// s32 sums as bytes of quint8, in fixed point with 16 bits after the point, as TensorFlow's kernel.
Value AsBytes(FuncBuilder& b, Value sums, const QuantizedRange& from, const QuantizedRange& to) {
  constexpr double kOne = 65536, kHalf = 32768;
  const auto f64 = [&](Value v) { return b.Convert(v, DType::kF64); };
  const auto times = [&](Value v, double n) { return b.Mul(v, b.FullLike(v, n)); };
  const auto integer = [&](Value v) { return b.Convert(v, DType::kS64); };
  const Value size = b.Sub(to.high, to.low);
  const Value is_empty = b.Compare(size, b.FullLike(size, 0), "eq");
  const auto unless_empty = [&](Value v) { return b.Select(is_empty, b.FullLike(v, 0), v); };
  const Value scale =
      unless_empty(integer(b.Div(times(f64(b.Sub(from.high, from.low)), 255 * kOne), f64(size))));
  const Value to_steps = unless_empty(b.Div(b.FullLike(size, 255), size));
  const Value middle = times(b.Add(from.low, from.high), 0.5);
  const Value from_offset = integer(times(b.Mul(middle, to_steps), kOne));
  const Value to_offset = unless_empty(
      integer(b.Unary(Op::kRoundAway, b.Div(times(f64(to.low), 255 * kOne), f64(size)))));
  // Its kernel reads qint32 as f32 first, which rounds sums of more than 24 bits.
  Value q = b.Mul(integer(b.Convert(sums, DType::kF32)), scale);
  q = b.Binary(Op::kShiftRightArithmetic, q, b.FullLike(q, 32));
  q = b.Add(q, b.Add(b.Sub(from_offset, to_offset), b.Scalar(DType::kS64, kHalf)));
  q = b.Binary(Op::kShiftRightArithmetic, q, b.FullLike(q, 16));
  return b.Convert(b.Min(b.Max(q, b.FullLike(q, 0)), b.FullLike(q, 255)), DType::kU8);
}

absl::Status RequireSums(NodeImport& op) {
  if (op.InputDType(0) != DType::kS32) return op.Refuse(ir::DTypeName(op.InputDType(0)));
  return absl::OkStatus();
}

absl::Status RequireBytes(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const DType dtype, op.Type("out_type", DType::kU8));
  return dtype == DType::kU8 ? absl::OkStatus() : op.Refuse(ir::DTypeName(dtype));
}

}  // namespace

absl::Status ImportRequantizationRange(NodeImport& op) {
  TEKTITE_RETURN_IF_ERROR(RequireSums(op));
  TEKTITE_ASSIGN_OR_RETURN(const QuantizedRange range, RequireQuantizedRange(op, 1, 2));
  const Value sums = op.Input(0);
  if (!sums || !range.low || !range.high) return op.Return({Value(), Value()});
  const QuantizedRange used = UsedRange(op.b(), sums, range);
  return op.Return({used.low, used.high});
}

absl::Status ImportRequantize(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_RETURN_IF_ERROR(RequireSums(op));
  TEKTITE_ASSIGN_OR_RETURN(const DType dtype, op.Type("out_type", DType::kU8));
  if (dtype != DType::kU8 && dtype != DType::kS8) return op.Refuse(ir::DTypeName(dtype));
  TEKTITE_ASSIGN_OR_RETURN(const QuantizedRange from, RequireQuantizedRange(op, 1, 2));
  TEKTITE_ASSIGN_OR_RETURN(const QuantizedRange to, RequireQuantizedRange(op, 3, 4));
  const Value sums = op.Input(0);
  if (!sums || !from.low || !from.high || !to.low || !to.high) {
    return op.Return({Value(), Value(), Value()});
  }
  op.Check(b.Compare(to.low, b.FullLike(to.low, 0), "le"));
  op.Check(b.Compare(to.low, to.high, "le"));
  const Value bytes = dtype == DType::kU8
                          ? AsBytes(b, sums, from, to)
                          : IntegersInF32(b, NumbersInF32(b, sums, from), dtype, to);
  return op.Return({bytes, to.low, to.high});
}

absl::Status ImportQuantizeDown(NodeImport& op) {
  TEKTITE_RETURN_IF_ERROR(RequireSums(op));
  TEKTITE_RETURN_IF_ERROR(RequireBytes(op));
  TEKTITE_ASSIGN_OR_RETURN(const QuantizedRange range, RequireQuantizedRange(op, 1, 2));
  const Value sums = op.Input(0);
  if (!sums || !range.low || !range.high) return op.Return({Value(), Value(), Value()});
  const QuantizedRange used = UsedRange(op.b(), sums, range);
  return op.Return({AsBytes(op.b(), sums, range, used), used.low, used.high});
}

}  // namespace tektite::importer
