// Arithmetic, comparisons and reductions of shape arithmetic; see contents.h.
#include <algorithm>
#include <utility>

#include "clustering/importer/contents/contents.h"
#include "clustering/importer/contents/known_broadcast.h"

namespace tektite::importer {
namespace {

bool AllTame(const Dims& dims) { return std::all_of(dims.begin(), dims.end(), IsTame); }

// Combines elements of the same place in the broadcast operands.
absl::Status FoldBinary(NodeImport& op, Dim (*f)(const Dim&, const Dim&)) {
  TEKTITE_ASSIGN_OR_RETURN(const KnownBroadcast x, KnownBroadcast::Of(op, 2));
  Dims result;
  for (int64_t i = 0; i < x.size(); ++i) {
    const Dim &a = x.Element(0, i), &b = x.Element(1, i);
    if (!IsTame(a) || !IsTame(b)) return NotShapeArithmetic();
    result.push_back(f(a, b));
    if (!IsTame(result.back())) return NotShapeArithmetic();
  }
  return op.ReturnContents(op.InputDType(0), x.dims(), std::move(result));
}

// Changes each element by itself.
absl::Status FoldUnary(NodeImport& op, DType dtype, Dim (*f)(const Dim&)) {
  if (!AllTame(KnownElements(op, 0))) return NotShapeArithmetic();
  Dims result;
  for (const Dim& d : KnownElements(op, 0)) result.push_back(f(d));
  return op.ReturnContents(dtype, op.InputDims(0), std::move(result));
}

Dim AddDims(const Dim& a, const Dim& b) { return a + b; }
Dim SubDims(const Dim& a, const Dim& b) { return a - b; }
Dim MulDims(const Dim& a, const Dim& b) { return a * b; }

bool DivisorsArePositive(const NodeImport& op) {
  return op.KnownAll(1, [](int64_t v) { return v > 0; });
}

absl::Status FoldReduce(NodeImport& op, Dim start, Dim (*f)(const Dim&, const Dim&)) {
  if (op.InputRank(0) > 1) return NotShapeArithmetic();
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> axes, op.RequireAxes(1, op.InputRank(0)));
  if (axes.empty()) return op.Forward(0);
  Dim result = start;
  for (const Dim& d : KnownElements(op, 0)) {
    if (!IsTame(d)) return NotShapeArithmetic();
    result = f(result, d);
    if (!IsTame(result)) return NotShapeArithmetic();
  }
  Dims dims;
  if (op.attrs().Bool("keep_dims", false)) dims.push_back(Dim(1));
  return op.ReturnContents(op.InputDType(0), dims, {result});
}

// A comparison's answer where it does not depend on what symbols stand for.
std::optional<bool> Compare(absl::string_view op, const Dim& a, const Dim& b) {
  bool reflexive = op == "Equal" || op == "GreaterEqual" || op == "LessEqual";
  if (a == b) return reflexive;
  if (!a.is_constant() || !b.is_constant()) return std::nullopt;
  if (op == "Equal") return false;
  if (op == "NotEqual") return true;
  return (a.value() < b.value()) == (op[0] == 'L');
}

bool IsTrue(const Dim& d) { return d != Dim(0); }
Dim FromBool(bool b) { return Dim(b ? 1 : 0); }
Dim NotDim(const Dim& d) { return FromBool(!IsTrue(d)); }
Dim NegDim(const Dim& d) { return Dim(0) - d; }
Dim SameDim(const Dim& d) { return d; }
Dim AndDims(const Dim& a, const Dim& b) { return FromBool(IsTrue(a) && IsTrue(b)); }
Dim OrDims(const Dim& a, const Dim& b) { return FromBool(IsTrue(a) || IsTrue(b)); }

}  // namespace

absl::Status FoldAdd(NodeImport& op) { return FoldBinary(op, AddDims); }

absl::Status FoldSub(NodeImport& op) { return FoldBinary(op, SubDims); }

absl::Status FoldMul(NodeImport& op) { return FoldBinary(op, MulDims); }

absl::Status FoldMax(NodeImport& op) { return FoldBinary(op, ir::Max); }

absl::Status FoldMin(NodeImport& op) { return FoldBinary(op, ir::Min); }

