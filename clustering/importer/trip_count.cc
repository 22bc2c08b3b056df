#include "clustering/importer/trip_count.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

namespace tektite::importer {
namespace {

using ir::Attr;

// What `next` has more than `value`, a constant.
std::optional<int64_t> Step(Value value, Value next) {
  if (next == value) return 0;
  const Op op = next.node->op();
  if ((op != Op::kAdd && op != Op::kSub) || next.shape().rank() != 0) return std::nullopt;
  Value from = next.node->operand(0), by = next.node->operand(1);
  if (op == Op::kAdd && SizeOf(from)) std::swap(from, by);
  const std::optional<Dim> difference = SizeOf(by);
  const std::optional<int64_t> before = Step(value, from);
  if (!difference || !difference->is_constant() || !before) return std::nullopt;
  return op == Op::kAdd ? *before + difference->value() : *before - difference->value();
}

class Counting {
 public:
  Counting(Parameters parameters, const TripCount& loop,
           absl::Span<const std::optional<Dim>> entering)
      : parameters_(parameters), loop_(loop), entering_(entering) {}

  // Turns and whether there are exactly so many.
  std::pair<std::optional<Dim>, bool> Turns(Value again) const {
    if (again.node->op() == Op::kCompare) {
      const std::optional<Dim> turns = Compared(*again.node);
      return {turns, turns.has_value()};
    }
    if (again.node->op() != Op::kAnd) return {std::nullopt, false};
    const auto [a, a_exact] = Turns(again.node->operand(0));
    const auto [b, b_exact] = Turns(again.node->operand(1));
    if (a && b) return {ir::Min(*a, *b), a_exact && b_exact};
    return {a ? a : b, false};
  }

 private:
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
  const ir::Node& node = *value.node;
  if (!ir::IsInteger(value.dtype()) || value.shape().NumElements() != Dim(1)) return std::nullopt;
  switch (node.op()) {
    case Op::kConstant:
      return Dim(node.attrs().GetLiteral(Attr::value).AsInt(0));
    case Op::kSizeValue:
      return node.attrs().GetDims(Attr::sizes)[0];
    case Op::kConvert:
    case Op::kReshape:
      return SizeOf(node.operand(0));
    case Op::kAdd:
    case Op::kSub: {
      const std::optional<Dim> a = SizeOf(node.operand(0)), b = SizeOf(node.operand(1));
      if (!a || !b) return std::nullopt;
      return node.op() == Op::kAdd ? *a + *b : *a - *b;
    }
    default:
      return std::nullopt;
  }
}

TripCount CountTurns(Parameters of_condition, Value again, Parameters of_body,
                     absl::Span<const Value> next, absl::Span<const std::optional<Dim>> entering) {
  TripCount loop;
  for (size_t i = 0; i < of_body.size(); ++i) {
    const bool counts = ir::IsInteger(next[i].dtype()) && next[i].shape().rank() == 0;
    loop.steps.push_back(counts ? Step(of_body[i], next[i]) : std::nullopt);
  }
  std::tie(loop.turns, loop.exact) = Counting(of_condition, loop, entering).Turns(again);
  return loop;
}

}  // namespace tektite::importer
