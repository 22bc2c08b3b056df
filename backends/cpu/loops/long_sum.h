// Sums of many terms in blocks, so that rounding errors do not grow with the number of terms.
//
// A LongSum (jit/llvm/emit/long_sum.h) adds up blocks in registers.  SumCascade is for so many sums
// at a time that registers are for the current block only: it keeps sums of blocks in scratch, and
// sums of kFanIn of those beside them, plain ones, whose error grows with the square root of
// k / (block * kFanIn) at most.
//
// Limits: floats.
#ifndef TEKTITE_BACKENDS_CPU_LOOPS_LONG_SUM_H_
#define TEKTITE_BACKENDS_CPU_LOOPS_LONG_SUM_H_

#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "jit/ir/dim.h"
#include "jit/llvm/emit/long_sum.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::cpu {

using loop::LongSum;

// for (i = 0; i < trips; ++i) state = body(i, state), with state = end_block(state) after every
// `block` trips, but for the last of them.
std::vector<loop::Value> ForInBlocks(
    loop::Builder& b, const ir::Dim& trips, const ir::Dim& block, std::vector<loop::Value> state,
    const std::function<std::vector<loop::Value>(loop::Value begin, loop::Value end,
                                                 std::vector<loop::Value>)>& body,
    const std::function<std::vector<loop::Value>(std::vector<loop::Value>)>& end_block);

// A nest of loops that takes `steps` additions one after the other into each sum ends a block after
// that many at most, about.  Trips of a loop in a block, where each takes `inner` steps.
ir::Dim BlockTrips(const ir::Dim& inner, int64_t steps);
// Its loops end a block before they end.
bool NeverEndsBlock(const ir::Dim& trips, const ir::Dim& block);

class SumCascade {
 public:
  static constexpr int64_t kFanIn = 64;

  SumCascade() = default;
  // For `vectors` sums at most, of blocks that are `blocks` at most.  Outside of all loops.
  SumCascade(loop::Builder* b, ir::DType dtype, int lanes, int64_t vectors, const ir::Dim& blocks);

  // The sums of block `n` of all; returns those that the next block begins with: zeros, or `sums`
  // after the last block.
  std::vector<loop::Value> EndBlock(loop::Value n, std::vector<loop::Value> sums) const;
  // The last block's sums, and all before.
  std::vector<loop::Value> Total(std::vector<loop::Value> sums) const;

 private:
  bool HasUpperLevel() const { return blocks_.value_or(kFanIn + 2) > kFanIn + 1; }

  loop::Builder* b_ = nullptr;
  ir::DType dtype_ = ir::DType::kF32;
  int lanes_ = 1;
  ir::Dim blocks_ = 1;
  loop::Value lower_, upper_;
};

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_LOOPS_LONG_SUM_H_
