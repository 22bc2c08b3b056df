#include "backends/cpu/aot/frame_layout.h"

#include <algorithm>

#include "backends/cpu/aot/job_code.h"
#include "backends/cpu/aot/team_code.h"
#include "jit/runtime/memory/host_memory.h"

namespace tektite::cpu {

using runtime::Step;

namespace {

// The most units that are run side by side.
int64_t MostUnits(const aot::Library& library) {
  const runtime::BufferAssignment& plan = library.plan;
  std::vector<int64_t> units(plan.steps.size());  // by round
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    if (library.graph.steps[plan.steps[i]].kernel == nullptr) ++units[plan.rounds[i]];
  }
  return units.empty() ? 0 : *std::max_element(units.begin(), units.end());
}

}  // namespace

FrameLayout::FrameLayout(const aot::Library& library) : bytes_(FrameHeader::kBytes) {
  for (int s : library.plan.steps) Add(library, s, /*is_in_unit=*/false, /*loops=*/0);
  if (!pointers_.empty() && !library.sizes.empty()) {
    table_ = Reserve(8 * int64_t{library.graph.program.table_size()});
  }
  for (const std::vector<int>& places : library.graph.size_values) {
    size_values_.push_back(Reserve(8 * static_cast<int64_t>(places.size()), runtime::kAlignment));
  }
  bytes_ = runtime::AlignUp(bytes_);
  counters_ = Reserve(kCounterBytes * static_cast<int64_t>(library.plan.steps.size()));
  jobs_ = Reserve(kJobBytes * MostUnits(library));
}

int64_t FrameLayout::Reserve(int64_t bytes, int64_t alignment) {
  bytes_ = RoundUp(bytes_, alignment);
  const int64_t at = bytes_;
  bytes_ += bytes;
  return at;
}

void FrameLayout::Add(const aot::Library& library, int s, bool is_in_unit, int loops) {
  const Step& step = library.graph.steps[s];
  is_in_unit |= step.kernel == nullptr;
  const auto add_pointer = [&](int b) {
    if (pointers_.count(b) == 0) pointers_[b] = Reserve(8);
  };
  if (is_in_unit) {
    for (int b : step.operands) add_pointer(b);
    for (int b : step.results) add_pointer(b);
  }
  if (step.kernel != nullptr) {
    KernelPlace place;
    place.kernel = &library.KernelOf(s);
    place.loops = loops;
    place.is_static = place.kernel->facts().launch.num_symbols() == 0;
    if (!place.is_static) {
      place.chunks = Reserve(8);
      place.claim = Reserve(8);
      place.table = Reserve(8 * int64_t{place.kernel->facts().sizes.table_size()});
    }
    if (!is_in_unit) {
      place.slots = Reserve(8 * static_cast<int64_t>(step.operands.size() + step.results.size()));
    }
    kernels_[s] = place;
  }
  if (step.kind == Step::Kind::kWhile) ++loops;
  for (int r : step.regions) {
    const runtime::StepRegion& region = library.graph.regions[r];
    for (int b : region.outputs) add_pointer(b);
    for (int inner : region.steps) Add(library, inner, /*is_in_unit=*/true, loops);
  }
}

}  // namespace tektite::cpu
