// Control and structure: regions are graphs to evaluate.
#include "jit/reference/eval.h"

namespace tektite::reference {

using ir::Attr;
using ir::DType;
using ir::Literal;
using ir::Op;

namespace {

absl::StatusOr<Literals> Conditional(const EvalContext& c) {
  const Literal& which = c.operand(0);
  const int last = c.node.num_regions() - 1;
  int region = 0;
  if (which.dtype() == DType::kBool) {
    region = which.data<bool>()[0] ? 0 : 1;
  } else {
    const int32_t index = which.data<int32_t>()[0];
    region = index < 0 || index > last ? last : index;
  }
  return EvaluateStatic(c.node.region(region), c.operands.subspan(1));
}

absl::StatusOr<Literals> While(const EvalContext& c) {
  Literals values(c.operands.begin(), c.operands.end());
  while (true) {
    TEKTITE_ASSIGN_OR_RETURN(Literals condition, EvaluateStatic(c.node.region(0), values));
    if (!condition[0].data<bool>()[0]) return values;
    TEKTITE_ASSIGN_OR_RETURN(values, EvaluateStatic(c.node.region(1), values));
  }
}

Literal SizeValue(const EvalContext& c) {
  Literal result = c.AllocateResult();
  const ir::Dims& sizes = c.node.attrs().GetDims(Attr::sizes);
  for (size_t i = 0; i < sizes.size(); ++i) result.mutable_data<int64_t>()[i] = sizes[i].value();
  return result;
}

}  // namespace

absl::StatusOr<Literals> EvalStructure(const EvalContext& c) {
  switch (c.op()) {
    case Op::kCall:
    case Op::kFusion:
      return EvaluateStatic(c.node.region(), c.operands);
    case Op::kConditional:
      return Conditional(c);
    case Op::kSizeValue:
      return Literals{SizeValue(c)};
    case Op::kWhile:
      return While(c);
    default:
      return Internal("no structural op");
  }
}

}  // namespace tektite::reference
