// Arithmetic, comparisons and reductions of shape arithmetic; see contents.h.
#include <algorithm>
#include <limits>

#include "clustering/importer/contents/contents.h"

namespace tektite::importer {
namespace {

// Constants that leave room for any product of two; beyond that 32-bit data would wrap around.
bool Tame(const Dim& d) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  return !d.is_constant() || (d.value() >= -kMost && d.value() <= kMost);
}

// Two operands side by side.  One may be a scalar (or have one element); the other gives the shape.
class Aligned {
 public:
  explicit Aligned(const NodeImport& op) : a_(KnownElements(op, 0)), b_(KnownElements(op, 1)) {
    bool a_decides = a_.size() != b_.size() ? b_.size() == 1 : op.InputRank(0) >= op.InputRank(1);
    shape_ = op.InputShape(a_decides ? 0 : 1);
    size_ = (a_decides ? a_ : b_).size();
  }
  bool ok() const { return a_.size() == b_.size() || a_.size() == 1 || b_.size() == 1; }
  size_t size() const { return size_; }
  DType dtype() const { return shape_.dtype(); }
  const Dims& dims() const { return shape_.dims(); }
  const Dim& a(size_t i) const { return a_[a_.size() == 1 ? 0 : i]; }
  const Dim& b(size_t i) const { return b_[b_.size() == 1 ? 0 : i]; }

 private:
  const Dims &a_, &b_;
  Shape shape_;
  size_t size_ = 0;
};

absl::Status FoldBinary(NodeImport& op, Dim (*f)(const Dim&, const Dim&)) {
  Aligned x(op);
  if (!x.ok()) return NotShapeArithmetic();
  Dims result;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!Tame(x.a(i)) || !Tame(x.b(i))) return NotShapeArithmetic();
    result.push_back(f(x.a(i), x.b(i)));
    if (!Tame(result.back())) return NotShapeArithmetic();
  }
  return op.ReturnContents(x.dtype(), x.dims(), result);
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
  for (const Dim& d : KnownElements(op, 0)) result = f(result, d);
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

absl::Status FoldNeg(NodeImport& op) {
  Dims result;
  for (const Dim& d : KnownElements(op, 0)) result.push_back(Dim(0) - d);
  return op.ReturnContents(op.InputDType(0), op.InputDims(0), result);
}

absl::Status FoldCast(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(DType dtype, op.Type("DstT", DType::kF32));
  if (dtype != DType::kS32 && dtype != DType::kS64) return NotShapeArithmetic();
  return op.ReturnContents(dtype, op.InputDims(0), KnownElements(op, 0));
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
  Dims sum = KnownElements(op, 0);
  for (int i = 1; i < op.num_inputs(); ++i) {
    const Dims& x = KnownElements(op, i);
    if (x.size() != sum.size()) return NotShapeArithmetic();
    for (size_t k = 0; k < x.size(); ++k) sum[k] = sum[k] + x[k];
  }
  if (!std::all_of(sum.begin(), sum.end(), Tame)) return NotShapeArithmetic();
  return op.ReturnContents(op.InputDType(0), op.InputDims(0), sum);
}

absl::Status FoldCompare(NodeImport& op) {
  Aligned x(op);
  if (!x.ok()) return NotShapeArithmetic();
  Dims result;
  for (size_t i = 0; i < x.size(); ++i) {
    std::optional<bool> answer = Compare(op.op(), x.a(i), x.b(i));
    if (!answer) return NotShapeArithmetic();
    result.push_back(FromBool(*answer));
  }
  return op.ReturnContents(DType::kBool, x.dims(), result);
}

absl::Status FoldLogicalAnd(NodeImport& op) { return FoldBinary(op, AndDims); }

absl::Status FoldLogicalOr(NodeImport& op) { return FoldBinary(op, OrDims); }

absl::Status FoldLogicalNot(NodeImport& op) {
  Dims result;
  for (const Dim& d : KnownElements(op, 0)) result.push_back(FromBool(!IsTrue(d)));
  return op.ReturnContents(DType::kBool, op.InputDims(0), result);
}

absl::Status FoldSelect(NodeImport& op) {
  const Dims& condition = KnownElements(op, 0);
  if (op.InputDims(1) != op.InputDims(2)) return NotShapeArithmetic();
  const Dims &yes = KnownElements(op, 1), &no = KnownElements(op, 2);
  if (yes.size() != no.size()) return NotShapeArithmetic();
  if (condition.size() != yes.size() && condition.size() != 1) return NotShapeArithmetic();
  if (op.InputRank(0) > op.InputRank(1)) return NotShapeArithmetic();
  Dims result;
  for (size_t i = 0; i < yes.size(); ++i) {
    result.push_back(IsTrue(condition[condition.size() == 1 ? 0 : i]) ? yes[i] : no[i]);
  }
  return op.ReturnContents(op.InputDType(1), op.InputDims(1), result);
}

// Towards zero is downwards when both are not negative.
absl::Status FoldTruncateDiv(NodeImport& op) {
  bool positive = op.KnownAll(0, [](int64_t v) { return v >= 0; });
  return positive && DivisorsArePositive(op) ? FoldBinary(op, ir::FloorDiv) : NotShapeArithmetic();
}

}  // namespace tektite::importer
