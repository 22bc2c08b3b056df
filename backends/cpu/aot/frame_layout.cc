#include "backends/cpu/aot/frame_layout.h"

#include "backends/cpu/aot/team_code.h"
#include "jit/runtime/memory/host_memory.h"

namespace tektite::cpu {

using runtime::Step;

FrameLayout::FrameLayout(const aot::Library& library) : bytes_(FrameHeader::kBytes) {
  for (int s : library.plan.steps) Add(library, s, /*is_in_unit=*/false);
  if (!pointers_.empty() && !library.sizes.empty()) {
    table_ = Reserve(8 * int64_t{library.graph.program.table_size()});
  }
  for (const std::vector<int>& places : library.graph.size_values) {
    size_values_.push_back(Reserve(8 * static_cast<int64_t>(places.size()), runtime::kAlignment));
  }
  bytes_ = runtime::AlignUp(bytes_);
}

int64_t FrameLayout::Reserve(int64_t bytes, int64_t alignment) {
  bytes_ = RoundUp(bytes_, alignment);
  const int64_t at = bytes_;
  bytes_ += bytes;
  return at;
}

void FrameLayout::Add(const aot::Library& library, int s, bool is_in_unit) {
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
  for (int r : step.regions) {
    const runtime::StepRegion& region = library.graph.regions[r];
    for (int b : region.outputs) add_pointer(b);
    for (int inner : region.steps) Add(library, inner, /*is_in_unit=*/true);
  }
}

}  // namespace tektite::cpu
