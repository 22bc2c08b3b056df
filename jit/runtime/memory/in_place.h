// Which buffers share memory because one takes over from another.
//
//   SharedMemory memory(graph.buffers.size());
//   const int in_place = JoinInPlace(graph, times, lifetimes, must_stay, updated, &memory);
//   if (memory.Find(a) == memory.Find(b)) ...
//
// A step whose kernel allows it writes over an operand that is read for the last time; a loop takes
// over its initial values.  A turn of a loop writes the next turn's value over the present one
// where no later step of the turn reads that: an accumulator is never copied.  The regions of a
// choice all write where its result lies.
#ifndef TEKTITE_JIT_RUNTIME_MEMORY_IN_PLACE_H_
#define TEKTITE_JIT_RUNTIME_MEMORY_IN_PLACE_H_

#include <cstddef>
#include <numeric>
#include <vector>

#include "jit/runtime/memory/lifetimes.h"
#include "jit/runtime/step_graph.h"

namespace tektite::runtime {

class SharedMemory {
 public:
  explicit SharedMemory(size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0); }
  int Find(int b) { return parent_[b] == b ? b : parent_[b] = Find(parent_[b]); }
  void Join(int a, int b) { parent_[Find(b)] = Find(a); }

 private:
  std::vector<int> parent_;
};

// Result `r` of `step` may lie where operand `b` does, as far as the step itself goes.
bool TakesOver(const StepGraph& graph, const Step& step, int r, int b);

// Returns how many results lie in an operand's memory.  By buffer: `must_stay` is read after the
// last step; `updated` is to lie in a variable's memory, which is not to be touched before its
// turn.
int JoinInPlace(const StepGraph& graph, const Timeline& times, const Lifetimes& lifetimes,
                const std::vector<bool>& must_stay, const std::vector<bool>& updated,
                SharedMemory* memory);

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_MEMORY_IN_PLACE_H_
