// Steps of a library that are not one kernel: copies, loops and choices, with all that is in them.
//
//   UnitCode units(&module, library, frame, kernels, jobs);
//   llvm::Function* unit = units.Make({step});    // of the type jobs.unit_type()
//
// A value that a loop carries lies in two places in turn (jit/runtime/launch.h); here the two
// addresses are carried by the loop.  One thread runs a unit; others help with its large kernels
// (job_code.h).
#ifndef TEKTITE_BACKENDS_CPU_AOT_UNIT_CODE_H_
#define TEKTITE_BACKENDS_CPU_AOT_UNIT_CODE_H_

#include <map>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "backends/cpu/aot/frame_layout.h"
#include "backends/cpu/aot/function_code.h"
#include "backends/cpu/aot/job_code.h"

namespace tektite::cpu {

// What code that runs kernels needs to know of them.
struct KernelCode {
  llvm::FunctionType* type = nullptr;
  std::map<int, llvm::Function*> functions;  // by step
  std::map<int, llvm::Constant*> tables;     // of kernels whose sizes are all known
  std::map<int, int64_t> chunks, claims;     // the same
};

class UnitCode : FunctionCode {
 public:
  UnitCode(llvm::Module* module, const aot::Library& library, const FrameLayout& frame,
           const KernelCode& kernels, const JobCode& jobs)
      : FunctionCode(module), library_(library), frame_(frame), kernels_(kernels), jobs_(jobs) {}

  // A function of the steps of one round.
  llvm::Function* Make(absl::Span<const int> steps);
  // What a launch of a step's kernel is told, by the call's frame.
  struct KernelLaunch {
    llvm::Value *table, *chunks, *claim;
  };
  KernelLaunch LaunchOf(int step, llvm::Value* frame, llvm::IRBuilder<>* b);

 private:
  using Location = runtime::Location;

  void Steps(const std::vector<int>& steps);
  void OneStep(int step);
  void RunKernel(int step);
  void Loop(const runtime::Step& step);
  void Choice(const runtime::Step& step);
  llvm::Value* FrameAt(int64_t offset);
  // Where a buffer lies in the present turn of the loops around.
  llvm::Value* Pointer(int buffer);
  llvm::Value* Operand(const runtime::Step& step, size_t o);
  llvm::Value* Bytes(int buffer);
  // Unless they are one place.
  void Copy(llvm::Value* to, llvm::Value* from, llvm::Value* bytes);

  const aot::Library& library_;
  const FrameLayout& frame_;
  const KernelCode& kernels_;
  const JobCode& jobs_;
  std::vector<std::pair<Location, llvm::Value*>> moved_;  // the innermost loop's last
};

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_AOT_UNIT_CODE_H_
