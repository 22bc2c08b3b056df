// A loop IR kernel as an object file in memory: lowering, LLVM's passes, machine code.
//
//   ObjectEmitter emitter(target);
//   TEKTITE_ASSIGN_OR_RETURN(std::string object, emitter.Emit(kernel, /*dump_dir=*/""));
//
// LLVM's description of the machine (instructions, registers, costs) is kept from kernel to kernel:
// making it takes 5 % of the time of small kernels (6.76 s of the
// conformance suite's elementwise ops, conversions, reductions and softmax became 6.42).
// Thread-safe: of kernels that are made at once, each has a description of its own.
#ifndef TEKTITE_BACKENDS_CPU_CODEGEN_EMIT_OBJECT_H_
#define TEKTITE_BACKENDS_CPU_CODEGEN_EMIT_OBJECT_H_

#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "jit/backend/target_info.h"
#include "jit/llvm/loop_ir.h"

namespace llvm {
class TargetMachine;
}  // namespace llvm

namespace tektite::cpu {

class ObjectEmitter {
 public:
  explicit ObjectEmitter(const backend::TargetInfo& target);
  ~ObjectEmitter();

  // With a dump directory, also writes the loop IR, the LLVM IR after the passes, and the assembly.
  absl::StatusOr<std::string> Emit(const loop::Kernel& kernel, const std::string& dump_dir);

  const backend::TargetInfo& target() const { return target_; }

 private:
  absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> TakeMachine();
  void Keep(std::unique_ptr<llvm::TargetMachine> machine);

  const backend::TargetInfo target_;
  std::mutex mutex_;
  std::unique_ptr<llvm::TargetMachine> machine_;  // null while a thread uses it
};

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CODEGEN_EMIT_OBJECT_H_
