#include "jit/passes/loops/loop_nodes.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "jit/ir/control.h"
#include "jit/passes/loops/needed_values.h"
#include "jit/passes/names.h"

namespace tektite::passes {
namespace {

// A loop or a choice on these operands with the regions of `control`, before it.
Node* Rebuilt(Graph& graph, Node* control, absl::Span<const Value> operands) {
  std::vector<Shape> shapes;
  for (const Value v : control->region(control->num_regions() - 1).outputs()) {
    shapes.push_back(v.shape());
  }
  Node* copy = graph.Append(control->op(), operands, control->attrs(), shapes, control);
  copy->set_name(control->name());
  for (int r = 0; r < control->num_regions(); ++r) copy->AddRegion(control->region(r).Clone());
  return copy;
}

// Puts `copy`, whose results are those of `control` that `keep` names, in its place.
void Replace(Graph& graph, Node* control, Node* copy, const std::vector<bool>& keep) {
  int next = 0;
  for (size_t i = 0; i < keep.size(); ++i) {
    if (!keep[i]) continue;
    graph.ReplaceAllUses(control->result(static_cast<int>(i)), copy->result(next++));
  }
  graph.Erase(control);
}

bool AllOf(const std::vector<bool>& flags) {
  return std::find(flags.begin(), flags.end(), false) == flags.end();
}

void NarrowControls(Graph& region);

void KeepOutputs(Graph& region, const std::vector<bool>& keep) {
  std::vector<Value> outputs;
  for (size_t i = 0; i < keep.size(); ++i) {
    if (keep[i]) outputs.push_back(region.outputs()[i]);
  }
  region.SetOutputs(outputs);
  NarrowControls(region);
}

// The choice with these results alone, and the operands that they need.
Node* WithResults(Graph& graph, Node* choice, const std::vector<bool>& keep) {
  const std::vector<bool> needed = NeededValues().ForResults(*choice, keep);
  std::vector<Value> operands;
  for (size_t i = 0; i < needed.size(); ++i) {
    if (needed[i]) operands.push_back(choice->operand(static_cast<int>(i)));
  }
  for (int r = 0; r < choice->num_regions(); ++r) {
    Graph& branch = choice->region(r);
    KeepOutputs(branch, keep);
    for (int i = branch.num_parameters(); i-- > 0;) {
      if (!needed[i + 1]) branch.EraseParameter(i);
    }
  }
  Node* const copy = Rebuilt(graph, choice, operands);
  Replace(graph, choice, copy, keep);
  return copy;
}

// Takes from a loop or a choice the results that nothing reads, and from a choice the operands that
// no branch needs; false where all are needed.
bool Narrow(Graph& graph, Node* control) {
  const std::vector<bool> read = ReadResults(*control);
  const std::vector<bool> needed = NeededValues().ForResults(*control, read);
  if (control->op() == Op::kConditional) {
    // An operand that no branch needs would keep alive what its own region does not need.
    if (AllOf(read) && AllOf(needed)) return false;
    WithResults(graph, control, read);
    return true;
  }
  if (AllOf(needed)) return false;
  WithoutCarried(graph, control, needed);
  return true;
}

// Takes from a region what its outputs do not need.
void NarrowControls(Graph& region) {
  for (bool changed = true; changed;) {
    region.EraseDead();
    changed = false;
    // The last ones first, since they may have read other ones' results.
    const std::vector<Node*> nodes = region.NodeList();
    for (size_t n = nodes.size(); n-- > 0 && !changed;) {
      if (ir::IsControl(*nodes[n])) changed = Narrow(region, nodes[n]);
    }
  }
}

// Of the types that programs count in.  An unsigned or a narrow counter may wrap around.
std::optional<int64_t> ConstantOf(Value v) {
  const bool counts = v.dtype() == ir::DType::kS32 || v.dtype() == ir::DType::kS64;
  if (v.node->op() != Op::kConstant || v.shape().rank() != 0 || !counts) return std::nullopt;
  return v.node->attrs().GetLiteral(Attr::value).AsInt(0);
}

// The constant that `v`, a value of the condition, is before each turn.
std::optional<int64_t> BoundOf(const Node& loop, Value v) {
  if (v.node->op() != Op::kParameter) return ConstantOf(v);
  const int index = static_cast<int>(v.node->Int(Attr::index));
  return ir::IsInvariant(loop, index) ? ConstantOf(loop.operand(index)) : std::nullopt;
}

// From a comparison of a counter with a bound on its right.
std::optional<Turns> TurnsOfComparison(const Node& loop, const Node& compare) {
  const Value left = compare.operand(0);
  if (left.node->op() != Op::kParameter) return std::nullopt;
  const int counter = static_cast<int>(left.node->Int(Attr::index));
  const std::optional<int64_t> first = ConstantOf(loop.operand(counter));
  const std::optional<int64_t> bound = BoundOf(loop, compare.operand(1));
  const std::optional<int64_t> step = StepOf(loop, counter);
  // Wider bounds than these would not leave room for sums of them.
  constexpr int64_t kWidest = int64_t{1} << 40;
  const auto is_wide = [](int64_t value) { return value < -kWidest || value > kWidest; };
  if (!first || !bound || !step || is_wide(*first) || is_wide(*bound)) return std::nullopt;
  const absl::string_view direction = compare.String(Attr::direction);
  int64_t most = 0;
  if (*step == 1 && (direction == "lt" || direction == "le")) {
    most = *bound - *first + (direction == "le");
  } else if (*step == -1 && (direction == "gt" || direction == "ge")) {
    most = *first - *bound + (direction == "ge");
  }
  if (most < 1) return std::nullopt;
  return Turns{counter, *first, *step, most};
}

std::optional<Turns> TurnsWhile(const Node& loop, const Node& condition) {
  std::optional<Turns> fewest;
  // All that has to hold, the leftmost last; each once, since many conjunctions may have it.
  std::vector<const Node*> left = {&condition};
  absl::flat_hash_set<const Node*> seen;
  while (!left.empty()) {
    const Node* const node = left.back();
    left.pop_back();
    if (!seen.insert(node).second) continue;
    if (node->op() == Op::kAnd) {
      left.push_back(node->operand(1).node);
      left.push_back(node->operand(0).node);
    } else if (node->op() == Op::kCompare) {
      const std::optional<Turns> turns = TurnsOfComparison(loop, *node);
      if (turns && (!fewest || turns->most < fewest->most)) fewest = turns;
    }
  }
  return fewest;
}

}  // namespace

std::optional<int64_t> StepOf(const Node& loop, int carried) {
  const Value next = Body(loop).outputs()[carried];
  const bool adds = next.node->op() == Op::kAdd;
  if (!adds && next.node->op() != Op::kSub) return std::nullopt;
  if (next.node->operand(0) != Body(loop).parameter(carried)->result()) return std::nullopt;
  const std::optional<int64_t> by = ConstantOf(next.node->operand(1));
  if (!by) return std::nullopt;
  if (adds) return *by;
  return *by == INT64_MIN ? std::nullopt : std::optional<int64_t>(-*by);
}

std::optional<Turns> TurnsOf(const Node& loop) {
  return TurnsWhile(loop, *Condition(loop).outputs()[0].node);
}

Value AddInvariant(Node& loop, const Shape& shape) {
  Condition(loop).AddParameter(shape);
  const Value parameter = Body(loop).AddParameter(shape);
  std::vector<Value> outputs(Body(loop).outputs().begin(), Body(loop).outputs().end());
  outputs.push_back(parameter);
  Body(loop).SetOutputs(outputs);
  return parameter;
}

std::vector<bool> ReadResults(const Node& control) {
  std::vector<bool> read(control.num_results());
  for (int i = 0; i < control.num_results(); ++i) {
    read[i] = !control.uses(i).empty() || control.IsOutput(i);
  }
  return read;
}

Node* CopyOf(Graph& graph, Node* loop) {
  const std::vector<Value> operands(loop->operands().begin(), loop->operands().end());
  return Rebuilt(graph, loop, operands);
}

Node* WithOperands(Graph& graph, Node* loop, absl::Span<const Value> added) {
  std::vector<Value> operands(loop->operands().begin(), loop->operands().end());
  operands.insert(operands.end(), added.begin(), added.end());
  Node* const copy = Rebuilt(graph, loop, operands);
  graph.Replace(loop, copy->results());
  return copy;
}

Node* WithoutCarried(Graph& graph, Node* loop, const std::vector<bool>& keep) {
  std::vector<Value> operands;
  for (size_t i = 0; i < keep.size(); ++i) {
    if (keep[i]) operands.push_back(loop->operand(static_cast<int>(i)));
  }
  KeepOutputs(Body(*loop), keep);
  NarrowControls(Condition(*loop));
  for (int r = 0; r < loop->num_regions(); ++r) {
    for (int i = static_cast<int>(keep.size()); i-- > 0;) {
      if (!keep[i]) loop->region(r).EraseParameter(i);
    }
  }
  Node* const copy = Rebuilt(graph, loop, operands);
  Replace(graph, loop, copy, keep);
  return copy;
}

Node* Narrowed(Graph& graph, Node* control, const std::vector<bool>& read) {
  if (control->op() == Op::kWhile) {
    return WithoutCarried(graph, control, NeededValues().ForResults(*control, read));
  }
  return WithResults(graph, control, read);
}

}  // namespace tektite::passes
