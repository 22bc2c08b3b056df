// A kernel of several launches, each of which sees all that the ones before it have written: the
// only way in which the threads of all blocks can wait for each other.
//
//   Phases phases(fusion, name);
//   const int totals = phases.AddScratch(DType::kF32, blocks);
//   phases.Add([&](loop::Builder& b) { ... b.Store(phases.Scratch(totals), block, total) ... });
//   phases.Add([&](loop::Builder& b) { ... b.Load(phases.Scratch(totals), ...) ... });
//   return phases.Take();
//
// A launch costs microseconds, so phases are few, and how many there are follows from the region
// alone.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_PHASES_H_
#define TEKTITE_BACKENDS_GPU_EMIT_PHASES_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "backends/gpu/emit/emitter.h"
#include "jit/llvm/emit/element_emitter.h"

namespace tektite::gpu {

class Phases {
 public:
  // Borrows the fusion.
  Phases(const ir::Node& fusion, std::string name) : fusion_(fusion), name_(std::move(name)) {}

  const ir::Graph& region() const { return fusion_.region(); }

  // Memory for `elements`, of this kernel alone; before the first phase.  Returns its number.
  int AddScratch(ir::DType dtype, ir::Dim elements);
  // `body` emits a launch and sets its threads and blocks.
  void Add(absl::FunctionRef<void(loop::Builder&)> body);

  // In a phase: the scratch of that number, and a result of the region's op `root`.  A result that
  // nothing reads has no buffer: none.
  loop::Value Scratch(int number) const { return scratch_[static_cast<size_t>(number)]; }
  loop::Value Result(loop::Builder& b, const ir::Node& root, int result) const;
  // A scalar of a value of the region.
  loop::Value Read(loop::Builder& b, ir::Value value, const loop::Indices& at);

  void Note(const absl::Status& status) {
    if (status_.ok()) status_ = status;
  }
  // The kernel, or the first error.
  absl::StatusOr<EmittedKernel> Take();

 private:
  struct Array {
    ir::DType dtype;
    ir::Dim elements;
  };
  const ir::Node& fusion_;
  const std::string name_;
  std::vector<Array> arrays_;
  std::vector<loop::Value> scratch_;  // of the phase that is being emitted
  std::vector<std::unique_ptr<loop::Kernel>> kernels_;
  absl::Status status_;
};

// The op whose results are the region's, each once; Unimplemented otherwise.  What comes before it
// in the region must be a computation of single elements.
absl::StatusOr<const ir::Node*> RootOp(const ir::Graph& region);

// A thread for each number below `count`; sets the launch.
void ForEachThread(loop::Builder& b, const ir::Dim& count,
                   absl::FunctionRef<void(loop::Value)> body);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_PHASES_H_
