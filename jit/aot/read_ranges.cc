#include "jit/aot/read_ranges.h"

#include <algorithm>

namespace tektite::aot {
namespace {

using runtime::Buffer;
using Ranges = std::vector<std::pair<int64_t, int64_t>>;

constexpr int64_t kJoin = 1 << 20;

// By buffer: whether some step reads all of it.
std::vector<bool> BuffersReadWhole(const Library& library) {
  const runtime::StepGraph& graph = library.graph;
  std::vector<bool> whole(graph.buffers.size());
  for (size_t s = 0; s < graph.steps.size(); ++s) {
    const runtime::Step& step = graph.steps[s];
    if (!library.runs[s]) continue;
    for (size_t o = 0; o < step.operands.size(); ++o) {
      const bool is_looked_up =
          step.kernel != nullptr &&
          library.KernelOf(static_cast<int>(s)).IsLookedUp(static_cast<int>(o));
      if (!is_looked_up && !library.IsReplaced(static_cast<int>(s), o)) {
        whole[step.operands[o]] = true;
      }
    }
  }
  return whole;
}

Ranges Joined(Ranges ranges) {
  std::sort(ranges.begin(), ranges.end());
  Ranges joined;
  for (const auto& [begin, end] : ranges) {
    if (!joined.empty() && begin - joined.back().second < kJoin) {
      joined.back().second = std::max(joined.back().second, end);
    } else {
      joined.emplace_back(begin, end);
    }
  }
  return joined;
}

}  // namespace

Ranges RangesReadWhole(const Library& library) {
  const runtime::StepGraph& graph = library.graph;
  const std::vector<bool> whole = BuffersReadWhole(library);
  Ranges ranges;
  for (size_t b = 0; b < graph.buffers.size(); ++b) {
    if (!whole[b]) continue;
    const runtime::Location& location = library.plan.locations[b];
    int64_t begin = DataImage::kAbsent;
    if (location.base == runtime::Location::Base::kConstant) {
      begin = library.data.constants[location.index];
    } else if (location.base == runtime::Location::Base::kWeights) {
      const int64_t group = library.data.groups[location.index];
      begin = group == DataImage::kAbsent ? group : group + location.offset;
    }
    if (begin == DataImage::kAbsent) continue;
    ranges.emplace_back(begin, begin + graph.buffers[b].typical_bytes);
  }
  return Joined(std::move(ranges));
}

}  // namespace tektite::aot
