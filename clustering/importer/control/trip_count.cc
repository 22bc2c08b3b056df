#include "clustering/importer/control/trip_count.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"

namespace tektite::importer {
namespace {

using ir::Attr;

// Of ops that a size or a step is computed by.  Programs have a few, and a graph in which each
// value is read twice would have 2^n ways through n of them.
constexpr int kMostOps = 256;

std::optional<Dim> SizeIn(Value value, int* ops_left) {
  if (--*ops_left < 0) return std::nullopt;
  const ir::Node& node = *value.node;
  if (!ir::IsInteger(value.dtype()) || value.shape().NumElements() != Dim(1)) return std::nullopt;
  switch (node.op()) {
    case Op::kConstant:
      return Dim(node.attrs().GetLiteral(Attr::value).AsInt(0));
    case Op::kSizeValue:
      return node.attrs().GetDims(Attr::sizes)[0];
    case Op::kConvert:
    case Op::kReshape:
      return SizeIn(node.operand(0), ops_left);
    case Op::kAdd:
    case Op::kSub: {
      const std::optional<Dim> a = SizeIn(node.operand(0), ops_left);
      const std::optional<Dim> b = a ? SizeIn(node.operand(1), ops_left) : std::nullopt;
      if (!a || !b) return std::nullopt;
      return node.op() == Op::kAdd ? *a + *b : *a - *b;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<int64_t> StepBetween(Value value, Value next) {
  int64_t step = 0;
  for (int ops = 0; next != value; ++ops) {
    const Op op = next.node->op();
    if (ops == kMostOps || (op != Op::kAdd && op != Op::kSub) || next.shape().rank() != 0) {
      return std::nullopt;
    }
    Value from = next.node->operand(0), by = next.node->operand(1);
    if (op == Op::kAdd && SizeOf(from)) std::swap(from, by);
    const std::optional<Dim> difference = SizeOf(by);
    if (!difference || !difference->is_constant()) return std::nullopt;
    const bool is_lost = op == Op::kAdd ? __builtin_add_overflow(step, difference->value(), &step)
                                        : __builtin_sub_overflow(step, difference->value(), &step);
    if (is_lost) return std::nullopt;
    next = from;
  }
  return step;
}

namespace {

// What the branches of a choice add to the value at most.
std::optional<int64_t> MostStep(Value value, Value next) {
  const ir::Node& node = *next.node;
  if (node.op() != Op::kConditional) return std::nullopt;
  int64_t most = 0;
  for (int r = 0; r < node.num_regions(); ++r) {
    std::optional<int64_t> step;
    for (int i = 1; i < node.num_operands() && !step; ++i) {
      if (node.operand(i) != value) continue;
      step = StepBetween(node.region(r).parameter(i - 1)->result(),
                         node.region(r).outputs()[next.index]);
    }
    if (!step || *step < 0) return std::nullopt;
    most = std::max(most, *step);
  }
  return most;
}

class Counting {
 public:
  Counting(Parameters parameters, const TripCount& loop,
           absl::Span<const std::optional<Dim>> entering)
      : parameters_(parameters), loop_(loop), entering_(entering) {}

  // Turns and whether there are exactly so many.
  std::pair<std::optional<Dim>, bool> Turns(Value again) const {
    std::optional<Dim> least;
    bool exact = true;
    // All that has to hold, the leftmost last; each once, since many conjunctions may have it.
    std::vector<Value> left = {again};
    absl::flat_hash_set<Value> seen;
    while (!left.empty()) {
      const Value v = left.back();
      left.pop_back();
      if (!seen.insert(v).second) continue;
      if (v.node->op() == Op::kAnd) {
        left.push_back(v.node->operand(1));
        left.push_back(v.node->operand(0));
        continue;
      }
      if (const Value first = HoldsFirst(v)) left.push_back(first);
      const std::optional<Dim> turns =
          v.node->op() == Op::kCompare ? Compared(*v.node) : std::nullopt;
      exact = exact && turns;
      if (turns) least = least ? ir::Min(*least, *turns) : *turns;
    }
    return {least, exact};
  }

 private:
  static bool IsFalse(Value v) {
    return v.node->op() == Op::kConstant && v.dtype() == ir::DType::kBool &&
           v.node->attrs().GetLiteral(Attr::value).AsInt(0) == 0;
  }

  // What has to hold for a choice to be true: where the second one of two values is false, the
  // selector. AutoGraph makes such a choice where a loop has a break.
  static Value HoldsFirst(Value v) {
    const ir::Node& node = *v.node;
    const bool is_choice = node.op() == Op::kConditional && node.num_regions() == 2 &&
                           node.operand(0).dtype() == ir::DType::kBool;
    if (is_choice && IsFalse(node.region(1).outputs()[v.index])) return node.operand(0);
    return node.op() == Op::kSelect && IsFalse(node.operand(2)) ? node.operand(0) : Value();
  }

  std::optional<Dim> Compared(const ir::Node& compare) const {
    std::string direction = compare.String(Attr::direction);
    Value counter = compare.operand(0), bound = compare.operand(1);
    if (SizeOf(counter)) {
      std::swap(counter, bound);
      direction[0] = direction[0] == 'l' ? 'g' : direction[0] == 'g' ? 'l' : direction[0];
    }
    const auto found = std::find(parameters_.begin(), parameters_.end(), counter);
    const std::optional<Dim> last = SizeOf(bound);
    if (found == parameters_.end() || !last) return std::nullopt;
    const size_t number = found - parameters_.begin();
    const std::optional<Dim>& first = entering_[number];
    const std::optional<int64_t> step = loop_.steps[number];
    if (!first || !step) return std::nullopt;
    const Dim one_more = direction[1] == 'e' ? Dim(1) : Dim(0);  // "le", "ge"
    if (direction[0] == 'l' && *step == 1) return ir::Max(*last - *first + one_more, Dim(0));
    if (direction[0] == 'g' && *step == -1) return ir::Max(*first - *last + one_more, Dim(0));
    return std::nullopt;
  }

  const Parameters parameters_;
  const TripCount& loop_;
  const absl::Span<const std::optional<Dim>> entering_;
};

}  // namespace

std::optional<Dim> SizeOf(Value value) {
  int ops_left = kMostOps;
  return SizeIn(value, &ops_left);
}

TripCount CountTurns(Parameters of_condition, Value again, Parameters of_body,
                     absl::Span<const Value> next, absl::Span<const std::optional<Dim>> entering) {
  TripCount loop;
  for (size_t i = 0; i < of_body.size(); ++i) {
    const bool counts = ir::IsInteger(next[i].dtype()) && next[i].shape().rank() == 0;
    loop.steps.push_back(counts ? StepBetween(of_body[i], next[i]) : std::nullopt);
    loop.most.push_back(counts ? MostStep(of_body[i], next[i]) : std::nullopt);
  }
  std::tie(loop.turns, loop.exact) = Counting(of_condition, loop, entering).Turns(again);
  return loop;
}

}  // namespace tektite::importer
