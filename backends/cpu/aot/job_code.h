// The part of a library's code that shares kernels inside of loops and choices among the caller's
// threads.
//
//   JobCode jobs(&module, "mlp");
//   builder.CreateCall(jobs.round(), {frame, units, count, number, index, scratch});
//   builder.CreateCall(jobs.share(), {frame, kernel, buffers, table, chunks, claim, job, index,
//                                     scratch});                             // inside of a unit
//
// A round is a control step, or several loops that do not read each other's results: its units.
// Each unit is claimed by one thread, which runs the steps inside and offers each kernel that is
// large enough as the unit's job.  A thread that finds no unit left claims chunks of jobs, until
// all units are done.  As in a team (team_code.h), the thread that offers a kernel starts at once
// and waits for claimed chunks alone.
//
// A job has a line of memory for each part of its kernel.  The line's first word holds the number
// of kernels offered so far and how many of the part's chunks are left.  A claim exchanges that
// word for one with fewer chunks left.  Where it succeeds, the line's other words are those of the
// same kernel: they are written anew only after all chunks are done.
#ifndef TEKTITE_BACKENDS_CPU_AOT_JOB_CODE_H_
#define TEKTITE_BACKENDS_CPU_AOT_JOB_CODE_H_

#include <string>

#include "backends/cpu/aot/function_code.h"

namespace tektite::cpu {

// A job begins with zeros: a line for what is done, and one for each part.
inline constexpr int64_t kJobBytes = 8 * 64;

class JobCode : FunctionCode {
 public:
  JobCode(llvm::Module* module, const std::string& library);

  // void(ptr frame, ptr unit, i64 count, i64 number, i64 index, ptr scratch): returns when all
  // `count` units of step `number` are done.
  llvm::Function* round() const { return round_; }
  // void(ptr frame, ptr kernel, ptr buffers, ptr table, i64 chunks, i64 claim, ptr job, i64 index,
  //      ptr scratch): returns when all chunks are done; `claim` as in TeamCode::step.
  llvm::Function* share() const { return share_; }
  // void(ptr frame, ptr job, ptr scratch, i64 index, i64 which): runs unit `which` of a round.
  llvm::FunctionType* unit_type() const { return unit_type_; }

 private:
  void MakeTake();
  void MakeShare();
  void MakeOffer(llvm::Value* number, llvm::Value* parts);
  void MakeRound();
  void MakeHelp(llvm::Value* jobs, llvm::Value* parts);
  llvm::Value* Load(llvm::Type* type, llvm::Value* address, llvm::AtomicOrdering order);
  void Store(llvm::Value* value, llvm::Value* address, llvm::AtomicOrdering order);
  llvm::Value* Parts(llvm::Value* threads);
  llvm::Value* JobOf(llvm::Value* jobs, llvm::Value* which);

  llvm::FunctionType *kernel_type_, *unit_type_;
  // i64(ptr job, i64 parts, i64 index, ptr scratch): claims and runs what is left of a job; returns
  // the number of chunks.
  llvm::Function* take_;
  llvm::Function *share_, *round_, *relax_;
};

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_AOT_JOB_CODE_H_
