// The two operands of a contraction in a kernel: which buffers they are, where each batch's part
// begins, and the order in which a kernel's chunks take blocks of the result.
//
//   TEKTITE_ASSIGN_OR_RETURN(parameters_, ParametersOf(*plan.root));
//   ForEachBlock(b, plan, [&](Value batch, Value m_block, Value n_block) {
//     const BatchOperands at = OperandsOf(b, plan, parameters_, batch);   // at.lhs, at.rhs
//   });
#ifndef TEKTITE_BACKENDS_CPU_CONTRACTION_OPERANDS_H_
#define TEKTITE_BACKENDS_CPU_CONTRACTION_OPERANDS_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/cpu/contraction/contraction_tiling.h"
#include "jit/ir/graph.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::cpu {

// Numbers of the kernel's buffers.
struct OperandParameters {
  int lhs = 0, rhs = 0;
};
// Unimplemented where an operand is computed in the fusion.
absl::StatusOr<OperandParameters> ParametersOf(const ir::Node& root);

struct BatchOperands {
  loop::Value lhs, rhs;            // pointers
  std::vector<loop::Value> index;  // of the batch in plan.batch_loops
};
BatchOperands OperandsOf(loop::Builder& b, const ContractionTiling& plan,
                         const OperandParameters& parameters, loop::Value batch);

// Scratch for the input rows of a block of a padded convolution; null for anything else.
loop::Value AllocatePaddedInput(loop::Builder& b, const ContractionTiling& plan);

// A chunk is one block: of a batch, plan.block_rows rows and plan.block_panels panels.
ir::Dim BlocksOf(const ContractionTiling& plan);
void ForEachBlock(
    loop::Builder& b, const ContractionTiling& plan,
    const std::function<void(loop::Value batch, loop::Value m_block, loop::Value n_block)>& emit);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CONTRACTION_OPERANDS_H_
