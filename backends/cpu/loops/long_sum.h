// Sums of many terms: blocks, so that rounding errors do not grow with the number of terms.
//
//   sum += x[i] for 10^8 numbers in [0, 1]      stays at 2^24: x is less than half a unit of it
//   blocks of some hundred terms, and a LongSum of blocks      as exact as one block
//
// A LongSum is a value in two parts of one type, of which the lower one holds what adding to the
// upper one has rounded off (Knuth's two-sum): six additions for a block.  SumCascade is for so
// many sums at a time that registers are for the current block only: it keeps sums of blocks in
// scratch, and sums of kFanIn of those beside them, plain ones, whose error grows with the square
// root of k / (block * kFanIn) at most.
//
// Limits: floats; a sum that leaves the type's range on the way is infinite, as a plain one.
#ifndef TEKTITE_BACKENDS_CPU_LOOPS_LONG_SUM_H_
#define TEKTITE_BACKENDS_CPU_LOOPS_LONG_SUM_H_

#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "jit/ir/dim.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::cpu {

struct LongSum {
  loop::Value high, low;
};

LongSum EmptySum(loop::Builder& b, ir::DType dtype, int lanes);
LongSum Plus(loop::Builder& b, const LongSum& sum, loop::Value block);
loop::Value Total(loop::Builder& b, const LongSum& sum);

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
