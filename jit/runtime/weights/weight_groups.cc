// StepGraph::FindGroups: the weight groups of a graph whose steps know their group's number.
#include <algorithm>
#include <cstring>

#include "jit/base/hash.h"
#include "jit/runtime/step_graph.h"

namespace tektite::runtime {
namespace {

using ir::Literal;

// Constants up to this size are recognised by content, larger ones by identity.
constexpr int64_t kContentBytes = 4096;

void FindKept(StepGraph& graph) {
  std::vector<bool> kept(graph.buffers.size());
  auto read = [&](int b, int group) {
    if (graph.buffers[b].kind != Buffer::Kind::kComputed) return;
    const int from = graph.steps[graph.buffers[b].index].group;
    if (from >= 0 && from != group && !kept[b]) {
      kept[b] = true;
      graph.groups[from].kept.push_back(b);
    }
  };
  for (const Step& step : graph.steps) {
    for (int b : step.operands) read(b, step.group);
  }
  for (const GraphOutput& output : graph.outputs) read(output.buffer, -1);
  for (WeightGroup& group : graph.groups) std::sort(group.kept.begin(), group.kept.end());
}

void SignConstant(const Literal& literal, std::vector<uint64_t>* signature) {
  signature->push_back(literal.num_bytes());
  if (literal.num_bytes() > kContentBytes) {
    signature->push_back(reinterpret_cast<uintptr_t>(literal.raw()));
    return;
  }
  const Fingerprint content = FingerprintOf(
      absl::string_view(static_cast<const char*>(literal.raw()), literal.num_bytes()));
  uint64_t words[2];
  std::memcpy(words, content.bytes.data(), sizeof(words));
  signature->insert(signature->end(), words, words + 2);
}

// Whether a group's results may be missing: a step that may wait for one buffer, of which a
// parameter or a constant takes the place in all kernels that read it.
bool IsDeferred(const StepGraph& graph, const WeightGroup& group) {
  const Step& step = graph.steps[group.steps.front()];
  if (group.steps.size() != 1 || !step.deferred || step.operands.size() != 1 ||
      step.results.size() != 1 || step.PartOf(0) != Step::kWhole ||
      graph.buffers[step.operands[0]].kind == Buffer::Kind::kComputed) {
    return false;
  }
  const int result = step.results[0];
  for (const Step& reader : graph.steps) {
    if (reader.kind == Step::Kind::kKernel) continue;
    if (std::count(reader.operands.begin(), reader.operands.end(), result) > 0) return false;
  }
  return std::none_of(graph.outputs.begin(), graph.outputs.end(),
                      [&](const GraphOutput& output) { return output.buffer == result; });
}

// `numbers`: of each buffer that a group computes, which of the group's it is.
void Sign(const StepGraph& graph, std::vector<int>* numbers, WeightGroup* group) {
  int computed = 0;
  auto& signature = group->signature;
  signature.reserve(8 * group->steps.size());
  for (int s : group->steps) {
    const Step& step = graph.steps[s];
    signature.push_back(reinterpret_cast<uintptr_t>(step.kernel.get()));
    for (size_t o = 0; o < step.operands.size(); ++o) {
      const int b = step.operands[o];
      signature.push_back(static_cast<uint64_t>(step.PartOf(o)));
      const Buffer& buffer = graph.buffers[b];
      signature.push_back(static_cast<uint64_t>(buffer.kind));
      switch (buffer.kind) {
        case Buffer::Kind::kParameter:
          signature.push_back(buffer.index);
          group->parameters.push_back(buffer.index);
          break;
        case Buffer::Kind::kConstant:
          SignConstant(graph.constants[buffer.index], &signature);
          break;
        case Buffer::Kind::kComputed:
          signature.push_back((*numbers)[b]);
          break;
        case Buffer::Kind::kSizes:
          break;  // never in a group
      }
    }
    for (int b : step.results) (*numbers)[b] = computed++;
  }
  for (int b : group->kept) signature.push_back((*numbers)[b]);
  auto& parameters = group->parameters;
  std::sort(parameters.begin(), parameters.end());
  parameters.erase(std::unique(parameters.begin(), parameters.end()), parameters.end());
}

}  // namespace

void StepGraph::FindGroups() {
  int count = 0;
  for (const Step& step : steps) count = std::max(count, step.group + 1);
  groups.assign(count, {});
  for (size_t s = 0; s < steps.size(); ++s) {
    if (steps[s].group >= 0) groups[steps[s].group].steps.push_back(static_cast<int>(s));
  }
  FindKept(*this);
  std::vector<int> numbers(buffers.size());
  for (WeightGroup& group : groups) {
    Sign(*this, &numbers, &group);
    group.deferred = IsDeferred(*this, group);
  }
}

}  // namespace tektite::runtime
