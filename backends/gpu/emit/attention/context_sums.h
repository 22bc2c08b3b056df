// The context of attention as sums of products: weights x values, added up in registers.
//
//   const Values parts = WeightParts(b, weights.subspan(2 * i, 2), DType::kBF16);   // left side
//   ScaleSums(b, factors, absl::MakeSpan(context));        // before what is added next
//   Value row = b.Mul(context[i], SpreadRows(b, OneOverSum(b, softmax, keys)));
//
// Tiles are those of online_softmax.h: 16 rows of a warp, 8 columns, 4 lanes a thread.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_ATTENTION_CONTEXT_SUMS_H_
#define TEKTITE_BACKENDS_GPU_EMIT_ATTENTION_CONTEXT_SUMS_H_

#include <vector>

#include "absl/types/span.h"
#include "backends/gpu/emit/attention/online_softmax.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::gpu {

// Two neighbouring tiles of weights as parts of a left side, rounded to its type: they lie in the
// registers where those must.
std::vector<loop::Value> WeightParts(loop::Builder& b, absl::Span<const loop::Value> tiles,
                                     ir::DType dtype);

// `factors`: of the row tiles, as TakeLogits returns them; each is that of as many sums.  Nothing
// is done where no row of the warp has found a larger logit.
void ScaleSums(loop::Builder& b, const std::vector<loop::Value>& factors,
               absl::Span<loop::Value> sums);

// What the thread's rows are multiplied by at the end: no keys at all are zeros.
loop::Value OneOverSum(loop::Builder& b, const OnlineSoftmax& softmax, const ir::Dim& keys);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_ATTENTION_CONTEXT_SUMS_H_
