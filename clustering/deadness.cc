#include "clustering/deadness.h"

#include <algorithm>

namespace tektite::clustering {
namespace {

using graph_def::GraphIndex;

// Branch tables beyond this are not followed: their Merges become opaque.
constexpr int kMaxChoices = 64;
// Longer conjunctions come only from nesting that no program has; they are cut to an opaque
// literal.
constexpr size_t kMaxLiterals = 64;

}  // namespace

Deadness::Deadness(const GraphIndex& index)
    : index_(index), opaque_merge_(index.num_nodes(), false) {
  Propagate();
  // One more round is enough: opaque Merges are opaque whatever their inputs turn out to be.
  if (!CheckLoops()) Propagate();

  std::map<std::pair<int, int>, int> classes;
  classes[{0, 0}] = 0;
  for (int i = 0; i < index.num_nodes(); ++i) {
    const auto key = std::make_pair(index.LoopOfResults(i), predicate_[i]);
    class_of_.push_back(classes.emplace(key, static_cast<int>(classes.size())).first->second);
  }
}

int Deadness::Intern(Predicate predicate) {
  const int next = static_cast<int>(predicates_.size());
  auto [it, is_new] = predicate_ids_.emplace(predicate, next);
  if (is_new) predicates_.push_back(std::move(predicate));
  return it->second;
}

int Deadness::And(int a, int b) {
  if (a == b) return a;
  Predicate both;
  std::set_union(predicates_[a].begin(), predicates_[a].end(), predicates_[b].begin(),
                 predicates_[b].end(), std::back_inserter(both));
  if (both.size() > kMaxLiterals) both = {{Literal::kOpaque, -1, a, b, 0}};
  return Intern(std::move(both));
}

int Deadness::With(int predicate, const Literal& literal) {
  return And(predicate, Intern({literal}));
}

// The disjunction: alternatives that differ in one choice only, and cover all of it, lose the
// choice.
int Deadness::Or(const std::vector<int>& alternatives, int merge) {
  std::vector<int> left = alternatives;
  std::sort(left.begin(), left.end());
  left.erase(std::unique(left.begin(), left.end()), left.end());
  bool changed = true;
  while (changed && left.size() > 1) {
    changed = false;
    // (the rest, subject, output, number of choices) -> how many of its choices are there
    std::map<std::tuple<int, int, int, int>, std::vector<int>> choices;
    for (int id : left) {
      const Predicate p = predicates_[id];  // Intern below may move the original
      for (size_t i = 0; i < p.size(); ++i) {
        if (p[i].kind != Literal::kChoice) continue;
        Predicate rest = p;
        rest.erase(rest.begin() + i);
        choices[{Intern(std::move(rest)), p[i].subject, p[i].output, p[i].num_choices}].push_back(
            id);
      }
    }
    for (const auto& [key, chosen] : choices) {
      if (static_cast<int>(chosen.size()) != std::get<3>(key)) continue;
      const auto& ids = chosen;  // C++17 does not let a lambda capture a structured binding
      left.erase(std::remove_if(
                     left.begin(), left.end(),
                     [&](int id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); }),
                 left.end());
      left.push_back(std::get<0>(key));
      std::sort(left.begin(), left.end());
      left.erase(std::unique(left.begin(), left.end()), left.end());
      changed = true;
      break;
    }
  }
  if (left.size() == 1) return left[0];
  Predicate common = predicates_[left[0]];
  for (int id : left) {
    Predicate both;
    std::set_intersection(common.begin(), common.end(), predicates_[id].begin(),
                          predicates_[id].end(), std::back_inserter(both));
    common = std::move(both);
  }
  return With(Intern(std::move(common)), {Literal::kOpaque, merge, 0, 0, 0});
}

int Deadness::OutputPredicate(int node, int output) const {
  const std::vector<int>& outputs = switch_outputs_[node];
  if (output >= 0 && output < static_cast<int>(outputs.size())) return outputs[output];
  return predicate_[node];
}

