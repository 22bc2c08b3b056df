// The softmax of rows whose logits arrive tile by tile, as the sums of warp_multiply: each row is
// shared by four threads of a warp, and each thread has elements of two rows, 8 apart.
//
//   OnlineSoftmax softmax{largest, sum};                   // both 2 lanes: a row each
//   const Value factor = softmax.TakeLogits(b, tiles);     // logits become weights
//   context = b.Mul(context, SpreadRows(b, factor));       // what earlier weights added
//   ...
//   softmax.SumOfWeights(b)
//
// Weights are relative to the largest logit so far.  A thread adds up its own columns' weights; the
// four sums of a row are added at the end.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_ATTENTION_ONLINE_SOFTMAX_H_
#define TEKTITE_BACKENDS_GPU_EMIT_ATTENTION_ONLINE_SOFTMAX_H_

#include "absl/types/span.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::gpu {

// Rows of a tile that a thread has elements of.
inline constexpr int kThreadRows = 2;

// A thread's elements of one of its rows in a tile of sums: 2 lanes.
loop::Value RowOf(loop::Builder& b, loop::Value tile, int row);
// Values of a thread's rows as lanes beside a tile's.
loop::Value SpreadRows(loop::Builder& b, loop::Value rows);

struct OnlineSoftmax {
  static OnlineSoftmax Empty(loop::Builder& b);

  loop::Value largest;  // the same in the four threads of a row
  loop::Value sum;      // of the thread's own weights

  // The logits of a row's tiles become weights.  Returns by how much what earlier ones added is
  // scaled down.
  loop::Value TakeLogits(loop::Builder& b, absl::Span<loop::Value> tiles);
  loop::Value SumOfWeights(loop::Builder& b) const;
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_ATTENTION_ONLINE_SOFTMAX_H_
