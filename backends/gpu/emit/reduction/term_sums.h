// Reductions over many terms: those of a thread, and of the threads of a block that share a result.
//
//   TermRange range{.begin = slice, .end = terms, .step = slices, .most = Dim(4096)};
//   Values mine = ReduceTerms(b, reductions, lanes, range, [&](Value term) { ... one value each });
//   Values all = SumSlices(b, reductions, mine, slice, slices);
//
// Several terms are read before the first is used, so that a thread has several loads under way.
// They are added in pairs, and what they make to what came before.  Sums of floats end a block
// after kBlockTrips of that; blocks are added with what rounding takes away
// (jit/llvm/emit/long_sum.h), so errors do not grow with the number of terms.  The order follows
// from sizes alone.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_REDUCTION_TERM_SUMS_H_
#define TEKTITE_BACKENDS_GPU_EMIT_REDUCTION_TERM_SUMS_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "backends/gpu/emit/reduction/group_reduction.h"
#include "jit/ir/dim.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::gpu {

// Terms that are read at once: independent loads of 16 bytes that a thread has under way.
inline constexpr int64_t kTogether = 4;

// A thread's terms: begin, begin + step, ... below end.
struct TermRange {
  loop::Value begin, end;
  int64_t step = 1;
  // All threads of a block share a range of at most so many terms.
  ir::Dim most = 1;
  // The range is always that long, so that every thread has most / step terms if that is whole.
  bool full = false;
  int64_t together = kTogether;
};

// An accumulator for each reduction, of `lanes` lanes.  `term`: what each reduction takes in there;
// it may be asked for a term again, which then counts once.
std::vector<loop::Value> ReduceTerms(
    loop::Builder& b, const std::vector<GroupReduction>& reductions, int lanes,
    const TermRange& range, absl::FunctionRef<std::vector<loop::Value>(loop::Value term)> term);

// Combines what the block's threads have, `slices` (a power of two) for each result: halves, then
// quarters, ...  A slice is as many threads as results, side by side.  Totals lie in slice 0.
std::vector<loop::Value> SumSlices(loop::Builder& b, const std::vector<GroupReduction>& reductions,
                                   std::vector<loop::Value> parts, loop::Value slice,
                                   int64_t slices);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_REDUCTION_TERM_SUMS_H_
