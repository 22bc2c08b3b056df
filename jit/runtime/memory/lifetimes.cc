#include "jit/runtime/memory/lifetimes.h"

#include <algorithm>

namespace tektite::runtime {

Timeline::Timeline(const StepGraph& graph, const std::vector<int>& steps,
                   const std::vector<int>& rounds)
    : begin(graph.steps.size(), -1), end(graph.steps.size(), -1) {
  for (size_t t = 0, next = 0; t < steps.size(); t = next) {
    const int start = length;
    for (next = t; next < steps.size() && rounds[next] == rounds[t]; ++next) {
      Add(graph, steps[next]);
    }
    if (next > t + 1 && length > start) {
      for (size_t i = t; i < next; ++i) {
        begin[steps[i]] = start;
        end[steps[i]] = length;
      }
      loops_.push_back({start, length});
    }
    ++length;
  }
}

void Timeline::Overlap(int* first, int* last) const {
  auto loops = std::lower_bound(loops_.begin(), loops_.end(), *first,
                                [](const Together& l, int time) { return l.end < time; });
  for (; loops != loops_.end() && loops->begin < *last; ++loops) {
    *first = std::min(*first, loops->begin);
    *last = std::max(*last, loops->end);
  }
}

void Timeline::Add(const StepGraph& graph, int s) {
  begin[s] = length;
  for (int r : graph.steps[s].regions) {
    for (int inner : graph.regions[r].steps) {
      ++length;
      Add(graph, inner);
    }
  }
  if (graph.steps[s].IsControl()) ++length;
  end[s] = length;
}

Lifetimes::Lifetimes(const StepGraph& graph, const Timeline& times)
    : first(graph.buffers.size(), -1), last(graph.buffers.size(), -1) {
  const auto lives = [&](int b, int from, int to) {
    first[b] = first[b] < 0 ? from : std::min(first[b], from);
    last[b] = std::max(last[b], to);
  };
  for (size_t s = 0; s < graph.steps.size(); ++s) {
    const Step& step = graph.steps[s];
    const int begin = times.begin[s], end = times.end[s];
    if (begin < 0) continue;
    for (size_t o = 0; o < step.operands.size(); ++o) {
      const bool to_end = step.IsControl() && o >= step.NumReadFirst();
      last[step.operands[o]] = std::max(last[step.operands[o]], to_end ? end : begin);
    }
    for (int b : step.results) lives(b, begin, end);
    for (int r : step.regions) {
      for (int b : graph.regions[r].outputs) lives(b, begin, end);
    }
  }
}

}  // namespace tektite::runtime
