#include "jit/aot/bind_values.h"

#include <vector>

namespace tektite::aot {
namespace {

constexpr int kBound = -1;

// By parameter, its number among those that are left.
std::vector<int> NumberOthers(const std::map<int, ir::Literal>& values, size_t num_parameters) {
  std::vector<int> numbers;
  int next = 0;
  for (size_t p = 0; p < num_parameters; ++p) {
    numbers.push_back(values.count(static_cast<int>(p)) > 0 ? kBound : next++);
  }
  return numbers;
}

// Renumbers parameters, and leaves out those that are bound.
std::vector<int> Renumbered(const std::vector<int>& parameters, const std::vector<int>& numbers) {
  std::vector<int> others;
  for (int p : parameters) {
    if (numbers[p] != kBound) others.push_back(numbers[p]);
  }
  return others;
}

template <typename T>
void EraseBound(const std::vector<int>& numbers, std::vector<T>* list) {
  std::vector<T> others;
  for (size_t p = 0; p < list->size(); ++p) {
    if (numbers[p] != kBound) others.push_back(std::move((*list)[p]));
  }
  *list = std::move(others);
}

}  // namespace

void BindValues(const std::map<int, ir::Literal>& values, runtime::StepGraph* graph,
                runtime::OutputRoles* roles, Names* names) {
  using Kind = runtime::Buffer::Kind;
  const std::vector<int> numbers = NumberOthers(values, graph->parameters.size());
  for (runtime::Buffer& buffer : graph->buffers) {
    if (buffer.kind != Kind::kParameter) continue;
    const int parameter = buffer.index;
    buffer.index = numbers[parameter];
    if (buffer.index != kBound) continue;
    buffer.kind = Kind::kConstant;
    buffer.index = static_cast<int>(graph->constants.size());
    graph->constants.push_back(values.at(parameter));
  }
  for (runtime::SymbolSource& source : graph->sources) source.parameter = numbers[source.parameter];
  for (runtime::WeightGroup& group : graph->groups) {
    group.parameters = Renumbered(group.parameters, numbers);
  }
  EraseBound(numbers, &graph->parameters);
  EraseBound(numbers, &names->arguments);
  roles->updated = Renumbered(roles->updated, numbers);
}

}  // namespace tektite::aot
