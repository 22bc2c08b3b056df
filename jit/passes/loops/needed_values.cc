#include "jit/passes/loops/needed_values.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "jit/ir/control.h"
#include "jit/passes/names.h"

namespace tektite::passes {
namespace {

void Unite(const std::vector<bool>& from, std::vector<bool>* to) {
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i]) (*to)[i] = true;
  }
}

}  // namespace

std::vector<bool> NeededValues::ParametersOf(const Graph& region, Value output) {
  std::vector<bool> parameters(region.num_parameters());
  absl::flat_hash_set<std::pair<const Node*, int>> seen;
  std::vector<Value> left = {output};
  while (!left.empty()) {
    const Value value = left.back();
    left.pop_back();
    const Node& node = *value.node;
    if (!seen.insert({&node, ir::IsControl(node) ? value.index : 0}).second) continue;
    if (node.op() == Op::kParameter) parameters[node.Int(Attr::index)] = true;
    for (const Value operand : Operands(value)) left.push_back(operand);
  }
  return parameters;
}

const NeededValues::Region& NeededValues::Of(const Graph& region) {
  const auto found = regions_.find(&region);
  if (found != regions_.end()) return found->second;
  Region outputs;
  for (const Value output : region.outputs()) outputs.push_back(ParametersOf(region, output));
  return regions_.emplace(&region, std::move(outputs)).first->second;
}

std::vector<bool> NeededValues::ForResults(const Node& control, const std::vector<bool>& read) {
  std::vector<bool> needed(control.num_operands());
  if (control.op() == Op::kConditional) {
    needed[0] = true;
    std::vector<bool> parameters(control.num_operands() - 1);
    for (int r = 0; r < control.num_regions(); ++r) {
      const Region& branch = Of(control.region(r));
      for (size_t k = 0; k < read.size(); ++k) {
        if (read[k]) Unite(branch[k], &parameters);
      }
    }
    for (size_t i = 0; i < parameters.size(); ++i) needed[i + 1] = parameters[i];
    return needed;
  }
  // What the next turn's value of a needed one depends on is needed, too.
  const Region &condition = Of(control.region(0)), &body = Of(control.region(1));
  std::vector<bool> reached = read, followed(read.size());
  for (const std::vector<bool>& parameters : condition) Unite(parameters, &reached);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < reached.size(); ++i) {
      if (!reached[i] || followed[i]) continue;
      followed[i] = changed = true;
      Unite(body[i], &reached);
    }
  }
  return reached;
}

std::vector<Value> NeededValues::Operands(Value value) {
  const Node& node = *value.node;
  const std::vector<Value> operands(node.operands().begin(), node.operands().end());
  if (!ir::IsControl(node)) return operands;
  std::vector<bool> read(node.num_results());
  read[value.index] = true;
  const std::vector<bool> needed = ForResults(node, read);
  std::vector<Value> some;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (needed[i]) some.push_back(operands[i]);
  }
  return some;
}

}  // namespace tektite::passes
