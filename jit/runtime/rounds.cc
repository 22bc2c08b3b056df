#include "jit/runtime/rounds.h"

#include <algorithm>
#include <numeric>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tektite::runtime {
namespace {

// How far ahead other loops are looked for.
constexpr int kLookAhead = 64;

class Former {
 public:
  Former(const StepGraph& graph, int num_before_updates, std::vector<int>* steps)
      : graph_(graph),
        end_(num_before_updates),
        steps_(*steps),
        seen_by_(graph.buffers.size(), -1) {}

  std::vector<int> Run() {
    const int num_steps = static_cast<int>(steps_.size());
    std::vector<int> rounds;
    rounds.reserve(steps_.size());
    int round = 0;
    for (int begin = 0, end = 0; begin < num_steps; begin = end, ++round) {
      end = begin + 1;
      if (begin < end_ && IsLoop(steps_[begin])) end = GatherLoops(begin);
      rounds.insert(rounds.end(), end - begin, round);
    }
    return rounds;
  }

 private:
  const Step& StepAt(int position) const { return graph_.steps[steps_[position]]; }

  // A loop without loops inside, whose turns can be cancelled in between.
  bool IsLoop(int s) const {
    return graph_.steps[s].kind == Step::Kind::kWhile && !HasLoopInside(s);
  }
  bool HasLoopInside(int s) const {
    for (int region : graph_.steps[s].regions) {
      for (int inner : graph_.regions[region].steps) {
        if (graph_.steps[inner].kind == Step::Kind::kWhile || HasLoopInside(inner)) return true;
      }
    }
    return false;
  }

  // Moves the loops that wait for nothing from `begin` on behind the one there, and the steps that
  // they need in front of it.  Returns the end of the round at `begin`: that of the loops, or that
  // of the steps in front of them, behind which the loops are looked for again.
  int GatherLoops(int begin) {
    const auto first = steps_.begin() + begin;
    const int last = std::min(end_, begin + kLookAhead);
    std::vector<int> loops = {steps_[begin]};
    int end = begin + 1;  // behind the last of the loops
    const auto see = [&](const Step& step) {
      for (int b : step.results) seen_by_[b] = begin;
    };
    see(StepAt(begin));
    for (int t = end; t < last; ++t) {
      const Step& step = StepAt(t);
      const bool waits = std::any_of(step.operands.begin(), step.operands.end(),
                                     [&](int b) { return seen_by_[b] == begin; });
      const bool joins = !waits && IsLoop(steps_[t]);
      if (joins) {
        loops.push_back(steps_[t]);
        end = t + 1;
      }
      if (joins || waits) see(step);
    }
    if (loops.size() == 1) return begin + 1;

    absl::flat_hash_set<int> needed;
    std::vector<int> before, behind;
    for (int t = end - 1; t > begin; --t) {
      const Step& step = StepAt(t);
      const bool joins = std::find(loops.begin(), loops.end(), steps_[t]) != loops.end();
      const bool is_needed = std::any_of(step.results.begin(), step.results.end(),
                                         [&](int b) { return needed.contains(b); });
      if (joins || is_needed) needed.insert(step.operands.begin(), step.operands.end());
      if (!joins) (is_needed ? before : behind).push_back(steps_[t]);
    }
    auto to = std::copy(before.rbegin(), before.rend(), first);
    to = std::copy(loops.begin(), loops.end(), to);
    std::copy(behind.rbegin(), behind.rend(), to);
    if (before.empty()) return begin + static_cast<int>(loops.size());
    return begin + 1;
  }

  const StepGraph& graph_;
  const int end_;
  std::vector<int>& steps_;
  std::vector<int> seen_by_;  // by buffer, the latest search that came past its step
};

}  // namespace

std::vector<int> FormRounds(const StepGraph& graph, int num_before_updates,
                            std::vector<int>* steps) {
  return Former(graph, num_before_updates, steps).Run();
}

std::vector<int> SeparateRounds(size_t num_steps) {
  std::vector<int> rounds(num_steps);
  std::iota(rounds.begin(), rounds.end(), 0);
  return rounds;
}

std::string RoundsText(absl::Span<const int> steps, absl::Span<const int> rounds) {
  std::string text;
  for (size_t begin = 0, end = 0; begin < steps.size(); begin = end) {
    while (end < steps.size() && rounds[end] == rounds[begin]) ++end;
    if (end == begin + 1) continue;
    absl::StrAppend(&text, "steps ", absl::StrJoin(steps.subspan(begin, end - begin), ", "),
                    " side by side\n");
  }
  return text;
}

}  // namespace tektite::runtime
