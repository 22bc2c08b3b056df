// The part of a library's code that shares a kernel's chunks among the caller's threads.
//
//   TeamCode team(&module, "mlp");
//   builder.CreateCall(team.step(), {frame, kernel, buffers, table, chunks, claim, number, index,
//                                    scratch});
//
// A library has no threads: the caller's parallel_for runs the whole program on each of them.  A
// step is done when its chunks are, and a thread claims them by atomic additions: first those of
// its own part, so that it reads what it wrote in the step before, then what is left of others'.
// Nobody waits for a thread that has not come: one that comes late finds the steps done, and a
// parallel_for that runs its bodies one after the other works, too.
//
// A frame is memory that the threads of one call share.  It begins with these words.
#ifndef TEKTITE_BACKENDS_CPU_AOT_TEAM_CODE_H_
#define TEKTITE_BACKENDS_CPU_AOT_TEAM_CODE_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "backends/cpu/aot/function_code.h"

namespace tektite::cpu {

// Offsets in a frame, in bytes.
struct FrameHeader {
  static constexpr int64_t kThreads = 0;        // i64
  static constexpr int64_t kScratch = 8;        // a pointer: of thread 0
  static constexpr int64_t kScratchBytes = 16;  // i64, of each thread
  static constexpr int64_t kCounters = 24;      // a pointer: kCounterBytes for each step, zeros
  static constexpr int64_t kJobs = 32;          // a pointer: of the units of a round (job_code.h)
  static constexpr int64_t kBytes = 64;
};
inline constexpr int64_t kCounterBytes = 64;
inline constexpr int64_t kMostThreads = 1024;
// Kernels that take less are one claim (ThreadTeam::kShareWithPresentNs).
inline constexpr double kSharedNs = 3e3;
// Kernels of libtektite_kernels.a are made anew for each claim, a Fourier transform with its table
// of sines.
inline constexpr int64_t kLibraryClaims = 16;

// void(ptr buffers, ptr table, ptr scratch, i64 begin, i64 end).
llvm::FunctionType* KernelType(llvm::LLVMContext& context);
// A function of the library's own, which is not inlined.
llvm::Function* MakeInternal(llvm::Module* module, llvm::FunctionType* type,
                             const std::string& name);
// void(i64 looks): what a thread does between two looks for what others do, of which there were so
// many; it lets others run now and then.  One for a module.
llvm::Function* MakeRelax(llvm::Module* module, const std::string& library);
// Emits a loop that a thread leaves when `is_done` emits true; between two looks it does what
// `meanwhile` emits, and relaxes.
void WaitUntil(
    llvm::IRBuilder<>* b, llvm::Function* relax, absl::FunctionRef<llvm::Value*()> is_done,
    absl::FunctionRef<void()> meanwhile = [] {});
// i64(ptr): the number of threads that a tektite_aot_threads offers, 1 for null.
llvm::Function* MakeThreadCount(llvm::Module* module, const std::string& library);

// Emits calls of `worker`, a void(ptr, i32), with `argument`: on as many threads of those offered,
// or one call here.
void RunOnThreads(llvm::IRBuilder<>* b, llvm::Function* worker, llvm::Value* argument,
                  llvm::Value* threads, llvm::Value* offered);

class TeamCode : FunctionCode {
 public:
  TeamCode(llvm::Module* module, const std::string& library);

  // void(ptr frame, ptr kernel, ptr buffers, ptr table, i64 chunks, i64 claim, i64 number,
  //      i64 index, ptr scratch): returns when all chunks of step `number` are done.  `claim`: the
  // chunks of one claim; with all of them, one thread runs the kernel.
  llvm::Function* step() const { return step_; }
  llvm::Function* threads() const { return threads_; }
  llvm::FunctionType* kernel_type() const { return kernel_type_; }

 private:
  void MakeStep();

  llvm::FunctionType* const kernel_type_;
  llvm::Function *step_, *threads_, *relax_;
};

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_AOT_TEAM_CODE_H_