absl::Status FoldFloorDiv(NodeImport& op) {
  return DivisorsArePositive(op) ? FoldBinary(op, ir::FloorDiv) : NotShapeArithmetic();
}

absl::Status FoldFloorMod(NodeImport& op) {
  return DivisorsArePositive(op) ? FoldBinary(op, ir::Mod) : NotShapeArithmetic();
}

absl::Status FoldNeg(NodeImport& op) { return FoldUnary(op, op.InputDType(0), NegDim); }

absl::Status FoldCast(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(DType dtype, op.Type("DstT", DType::kF32));
  if (dtype != DType::kS32 && dtype != DType::kS64) return NotShapeArithmetic();
  return FoldUnary(op, dtype, SameDim);
}

absl::Status FoldProd(NodeImport& op) { return FoldReduce(op, Dim(1), MulDims); }

absl::Status FoldSum(NodeImport& op) { return FoldReduce(op, Dim(0), AddDims); }

absl::Status FoldReduceMax(NodeImport& op) {
  return KnownElements(op, 0).empty() ? NotShapeArithmetic()
                                      : FoldReduce(op, KnownElements(op, 0)[0], ir::Max);
}

absl::Status FoldReduceMin(NodeImport& op) {
  return KnownElements(op, 0).empty() ? NotShapeArithmetic()
                                      : FoldReduce(op, KnownElements(op, 0)[0], ir::Min);
}

absl::Status FoldAddN(NodeImport& op) {
  Dims sum(KnownElements(op, 0).size(), Dim(0));
  for (int i = 0; i < op.num_inputs(); ++i) {
    if (op.InputDims(i) != op.InputDims(0)) return NotShapeArithmetic();
    const Dims& x = KnownElements(op, i);
    if (!AllTame(x)) return NotShapeArithmetic();
    for (size_t k = 0; k < x.size(); ++k) sum[k] = sum[k] + x[k];
    if (!AllTame(sum)) return NotShapeArithmetic();
  }
  return op.ReturnContents(op.InputDType(0), op.InputDims(0), std::move(sum));
}

absl::Status FoldCompare(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const KnownBroadcast x, KnownBroadcast::Of(op, 2));
  Dims result;
  for (int64_t i = 0; i < x.size(); ++i) {
    std::optional<bool> answer = Compare(op.op(), x.Element(0, i), x.Element(1, i));
    if (!answer) return NotShapeArithmetic();
    result.push_back(FromBool(*answer));
  }
  return op.ReturnContents(DType::kBool, x.dims(), std::move(result));
}

absl::Status FoldLogicalAnd(NodeImport& op) { return FoldBinary(op, AndDims); }

absl::Status FoldLogicalOr(NodeImport& op) { return FoldBinary(op, OrDims); }

absl::Status FoldLogicalNot(NodeImport& op) { return FoldUnary(op, DType::kBool, NotDim); }

// Select's condition is a scalar or has the others' shape, unless it chooses whole rows, which is
// left to ordinary import; SelectV2 broadcasts all three.
absl::Status FoldSelect(NodeImport& op) {
  const bool broadcasts = op.op() == "SelectV2" || op.InputRank(0) == 0;
  if (!broadcasts && op.InputDims(0) != op.InputDims(1)) return NotShapeArithmetic();
  if (op.op() == "Select" && op.InputDims(1) != op.InputDims(2)) return NotShapeArithmetic();
  TEKTITE_ASSIGN_OR_RETURN(const KnownBroadcast x, KnownBroadcast::Of(op, 3));
  Dims result;
  for (int64_t i = 0; i < x.size(); ++i) {
    result.push_back(x.Element(IsTrue(x.Element(0, i)) ? 1 : 2, i));
  }
  return op.ReturnContents(op.InputDType(1), x.dims(), std::move(result));
}

// Towards zero is downwards when both are not negative.
absl::Status FoldTruncateDiv(NodeImport& op) {
  bool positive = op.KnownAll(0, [](int64_t v) { return v >= 0; });
  return positive && DivisorsArePositive(op) ? FoldBinary(op, ir::FloorDiv) : NotShapeArithmetic();
}

}  // namespace tektite::importer