void Deadness::Propagate() {
  predicates_.clear();
  predicate_ids_.clear();
  entered_.clear();
  Intern({});
  predicate_.assign(index_.num_nodes(), 0);
  switch_outputs_.assign(index_.num_nodes(), {});
  for (int node : index_.order()) Visit(node);
}

void Deadness::Visit(int node) {
  const OpFacts& facts = index_.facts(node);
  if (facts.Is(OpFacts::kMerge)) return VisitMerge(node);
  int predicate = 0;
  for (const GraphIndex::Edge& in : index_.inputs(node)) {
    predicate = And(predicate, OutputPredicate(in.node, in.output));
  }
  predicate_[node] = predicate;
  if (facts.Is(OpFacts::kEnter)) return VisitEnter(node);
  if (facts.Is(OpFacts::kExit)) {
    predicate_[node] = entered_[index_.loop(node)];
  } else if (facts.Is(OpFacts::kReceives)) {
    predicate_[node] = With(predicate, {Literal::kOpaque, node, 0, 0, 0});
  } else if (facts.Is(OpFacts::kSwitch) || facts.Is(OpFacts::kSwitchN)) {
    const int choices = facts.Is(OpFacts::kSwitch)
                            ? 2
                            : static_cast<int>(index_.node(node).attrs.Int("num_outs", 0));
    if (index_.inputs(node).size() < 2 || choices < 1 || choices > kMaxChoices) return;
    const GraphIndex::Edge chooser = index_.inputs(node)[1];
    for (int i = 0; i < choices; ++i) {
      switch_outputs_[node].push_back(
          With(predicate, {Literal::kChoice, chooser.node, chooser.output, i, choices}));
    }
  }
}

void Deadness::VisitEnter(int node) {
  const int outer = predicate_[node], loop = index_.loop(node);
  // Entered under another predicate than the loop's first Enter: alive by itself.
  const bool same = entered_.emplace(loop, outer).first->second == outer;
  predicate_[node] = With(outer, same ? Literal{Literal::kFrame, loop, 0, 0, 0}
                                      : Literal{Literal::kOpaque, node, 0, 0, 0});
}

void Deadness::VisitMerge(int node) {
  bool loop = false;
  std::vector<int> alternatives;
  for (const GraphIndex::Edge& in : index_.inputs(node)) {
    // A Merge does not mind dead control inputs.
    if (in.is_control()) continue;
    if (index_.IsBackEdge(in.node, node)) {
      loop = true;
      continue;
    }
    alternatives.push_back(OutputPredicate(in.node, in.output));
  }
  if (opaque_merge_[node] || alternatives.empty() || (loop && alternatives.size() != 1)) {
    predicate_[node] = Intern({{Literal::kOpaque, node, 0, 0, 0}});
  } else {
    predicate_[node] = loop ? alternatives[0] : Or(alternatives, node);
  }
}

// A loop's Merge was taken to be alive in each iteration. That holds when the value that comes
// round (its NextIteration) is alive exactly while the loop's condition, one per frame, says "go
// on".
bool Deadness::CheckLoops() {
  std::map<int, int> goes_on;  // loop -> predicate of the first NextIteration seen
  bool all = true;
  for (int node : index_.order()) {
    if (!index_.facts(node).Is(OpFacts::kMerge)) continue;
    for (const GraphIndex::Edge& in : index_.inputs(node)) {
      if (in.is_control() || !index_.IsBackEdge(in.node, node)) continue;
      const int came = predicate_[in.node];
      const int expected = goes_on.emplace(index_.loop(node), came).first->second;
      const Predicate& here = predicates_[predicate_[node]];
      const Predicate& there = predicates_[came];
      // Exactly one literal more than the Merge: the condition.
      const bool good = came == expected && there.size() == here.size() + 1 &&
                        std::includes(there.begin(), there.end(), here.begin(), here.end());
      if (!good) {
        opaque_merge_[node] = true;
        all = false;
      }
    }
  }
  return all;
}

}  // namespace tektite::clustering
