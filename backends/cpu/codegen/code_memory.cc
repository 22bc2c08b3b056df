#include "backends/cpu/codegen/code_memory.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "backends/cpu/codegen/code_image.h"
#include "backends/cpu/codegen/code_pages.h"
#include "backends/cpu/codegen/llvm_error.h"
#include "llvm/ExecutionEngine/JITLink/JITLink.h"

namespace tektite::cpu {
namespace {

using llvm::jitlink::BasicLayout;
using llvm::jitlink::JITLinkMemoryManager;
using llvm::jitlink::LinkGraph;
using llvm::orc::ExecutorAddr;

class InFlight : public JITLinkMemoryManager::InFlightAlloc {
 public:
  InFlight(LinkGraph& graph, std::unique_ptr<CodePages> pages)
      : graph_(graph), pages_(std::move(pages)) {}

  void abandon(OnAbandonedFunction on_abandoned) override {
    pages_.reset();
    on_abandoned(llvm::Error::success());
  }

  void finalize(OnFinalizedFunction on_finalized) override {
    if (llvm::Error error = ToLlvm(pages_->MakeExecutable())) {
      on_finalized(std::move(error));
      return;
    }
    // The actions of plugins, which tell a debugger or a profiler.  Neither is told when code goes
    // (code_linker.h).
    auto actions = llvm::orc::shared::runFinalizeActions(graph_.allocActions());
    if (!actions) {
      on_finalized(actions.takeError());
      return;
    }
    on_finalized(JITLinkMemoryManager::FinalizedAlloc(ExecutorAddr::fromPtr(pages_.release())));
  }

 private:
  LinkGraph& graph_;
  std::unique_ptr<CodePages> pages_;
};

}  // namespace

void CodeMemory::allocate(const llvm::jitlink::JITLinkDylib*, LinkGraph& graph,
                          OnAllocatedFunction on_allocated) {
  BasicLayout layout(graph);
  size_t size = 0;
  std::vector<size_t> places;
  for (auto& [group, segment] : layout.segments()) {
    const uint64_t alignment = std::max(segment.Alignment.value(), kImageAlignment);
    places.push_back(llvm::alignTo(size, alignment));
    size = places.back() + segment.ContentSize + segment.ZeroFillSize;
  }
  absl::StatusOr<CodePages> mapped = CodePages::Map(size);
  if (!mapped.ok()) {
    on_allocated(ToLlvm(mapped.status()));
    return;
  }
  auto pages = std::make_unique<CodePages>(*std::move(mapped));
  auto place = places.begin();
  for (auto& [group, segment] : layout.segments()) {
    segment.WorkingMem = pages->data() + *place++;
    segment.Addr = ExecutorAddr::fromPtr(segment.WorkingMem);
  }
  if (llvm::Error error = layout.apply()) {
    on_allocated(std::move(error));
    return;
  }
  on_allocated(std::make_unique<InFlight>(graph, std::move(pages)));
}

void CodeMemory::deallocate(std::vector<FinalizedAlloc> allocations,
                            OnDeallocatedFunction on_deallocated) {
  for (FinalizedAlloc& allocation : allocations) delete allocation.release().toPtr<CodePages*>();
  on_deallocated(llvm::Error::success());
}

}  // namespace tektite::cpu
