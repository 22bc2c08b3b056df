// A reduction whose terms lie with the threads of a group: a warp, or all of a block.
//
//   GroupReduction sum(&b, "add", DType::kF32, /*threads=*/256);
//   Value mine = sum.Take(sum.Identity(4), vector);
//   Value all = sum.Total(mine);          // the same in every thread
//
// f16 and bf16 accumulate in f32.  Lanes are combined first, then the threads of a warp (halves,
// quarters, ...), then warps in order: the same order in every launch.  Total has a barrier in it
// when the group is a block, and may be called once.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_REDUCTION_GROUP_REDUCTION_H_
#define TEKTITE_BACKENDS_GPU_EMIT_REDUCTION_GROUP_REDUCTION_H_

#include <string>

#include "jit/llvm/loop_ir.h"

namespace tektite::gpu {

class GroupReduction {
 public:
  // `threads`: kWarpThreads, or as many as a block has.
  GroupReduction(loop::Builder* builder, const std::string& reducer, ir::DType dtype, int threads);

  loop::Value Identity(int lanes) const;
  loop::Value Take(loop::Value accumulator, loop::Value x) const;
  loop::Value Widen(loop::Value x) const { return b_.Convert(x, accumulator_); }
  // A scalar of the reduction's dtype.
  loop::Value Total(loop::Value accumulator) const { return Narrow(WideTotal(accumulator)); }
  // The same as an accumulator, which others are to be combined with.
  loop::Value WideTotal(loop::Value accumulator) const;
  // The accumulator in the reduction's dtype, without what other threads have.
  loop::Value Narrow(loop::Value accumulator) const;
  // A sum that rounds.
  bool is_float_sum() const { return op_ == ir::Op::kAdd && ir::IsFloat(accumulator_); }
  ir::DType accumulator() const { return accumulator_; }
  loop::Value Combine(loop::Value a, loop::Value b) const { return b_.Binary(op_, a, b); }

 private:
  loop::Builder& b_;
  const std::string reducer_;
  const ir::Op op_;
  const ir::DType dtype_, accumulator_;
  const int threads_;
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_REDUCTION_GROUP_REDUCTION_H_
