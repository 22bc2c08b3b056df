// Reductions, arg max and arg min, cumulative sums and products.
#include <algorithm>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "clustering/importer/import_table.h"
#include "clustering/importer/movement/movement.h"
#include "clustering/importer/xla/xla_values.h"

namespace tektite::importer {
namespace {

// Sums of 16-bit floats are kept in f32, as TensorFlow's CPU kernels keep them.
Value Widened(FuncBuilder& b, Value x) {
  bool narrow = x && ir::IsFloat(x.dtype()) && ir::DTypeBytes(x.dtype()) == 2;
  return narrow ? b.Convert(x, DType::kF32) : x;
}

// Means of integers are sums of 64 bits there, so that pixels do not wrap round.
Value WidenedForMean(FuncBuilder& b, Value x) {
  if (!x || ir::IsFloat(x.dtype())) return Widened(b, x);
  return b.Convert(x, ir::IsSigned(x.dtype()) ? DType::kS64 : DType::kU64);
}

absl::string_view ReducerFor(absl::string_view op) {
  static const auto& map =
      *new absl::flat_hash_map<absl::string_view, absl::string_view>({{"All", "and"},
                                                                      {"Any", "or"},
                                                                      {"EuclideanNorm", "add"},
                                                                      {"Max", "max"},
                                                                      {"Mean", "add"},
                                                                      {"Min", "min"},
                                                                      {"Prod", "mul"},
                                                                      {"Sum", "add"}});
  return map.find(op)->second;
}

}  // namespace

absl::Status ImportReduce(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> axes, op.RequireAxes(1, op.InputRank(0)));
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) {
    return op.Refuse("an axis is reduced twice");
  }
  const bool mean = op.op() == "Mean";
  Value x = mean ? WidenedForMean(b, op.Input(0)) : Widened(b, op.Input(0));
  if (!x) return op.Return(x);
  if (op.op() == "EuclideanNorm") x = b.Mul(x, x);
  bool keep = op.attrs().Bool("keep_dims", false);
  absl::string_view reducer = ReducerFor(op.op());
  const Dims& dims = op.InputDims(0);
  const bool is_only_moved =
      std::all_of(axes.begin(), axes.end(), [&](int64_t axis) { return dims[axis] == Dim(1); });
  if (op.scope().for_xla && !is_only_moved) x = WithoutNan(b, x, reducer);
  if (!axes.empty()) x = keep ? b.ReduceKeep(x, axes, reducer) : b.Reduce(x, axes, reducer);
  if (mean) {
    Dim count(1);
    for (int64_t axis : axes) count = count * op.InputDims(0)[axis];
    if (x && !ir::IsFloat(x.dtype())) {
      // TensorFlow's mean of no integers is 0.  XLA's is 0 or a quotient by 0, by who folds it.
      const bool for_xla = op.scope().for_xla;
      if (for_xla && count == Dim(0)) return op.Refuse("the mean of no elements");
      if (for_xla) b.AssumeAtMost(Dim(1), count);
      if (!for_xla) count = ir::Max(count, Dim(1));
    }
    if (!axes.empty() && x) x = b.Div(x, op.DimValue(count, x.dtype()));
  }
  if (op.op() == "EuclideanNorm") x = b.Sqrt(x);
  return op.Return(b.Convert(x, op.InputDType(0)));
}

// The first place where the extreme stands: the least index among those equal to it.  NaN never
// wins, so it counts as the other end of the order.
absl::Status ImportArgMinMax(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(int axis, op.RequireAxis(1, op.InputRank(0)));
  TEKTITE_ASSIGN_OR_RETURN(DType index_type, op.Type("output_type", DType::kS64));
  bool max = op.op() == "ArgMax";
  Value x = op.Input(0);
  if (!x) return op.Return(x);
  Dim size = op.InputDims(0)[axis];
  if (size == Dim(0)) return op.Refuse("dimension ", axis, " is empty");
  b.AssumeAtMost(Dim(1), size);
  if (x.dtype() == DType::kBool) x = b.Convert(x, DType::kS32);
  if (ir::IsFloat(x.dtype())) {
    // XLA's answer depends on where a NaN stands.
    if (op.scope().for_xla) op.Check(b.Compare(x, x, "eq"));
    double loser = (max ? -1 : 1) * std::numeric_limits<double>::infinity();
    x = b.Select(b.Compare(x, x, "eq"), x, b.FullLike(x, loser));
  }
  Value extreme = b.ReduceKeep(x, {axis}, max ? "max" : "min");
  if (!extreme) return op.Return(extreme);
  const Dims& dims = x.shape().dims();
  Value wins = b.Compare(x, b.BroadcastTo(extreme, dims), "eq");
  Value places = b.Iota(DType::kS32, dims, axis);
  Value none = b.Full(DType::kS32, std::numeric_limits<int32_t>::max(), dims);
  Value first = b.Reduce(b.Select(wins, places, none), {axis}, "min");
  return op.Return(b.Convert(first, index_type));
}

