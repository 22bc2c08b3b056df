// Sums of quantized types: both operands on the grid of one range of s32, as TensorFlow's kernels
// bring them there.
//
// The range is [-m, m], m a power of two times the largest magnitude of either range.
// QuantizedAdd: an operand's first integer and its step are rounded each, and an integer is so many
// steps behind the first; a single number is rounded by itself.
// QuantizedBiasAdd: numbers in f32 are rounded to the grid, plus the integer that is 0.
#include "clustering/importer/import_table.h"
#include "clustering/importer/layers/quantized_ranges.h"

namespace tektite::importer {
namespace {

// How many times as far the sum's range reaches.
constexpr double kRoomOfSums = 1 << 14, kRoomOfBiases = 1 << 17;

struct Addends {
  QuantizedRange x, y, sum;
};

// The ranges of inputs 0 and 1, which are inputs 2 to 5.
absl::StatusOr<Addends> RequireAddends(NodeImport& op, double room) {
  FuncBuilder& b = op.b();
  Addends o;
  TEKTITE_ASSIGN_OR_RETURN(o.x, RequireQuantizedRange(op, 2, 3));
  TEKTITE_ASSIGN_OR_RETURN(o.y, RequireQuantizedRange(op, 4, 5));
  if (!o.x.low || !o.x.high || !o.y.low || !o.y.high) return o;
  const auto greater = [&](Value v, Value w) { return b.Select(b.Compare(v, w, "lt"), w, v); };
  Value most = greater(o.y.high, b.Neg(o.y.low));
  most = greater(o.x.high, greater(b.Neg(o.x.low), most));
  most = b.Mul(most, b.FullLike(most, room));
  o.sum = {b.Neg(most), most};
  // Others have steps of nothing, or of NaN.
  op.Check(b.Unary(Op::kIsFinite, b.Sub(o.sum.high, o.sum.low)));
  op.Check(b.Compare(o.sum.low, o.sum.high, "lt"));
  return o;
}

absl::Status ReturnSum(NodeImport& op, const Addends& o, Value sum) {
  return op.Return({sum, o.sum.low, o.sum.high});
}

// Numbers of `range` as those of `to`.
Value OnGrid(FuncBuilder& b, Value x, const QuantizedRange& range, const QuantizedRange& to) {
  const Value number = b.Convert(NumbersInF64(b, x, range), DType::kF64);
  return b.Convert(QuantizedIntegers(b, DType::kS32, number, to), DType::kS32);
}

Value InSteps(FuncBuilder& b, Value x, const QuantizedRange& range, const QuantizedRange& to) {
  const auto at = [&](int byte) { return OnGrid(b, b.Scalar(x.dtype(), byte), range, to); };
  const Value first = at(0);
  return b.Add(b.Mul(b.Convert(x, DType::kS32), b.Sub(at(1), first)), first);
}

}  // namespace

absl::Status ImportQuantizedAdd(NodeImport& op) {
  FuncBuilder& b = op.b();
  if (op.InputDType(0) != DType::kU8 || op.InputDType(1) != DType::kU8) {
    return op.Refuse("TensorFlow's kernel takes quint8 alone");
  }
  const int rank = op.InputRank(0), other = op.InputRank(1);
  if (rank != other && rank > 1 && other > 1) return op.Refuse("ranks");
  TEKTITE_ASSIGN_OR_RETURN(const Addends o, RequireAddends(op, kRoomOfSums));
  const Value x = op.Input(0), y = op.Input(1);
  if (!x || !y || !o.sum.low) return op.Return({Value(), Value(), Value()});
  for (const QuantizedRange& range : {o.x, o.y}) op.Check(b.Compare(range.low, range.high, "lt"));
  // Of two single numbers the first is one by itself.
  bool is_single = false;
  const auto on_grid = [&](Value v, const QuantizedRange& range) {
    const Dim numbers = Product(v.shape().dims());
    const bool one = numbers == Dim(1) && !is_single;
    is_single |= one;
    if (numbers.value_or(0) == 0) {  // TensorFlow may have an error
      const Value count = op.DimValue(numbers, DType::kS32);
      op.Check(b.Compare(count, b.FullLike(count, numbers.is_constant() ? 0 : 1), "gt"));
    }
    return one ? OnGrid(b, v, range, o.sum) : InSteps(b, v, range, o.sum);
  };
  const Value first = on_grid(x, o.x), second = on_grid(y, o.y);
  return ReturnSum(op, o, b.Add(first, second));
}

absl::Status ImportQuantizedBiasAdd(NodeImport& op) {
  FuncBuilder& b = op.b();
  const DType dtype = op.InputDType(0);
  if ((dtype != DType::kU8 && dtype != DType::kS8) || op.InputDType(1) != dtype) {
    return op.Refuse("TensorFlow's kernels take quint8 and qint8, one of them for both");
  }
  const int rank = op.InputRank(0);
  if (rank < 2 || op.InputRank(1) != 1) return op.Refuse("not a matrix and a vector");
  if (!b.AssumeEqual(op.InputDims(0)[rank - 1], op.InputDims(1)[0])) return op.Refuse("sizes");
  TEKTITE_ASSIGN_OR_RETURN(const Addends o, RequireAddends(op, kRoomOfBiases));
  const Value x = op.Input(0), bias = op.Input(1);
  if (!x || !bias || !o.sum.low) return op.Return({Value(), Value(), Value()});
  const auto on_grid = [&](Value v, const QuantizedRange& range) {
    return IntegersInF32(b, NumbersInF32(b, v, range), DType::kS32, o.sum);
  };
  const Value zero = QuantizedNumber(b, DType::kS32, 0, o.sum);
  const Value biases = b.Add(on_grid(bias, o.y), zero);
  const Value spread = b.BroadcastInDim(biases, x.shape().dims(), {rank - 1});
  return ReturnSum(op, o, b.Add(on_grid(x, o.x), spread));
}

}  // namespace tektite::importer
