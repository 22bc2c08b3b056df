// Accumulators of one reduction in generated code.
//
//   Reduction sum(&b, "add", DType::kF32, lanes);
//   std::vector<Value> totals = ReduceOverInner(b, {768}, lanes, {sum}, visit);
//
// f16 and bf16 accumulate in f32.  A row's max and min watch for NaN on the side, in an accumulator
// of its own: two operations a vector, where a max that passes NaN on takes three.  The order of
// additions is fixed by the sizes and by which of them are known to the compiler: several vectors
// of partial results, combined pairwise, then lanes by halves.  A sum of more than some thousand
// floats is one of blocks (long_sum.h), so its error is that of a block, however many there are.
#ifndef TEKTITE_BACKENDS_CPU_LOOPS_REDUCTION_H_
#define TEKTITE_BACKENDS_CPU_LOOPS_REDUCTION_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "jit/ir/dim.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::cpu {

class Reduction {
 public:
  Reduction(loop::Builder* builder, const std::string& reducer, ir::DType dtype, int lanes);
  loop::Value Identity(int lanes) const;
  // Lanes that are off in the mask (none: all on) do not count.
  loop::Value Combine(loop::Value accumulator, loop::Value x, loop::Value mask) const;
  // As reduce_window does: NaN is neither greater nor less than anything, so max and min leave it
  // out.
  loop::Value CombineNumbers(loop::Value accumulator, loop::Value x) const;
  // One scalar of the reduction's dtype.
  loop::Value Finish(loop::Value accumulator) const;
  // An accumulator (any lanes) in the reduction's dtype.
  loop::Value Narrow(loop::Value accumulator) const;
  int lanes() const { return lanes_; }

  // ---- several accumulators, so that no operation waits for the one before: `copies` partial
  // results, and what else the reduction keeps
  int num_accumulators(int copies) const;
  std::vector<loop::Value> Begin(int copies) const;
  // x[i] goes into copy i.
  void TakeIn(std::vector<loop::Value> x, loop::Value mask, absl::Span<loop::Value> state) const;
  // One scalar of the reduction's dtype.
  loop::Value Total(absl::Span<const loop::Value> state) const;
  // The value whose lanes Total combines.
  loop::Value Folded(absl::Span<const loop::Value> state) const;

  // Many terms lose digits: they are taken in by blocks (long_sum.h).
  bool IsSumOfFloats() const;
  // The LongSum of blocks; nothing where blocks are of no use.
  std::vector<loop::Value> BeginBlocks() const;

 private:
  bool WatchesForNan() const;
  // The larger (smaller) of two; the accumulator where x is NaN.
  loop::Value Beyond(loop::Value x, loop::Value accumulator) const;

  loop::Builder* b_;
  ir::Op op_;
  std::string reducer_;
  ir::DType dtype_, accumulator_;
  int lanes_;
};

// Visits all of [sizes] in vectors along the last dimension; `visit` gets the index of a vector's
// first element and a mask (none: all lanes), and returns one vector per reduction.  Returns
// scalars.
std::vector<loop::Value> ReduceOverInner(
    loop::Builder& b, const ir::Dims& sizes, int lanes, const std::vector<Reduction>& reductions,
    const std::function<std::vector<loop::Value>(const std::vector<loop::Value>&, loop::Value)>&
        visit);

// for (i0 < sizes[0]) for (i1 < sizes[1]) ... state = body(index, state): one element at a time.
std::vector<loop::Value> NestLoops(
    loop::Builder& b, const ir::Dims& sizes, std::vector<loop::Value> state,
    const std::function<std::vector<loop::Value>(const std::vector<loop::Value>&,
                                                 std::vector<loop::Value>)>& body);

// The same in blocks: state = end_block(state) after every `block_steps` elements or so, but for
// the last of them.  `*ended`: a block has ended; none if that never happens.
std::vector<loop::Value> NestLoopsInBlocks(
    loop::Builder& b, const ir::Dims& sizes, int64_t block_steps, std::vector<loop::Value> state,
    const std::function<std::vector<loop::Value>(const std::vector<loop::Value>&,
                                                 std::vector<loop::Value>)>& body,
    const std::function<std::vector<loop::Value>(std::vector<loop::Value>)>& end_block,
    loop::Value* ended);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_LOOPS_REDUCTION_H_
