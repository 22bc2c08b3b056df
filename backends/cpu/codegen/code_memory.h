// The memory that JITLink links into: everything of a graph side by side in one mapping.
//
// Why not LLVM's own manager: it puts constants, code and tables on pages of their own, three or
// four for a kernel of a few hundred bytes, and an image for the disk would hold the gaps between
// them.  Here they stand one after another, so that the mapping is the image.  Nothing in it is
// written to once it is linked, so all of it becomes read-only and executable together.
//
// Limits: alignments up to a page.  Thread-safe.
#ifndef TEKTITE_BACKENDS_CPU_CODEGEN_CODE_MEMORY_H_
#define TEKTITE_BACKENDS_CPU_CODEGEN_CODE_MEMORY_H_

#include <vector>

#include "llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h"

namespace tektite::cpu {

class CodeMemory : public llvm::jitlink::JITLinkMemoryManager {
 public:
  using JITLinkMemoryManager::allocate;
  using JITLinkMemoryManager::deallocate;
  void allocate(const llvm::jitlink::JITLinkDylib* dylib, llvm::jitlink::LinkGraph& graph,
                OnAllocatedFunction on_allocated) override;
  void deallocate(std::vector<FinalizedAlloc> allocations,
                  OnDeallocatedFunction on_deallocated) override;
};

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CODEGEN_CODE_MEMORY_H_
