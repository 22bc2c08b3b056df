// The sizes of one call as values of emitted code: the graph's table, its kernels' launches, and
// the layout of its arena.
//
//   CallSizes sizes(library, frame);
//   sizes.Compute(&builder, symbols, fail);     // `fail` ends the function where sizes do not fit
//   sizes.arena_bytes(threads)
#ifndef TEKTITE_BACKENDS_CPU_AOT_CALL_SIZES_H_
#define TEKTITE_BACKENDS_CPU_AOT_CALL_SIZES_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "backends/cpu/aot/frame_layout.h"
#include "llvm/IR/IRBuilder.h"

namespace tektite::cpu {

// Ends the function with an error of this sentence where the condition, an i1, holds.
using FailIf = absl::FunctionRef<void(llvm::Value* condition, std::string sentence)>;

struct LaunchValues {
  std::vector<llvm::Value*> table;  // the kernel's
  llvm::Value *chunks = nullptr, *claim = nullptr;
};

class CallSizes {
 public:
  CallSizes(llvm::IRBuilder<>* builder, const aot::Library& library, const FrameLayout& frame)
      : b_(*builder), library_(library), frame_(frame) {}

  void Compute(absl::Span<llvm::Value* const> symbols, FailIf fail);

  const std::vector<llvm::Value*>& table() const { return table_; }
  llvm::Value* Bytes(int buffer) const { return table_[library_.graph.buffers[buffer].place]; }
  const std::map<int, LaunchValues>& launches() const { return launches_; }  // by step
  // From the arena's beginning.
  llvm::Value* SlotAt(int slot) const;
  // Of an update that cannot be written over the old value; null: it can.
  llvm::Value* UpdateAt(size_t update) const;
  llvm::Value* ScratchAt() const;
  llvm::Value* scratch_bytes() const { return scratch_; }  // of each thread
  llvm::Value* ArenaBytes(llvm::Value* threads) const;
  // Of one core, in units of LaunchFacts::cost.
  llvm::Value* cost() const { return cost_; }

 private:
  void CheckGraph(absl::Span<llvm::Value* const> symbols, FailIf fail);
  void ComputeLaunches(absl::Span<llvm::Value* const> symbols, FailIf fail);
  void PlaceSlots(FailIf fail);

  llvm::IRBuilder<>& b_;
  const aot::Library& library_;
  const FrameLayout& frame_;
  std::vector<llvm::Value*> table_, slots_, updates_;
  std::map<int, LaunchValues> launches_;
  llvm::Value *scratch_ = nullptr, *buffers_bytes_ = nullptr, *cost_ = nullptr;
};

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_AOT_CALL_SIZES_H_
