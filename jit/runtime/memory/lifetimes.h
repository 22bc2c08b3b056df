// When steps run, and from when to when each buffer holds a value.
//
//   const Timeline times(graph, steps, rounds);
//   const Lifetimes lifetimes(graph, times);
//   if (lifetimes.last[b] == times.begin[s]) ...   // step s is the last to read b
//
// Time is counted in rounds; the steps of a loop or a choice have times of their own between the
// beginning and the end of their control step.  Loops of one round begin and end together, and the
// times of their steps say nothing about the steps of another one (Overlap).  A value that a loop
// carries lives from the loop's beginning to its end, as does the value that a turn computes for
// the next one.
#ifndef TEKTITE_JIT_RUNTIME_MEMORY_LIFETIMES_H_
#define TEKTITE_JIT_RUNTIME_MEMORY_LIFETIMES_H_

#include <vector>

#include "jit/runtime/step_graph.h"

namespace tektite::runtime {

struct Timeline {
  // `rounds` by position in `steps`, which are none of a region.
  Timeline(const StepGraph& graph, const std::vector<int>& steps, const std::vector<int>& rounds);
  std::vector<int> begin, end;  // by step; -1 for those that do not run
  int length = 0;

  // Widens the life of a buffer to all times at which another loop of its round may run.
  void Overlap(int* first, int* last) const;

 private:
  void Add(const StepGraph& graph, int s);

  struct Together {
    int begin, end;
  };
  std::vector<Together> loops_;  // of rounds of several, in order
};

struct Lifetimes {
  Lifetimes(const StepGraph& graph, const Timeline& times);
  std::vector<int> first, last;  // by buffer; first is -1 for those that no step computes
};

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_MEMORY_LIFETIMES_H_
