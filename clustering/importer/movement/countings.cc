// Ops that count how many elements compare so: classes with larger logits, boundaries below, and
// elements before a place in sorted rows.
#include "clustering/importer/import_table.h"
#include "clustering/importer/movement/row_search.h"

namespace tektite::importer {
namespace {

// How many elements of each sorted row [b, n] come before each value [b, m]: s64[b, m].  Without a
// search (row_search.h), where the rows' length is not known.
template <typename Before>
Value CountRows(FuncBuilder& b, Value rows, Value values, Before before) {
  const Dims dims = {values.shape().dim(0), values.shape().dim(1), rows.shape().dim(1)};
  Value is_before =
      before(b.BroadcastInDim(rows, dims, {0, 2}), b.BroadcastInDim(values, dims, {0, 1}));
  return b.Reduce(b.Convert(is_before, DType::kS64), {2}, "add");
}

}  // namespace

// Where each value belongs in its sorted row: before those that are equal (LowerBound) or behind
// them (UpperBound).
absl::Status ImportSearchSorted(NodeImport& op) {
  if (op.InputRank(0) != 2 || op.InputRank(1) != 2) return op.Refuse("ranks");
  TEKTITE_ASSIGN_OR_RETURN(const DType dtype, op.Type("out_type", DType::kS32));
  FuncBuilder& b = op.b();
  if (!b.AssumeEqual(op.InputDims(0)[0], op.InputDims(1)[0])) return op.Return(Value());
  Value rows = op.Input(0), values = op.Input(1);
  if (!rows || !values) return op.Return(Value());
  const bool is_lower = op.op() == "LowerBound";
  const auto before = [&](Value element, Value value) {
    return is_lower ? b.Compare(element, value, "lt") : b.Not(b.Compare(value, element, "lt"));
  };
  const Dim& n = rows.shape().dim(1);
  Value place = n.is_constant() ? SearchRows(b, rows, values, n.value(), before)
                                : CountRows(b, rows, values, before);
  return op.Return(b.Convert(place, dtype));
}

// Whether fewer than k of a row's predictions are larger than that of its target.  False where the
// target is no class, or a prediction that TensorFlow's kernel looks at is not finite; it looks at
// all until k + 1 are larger, and then the answer is false anyway.
absl::Status ImportInTopK(NodeImport& op) {
  if (op.InputRank(0) != 2 || op.InputRank(1) != 1 || op.InputRank(2) != 0) {
    return op.Refuse("ranks");
  }
  FuncBuilder& b = op.b();
  Value predictions = op.Input(0), targets = op.Input(1), k = op.Input(2);
  if (!predictions || !targets || !k) return op.Return(Value());
  const Dims& dims = predictions.shape().dims();
  const Dim& given = targets.shape().dim(0);
  if (given.is_constant() && dims[0].is_constant() && !(given == dims[0])) {
    return op.Refuse(given.ToString(), " targets for ", dims[0].ToString(), " rows");
  }
  b.AssumeEqual(given, dims[0]);
  Value target = b.BroadcastInDim(targets, dims, {0});
  Value is_target = b.Compare(b.Iota(targets.dtype(), dims, 1), target, "eq");
  // A sum of one number and zeros is that number, and a row without target is false below.
  Value wanted = b.Reduce(b.Select(is_target, predictions, b.FullLike(predictions, 0)), {1}, "add");
  Value larger = b.Compare(predictions, b.BroadcastInDim(wanted, dims, {0}), "gt");
  Value count = b.Reduce(b.Convert(larger, k.dtype()), {1}, "add");
  Value is_sure = b.Reduce(b.Unary(Op::kIsFinite, predictions), {1}, "and");
  Value has_target = b.Reduce(is_target, {1}, "or");
  Value few = b.CompareImplicit(count, k, "lt");
  return op.Return(b.Binary(Op::kAnd, few, b.Binary(Op::kAnd, is_sure, has_target)));
}

// How many boundaries are not larger than each element, all for NaN.  Boundaries are f32, and so
// are integers that are compared with them.
absl::Status ImportBucketize(NodeImport& op) {
  constexpr size_t kMostBoundaries = 64;  // a search is faster from some number on
  const graph_def::AttrValue* const attr = op.attrs().Find("boundaries");
  const std::vector<float>* const boundaries = attr == nullptr ? nullptr : attr->AsListOf<float>();
  const size_t count = boundaries == nullptr ? 0 : boundaries->size();
  if (count == 0 || count > kMostBoundaries) return op.Refuse(count, " boundaries");
  FuncBuilder& b = op.b();
  Value x = op.Input(0);
  if (!x) return op.Return(x);
  if (ir::IsInteger(x.dtype())) x = b.Convert(x, DType::kF32);
  Value bucket = b.Full(DType::kS32, 0, x.shape().dims());
  for (const float boundary : *boundaries) {
    Value below = b.Compare(x, b.FullLike(x, boundary), "lt");
    bucket = b.Add(bucket, b.Convert(b.Not(below), DType::kS32));
  }
  return op.Return(bucket);
}

}  // namespace tektite::importer