// Whether k is the length of lines, which is open: tf.sort and tf.argsort ask for all of them.
bool TakesWholeLines(NodeImport& op) {
  const auto k = op.RequireContents(1);
  const Dim length = op.InputDims(0).back();
  return k.ok() && k->size() == 1 && k->front() == length && !length.is_constant();
}

absl::Status ImportTopK(NodeImport& op) {
  if (op.InputRank(0) == 0) return op.Refuse("a scalar");
  TEKTITE_ASSIGN_OR_RETURN(DType index_type, op.Type("index_type", DType::kS32));
  FuncBuilder& b = op.b();
  const bool for_xla = op.scope().for_xla;
  // XLA sorts in any case.
  const bool is_heap = !for_xla && !op.attrs().Bool("sorted", true);
  Value x = for_xla ? TotalOrder(b, op.Input(0)) : op.Input(0);
  std::vector<Value> both;
  if (!is_heap && TakesWholeLines(op)) {
    const int last = op.InputRank(0) - 1;
    const Value places = b.Iota(DType::kS32, op.InputDims(0), last);
    both = b.AddMulti(Op::kSort, {x, places},
                      {{ir::Attr::dimension, last}, {ir::Attr::descending, true}});
  } else {
    TEKTITE_ASSIGN_OR_RETURN(int64_t k, op.RequireInt(1));
    ir::Attributes attrs = {{ir::Attr::k, k}};
    if (is_heap) attrs.Set(ir::Attr::heap, true);
    both = b.AddMulti(Op::kTopK, {x}, attrs);
  }
  if (both.size() != 2) return op.Return(Value());
  Value values = for_xla ? FromTotalOrder(b, both[0], op.InputDType(0)) : both[0];
  const Value results[] = {values, b.Convert(both[1], index_type)};
  return op.Return(results);
}

absl::Status ImportCumulative(NodeImport& op) {
  FuncBuilder& b = op.b();
  if (op.InputRank(0) == 0) return op.Refuse("a scalar");
  TEKTITE_ASSIGN_OR_RETURN(int axis, op.RequireAxis(1, op.InputRank(0)));
  Value sum = b.Cumulative(op.Input(0), axis, op.op() == "Cumsum" ? "add" : "mul",
                           op.attrs().Bool("exclusive", false), op.attrs().Bool("reverse", false));
  return op.Return(sum);
}

// The logarithm of a running sum of exponentials.  Each pass adds to every element what is 1, 2, 4,
// ... places before it, as W. D. Hillis and G. L. Steele, "Data parallel algorithms" (1986), do:
// sums are taken of logarithms all the way, so nothing overflows or vanishes beside a greater
// element.
absl::Status ImportCumulativeLogsumexp(NodeImport& op) {
  FuncBuilder& b = op.b();
  if (op.InputRank(0) == 0) return op.Refuse("a scalar");
  TEKTITE_ASSIGN_OR_RETURN(const int axis, op.RequireAxis(1, op.InputRank(0)));
  const Dim n = op.InputDims(0)[axis];
  constexpr int64_t kMostElements = 1 << 16;
  if (!n.is_constant() || n.value() > kMostElements) return op.Refuse("size ", n.ToString());
  const DType dtype = op.InputDType(0);
  if (!ir::IsFloat(dtype)) return op.Refuse(ir::DTypeName(dtype));
  Value sum = Widened(b, op.Input(0));
  if (!sum || n == Dim(0)) return op.Return(op.Input(0));
  const bool is_reverse = op.attrs().Bool("reverse", false);
  const Value nothing = b.Scalar(sum.dtype(), -std::numeric_limits<double>::infinity());
  const auto moved = [&](Value x, int64_t by) {
    std::vector<int64_t> front(op.InputRank(0), 0), behind = front;
    (is_reverse ? behind : front)[axis] = by;
    (is_reverse ? front : behind)[axis] = -by;
    return b.Pad(x, nothing, front, behind);
  };
  if (op.attrs().Bool("exclusive", false)) sum = moved(sum, 1);
  for (int64_t by = 1; by < n.value(); by *= 2) {
    Value other = moved(sum, by);
    Value greater = b.Max(sum, other), lesser = b.Min(sum, other);
    Value both = b.Add(greater, b.Unary(Op::kLog1p, b.Exp(b.Sub(lesser, greater))));
    // Of two infinities the sum is no number, as TensorFlow's; nothing adds nothing.
    Value adds_nothing = b.Compare(lesser, b.BroadcastTo(nothing, lesser.shape().dims()), "eq");
    sum = b.Select(adds_nothing, greater, both);
  }
  return op.Return(b.Convert(sum, dtype));
}

// Half the sum of squares.
absl::Status ImportL2Loss(NodeImport& op) {
  FuncBuilder& b = op.b();
  Value x = Widened(b, op.Input(0));
  if (!x) return op.Return(x);
  std::vector<int64_t> all;
  for (int i = 0; i < x.shape().rank(); ++i) all.push_back(i);
  Value squares = b.Mul(x, x);
  Value sum = all.empty() ? squares : b.Reduce(squares, all, "add");
  if (!sum) return op.Return(sum);
  return op.Return(b.Convert(b.Mul(sum, b.FullLike(sum, 0.5)), op.InputDType(0)));
}

}  // namespace tektite::importer
