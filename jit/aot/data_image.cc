#include "jit/aot/data_image.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "jit/aot/object_kernel.h"
#include "jit/base/status.h"
#include "jit/runtime/memory/buffer_assignment.h"
#include "jit/runtime/memory/host_memory.h"

namespace tektite::aot {
namespace {

using runtime::Location;
using runtime::Step;

absl::StatusOr<std::shared_ptr<const backend::HostKernel>> Runnable(const Step& step) {
  if (const auto* object = dynamic_cast<const ObjectKernel*>(step.kernel.get())) {
    return object->Link();
  }
  auto host = std::dynamic_pointer_cast<const backend::HostKernel>(step.kernel);
  if (host == nullptr) return Internal("a kernel of a device among a library's");
  return host;
}

}  // namespace

int64_t DataImage::Add(const void* data, int64_t size) {
  const absl::string_view content(static_cast<const char*>(data), static_cast<size_t>(size));
  const auto [place, added] = places_.try_emplace(FingerprintOf(content), 0);
  if (!added) return place->second;
  bytes.resize(static_cast<size_t>(runtime::AlignUp(static_cast<int64_t>(bytes.size()))));
  place->second = static_cast<int64_t>(bytes.size());
  bytes.append(content.data(), content.size());
  return place->second;
}

absl::Status AddGroup(const runtime::StepGraph& graph, int group, DataImage* image) {
  const runtime::GroupAssignment assigned = runtime::AssignGroup(graph, group);
  runtime::HostMemory memory;
  const backend::Block block = memory.Allocate(assigned.block_bytes);
  const backend::Block arena = memory.Allocate(assigned.arena.bytes);
  if (block.data() == nullptr || arena.data() == nullptr) {
    return absl::ResourceExhaustedError("no memory for the weights of a library");
  }
  // What rounding up leaves between results is part of the library's bytes.
  std::memset(block.data(), 0, static_cast<size_t>(assigned.block_bytes));
  const auto pointer = [&](int b) -> std::byte* {
    const Location& location = assigned.locations[b];
    switch (location.base) {
      case Location::Base::kArena:
        return arena.data() + assigned.arena.offsets[location.index];
      case Location::Base::kWeights:
        return block.data() + location.offset;
      default:
        return static_cast<std::byte*>(const_cast<void*>(graph.constants[location.index].raw()));
    }
  };
  for (int s : graph.groups[group].steps) {
    const Step& step = graph.steps[s];
    std::vector<void*> buffers;
    for (size_t o = 0; o < step.operands.size(); ++o) {
      buffers.push_back(pointer(step.operands[o]) + std::max<int64_t>(step.PartOf(o), 0));
    }
    for (int b : step.results) buffers.push_back(pointer(b));
    if (step.kind == Step::Kind::kCopy) {
      std::memcpy(buffers[1], buffers[0],
                  static_cast<size_t>(graph.buffers[step.results[0]].typical_bytes));
      continue;
    }
    TEKTITE_ASSIGN_OR_RETURN(const auto kernel, Runnable(step));
    const backend::LaunchConfig launch = kernel->Configure({});
    const backend::Block scratch = memory.Allocate(launch.scratch_bytes);
    if (scratch.data() == nullptr) return absl::ResourceExhaustedError("no memory for a kernel");
    kernel->Run({buffers.data(), nullptr, scratch.data()}, 0, launch.num_chunks);
  }
  image->groups[group] = image->Add(block.data(), assigned.block_bytes);
  return absl::OkStatus();
}

}  // namespace tektite::aot
