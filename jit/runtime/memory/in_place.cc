#include "jit/runtime/memory/in_place.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"

namespace tektite::runtime {
namespace {

bool Reads(const Step& step, int b) {
  return std::find(step.operands.begin(), step.operands.end(), b) != step.operands.end();
}

class Joiner {
 public:
  Joiner(const StepGraph& graph, const Timeline& times, const Lifetimes& lifetimes,
         SharedMemory* memory)
      : graph_(graph),
        times_(times),
        lifetimes_(lifetimes),
        memory_(*memory),
        in_chain_(graph.buffers.size()),
        is_update_(graph.buffers.size()),
        steps_at_(times.length + 1) {
    for (size_t s = 0; s < graph.steps.size(); ++s) {
      if (times.begin[s] >= 0) steps_at_[times.begin[s]].push_back(static_cast<int>(s));
    }
  }

  void JoinUpdates() {
    for (const Step& step : graph_.steps) {
      for (size_t r = 0; r < step.updates.size(); ++r) {
        if (step.updates[r] < 0) continue;
        memory_.Join(step.operands[step.updates[r]], step.results[r]);
        is_update_[step.results[r]] = true;
      }
    }
  }

  void JoinChosen() {
    for (const Step& step : graph_.steps) {
      if (step.kind != Step::Kind::kConditional) continue;
      for (int r : step.regions) {
        const std::vector<int>& outputs = graph_.regions[r].outputs;
        for (size_t i = 0; i < outputs.size(); ++i) memory_.Join(step.results[i], outputs[i]);
      }
    }
  }

  // Joins the values that a loop carries and its body writes over.
  int JoinCarried() {
    int joined = 0;
    for (size_t s = 0; s < graph_.steps.size(); ++s) {
      const Step& step = graph_.steps[s];
      if (step.kind != Step::Kind::kWhile || times_.begin[s] < 0) continue;
      const int body = step.regions[1];
      for (size_t r = 0; r < step.results.size(); ++r) {
        std::vector<int> chain;
        if (!CanBecome(graph_.regions[body].outputs[r], step.results[r], body, &chain)) continue;
        for (int b : chain) {
          memory_.Join(step.results[r], b);
          in_chain_[b] = true;
        }
        ++joined;
      }
    }
    return joined;
  }

  int JoinOthers(const std::vector<bool>& must_stay, const std::vector<bool>& updated) {
    int joined = 0;
    for (const std::vector<int>& together : steps_at_) {
      for (int s : together) {
        const Step& step = graph_.steps[s];
        absl::InlinedVector<int, 4> taken;
        for (int r = 0; r < static_cast<int>(step.results.size()); ++r) {
          const int result = step.results[r];
          if (graph_.buffers[result].size == ir::Dim(0) || in_chain_[result] ||
              is_update_[result]) {
            continue;
          }
          for (int b : step.operands) {
            if (must_stay[b] || updated[b] != updated[result] ||
                std::find(taken.begin(), taken.end(), b) != taken.end() || !EndsIn(s, b) ||
                !TakesOver(graph_, step, r, b)) {
              continue;
            }
            memory_.Join(b, result);
            taken.push_back(b);
            ++joined;
            break;
          }
        }
      }
    }
    return joined;
  }

 private:
  // Step `s` is the last to read `b`, which is computed and no part of a chain.
  bool EndsIn(int s, int b) const {
    if (lifetimes_.first[b] < 0 || lifetimes_.last[b] != times_.begin[s] || in_chain_[b]) {
      return false;
    }
    const std::vector<int>& together = steps_at_[times_.begin[s]];
    return std::none_of(together.begin(), together.end(),
                        [&](int other) { return other != s && Reads(graph_.steps[other], b); });
  }

  bool ReadLater(int b, int region, int s) const {
    const std::vector<int>& steps = graph_.regions[region].steps;
    return std::any_of(steps.begin(), steps.end(),
                       [&](int other) { return other > s && Reads(graph_.steps[other], b); });
  }

  // Whether `v`, which `region` computes, may be written over `target`, possibly through other
  // values that lie there in between.  Adds all of them to `chain`.
  bool CanBecome(int v, int target, int region, std::vector<int>* chain) const {
    const Buffer& buffer = graph_.buffers[v];
    if (buffer.kind != Buffer::Kind::kComputed || in_chain_[v] ||
        buffer.size != graph_.buffers[target].size || buffer.size == ir::Dim(0)) {
      return false;
    }
    const int s = buffer.index;
    const Step& step = graph_.steps[s];
    if (step.region != region) return false;
    const int r = static_cast<int>(std::find(step.results.begin(), step.results.end(), v) -
                                   step.results.begin());
    const size_t before = chain->size();
    chain->push_back(v);
    if (step.kind == Step::Kind::kConditional) {
      if (!ReadLater(target, region, s) &&
          std::all_of(step.regions.begin(), step.regions.end(), [&](int q) {
            return CanBecome(graph_.regions[q].outputs[r], target, q, chain);
          })) {
        return true;
      }
    } else {
      for (int b : step.operands) {
        if (!TakesOver(graph_, step, r, b)) continue;
        if (b == target ? !ReadLater(target, region, s)
                        : EndsIn(s, b) && CanBecome(b, target, region, chain)) {
          return true;
        }
      }
    }
    chain->resize(before);
    return false;
  }

  const StepGraph& graph_;
  const Timeline& times_;
  const Lifetimes& lifetimes_;
  SharedMemory& memory_;
  std::vector<bool> in_chain_;              // by buffer: lies where a loop carries a value
  std::vector<bool> is_update_;             // by buffer: lies where its updated operand does
  std::vector<std::vector<int>> steps_at_;  // by time: those that begin there
};

}  // namespace

bool TakesOver(const StepGraph& graph, const Step& step, int r, int b) {
  if (graph.buffers[b].size != graph.buffers[step.results[r]].size) return false;
  if (step.kind == Step::Kind::kConditional) return false;
  if (step.kind == Step::Kind::kWhile) {
    if (step.operands[r] != b) return false;
    const auto others = step.operands.begin() + static_cast<int>(step.NumReadFirst());
    if (std::find(others, step.operands.end(), b) != step.operands.end()) return false;
  }
  for (size_t o = 0; o < step.operands.size(); ++o) {
    if (step.operands[o] != b) continue;
    if (step.PartOf(o) != Step::kWhole) return false;
    if (step.kernel != nullptr && !step.kernel->CanRunInPlace(static_cast<int>(o), r)) return false;
  }
  return true;
}

int JoinInPlace(const StepGraph& graph, const Timeline& times, const Lifetimes& lifetimes,
                const std::vector<bool>& must_stay, const std::vector<bool>& updated,
                SharedMemory* memory) {
  Joiner joiner(graph, times, lifetimes, memory);
  joiner.JoinUpdates();
  joiner.JoinChosen();
  const int carried = joiner.JoinCarried();
  return carried + joiner.JoinOthers(must_stay, updated);
}

}  // namespace tektite::runtime
