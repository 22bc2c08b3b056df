#include "backends/cpu/contraction/operands.h"

#include "backends/cpu/emit/emitter.h"
#include "jit/base/status.h"
#include "jit/ops/ops.h"

namespace tektite::cpu {

using ir::Dim;
using loop::Value;

absl::StatusOr<OperandParameters> ParametersOf(const ir::Node& root) {
  const OperandParameters parameters = {ops::ParameterIndex(root.operand(0)),
                                        ops::ParameterIndex(root.operand(1))};
  if (parameters.lhs < 0 || parameters.rhs < 0 ||
      root.operand(0).node->op() != ir::Op::kParameter) {
    return Unimplemented(root.Describe(), ": an operand is not in memory");
  }
  return parameters;
}

BatchOperands OperandsOf(loop::Builder& b, const ContractionTiling& plan,
                         const OperandParameters& parameters, Value batch) {
  ir::Dims sizes;
  for (const AddressLoop& loop : plan.batch_loops) sizes.push_back(loop.trips);
  BatchOperands operands;
  operands.index = Delinearize(b, batch, sizes);
  Value lhs = b.Index(0), rhs = b.Index(0);
  for (size_t i = 0; i < operands.index.size(); ++i) {
    lhs = b.Add(lhs, b.Mul(operands.index[i], b.Index(plan.batch_loops[i].lhs_stride)));
    rhs = b.Add(rhs, b.Mul(operands.index[i], b.Index(plan.batch_loops[i].rhs_stride)));
  }
  operands.lhs = b.Offset(b.Buffer(parameters.lhs), plan.lhs_dtype, lhs);
  operands.rhs = b.Offset(b.Buffer(parameters.rhs), plan.dtype, rhs);
  return operands;
}

Value AllocatePaddedInput(loop::Builder& b, const ContractionTiling& plan) {
  if (!plan.is_convolution || !plan.conv.padded()) return {};
  const ConvolutionGeometry& g = plan.conv;
  const Dim rows = g.input_rows(plan.image_rows);
  return b.AllocateScratch(plan.dtype,
                           Dim(g.kernel_depth) * rows * g.padded_width() * Dim(g.channels));
}

Dim BlocksOf(const ContractionTiling& plan) {
  return plan.batch * plan.m_blocks() * plan.n_blocks();
}

void ForEachBlock(loop::Builder& b, const ContractionTiling& plan,
                  const std::function<void(Value, Value, Value)>& emit) {
  ForEachUnit(b, BlocksOf(plan), 1, [&](Value unit) {
    const std::vector<Value> index =
        Delinearize(b, unit, {plan.batch, plan.m_blocks(), plan.n_blocks()});
    emit(index[0], index[1], index[2]);
  });
}

}  // namespace tektite::cpu
