// A loop IR kernel as an object file in memory: lowering, LLVM's passes, machine code.
//
//   ObjectEmitter emitter(target);
//   TEKTITE_ASSIGN_OR_RETURN(std::string object, emitter.Emit(kernel, /*dump_dir=*/""));
//
// Kept from kernel to kernel are LLVM's description of the machine (instructions, registers,
// costs), whose making takes 5 % of the time of small kernels, and the list of its passes, which
// takes a fourth of it: 200 kernels that add two vectors took 460 ms of processor time, and take
// 355. Thread-safe: of kernels that are made at once, each has tools of its own.
#ifndef TEKTITE_BACKENDS_CPU_CODEGEN_EMIT_OBJECT_H_
#define TEKTITE_BACKENDS_CPU_CODEGEN_EMIT_OBJECT_H_

#include <memory>
#include <mutex>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "jit/llvm/loop_ir.h"
#include "jit/target/target_info.h"

namespace llvm {
class Module;
}

namespace tektite::cpu {

class ObjectEmitter {
 public:
  // `triple` is LLVM's name of another machine's kind; empty: this process's.
  explicit ObjectEmitter(const target::TargetInfo& target, std::string triple = "");
  ~ObjectEmitter();

  // With a dump directory, also writes the loop IR, the LLVM IR after the passes, and the assembly.
  absl::StatusOr<std::string> Emit(const loop::Kernel& kernel, const std::string& dump_dir);

  // The same of a module that `fill` fills with functions that are no kernels, for the instructions
  // of the target.
  absl::StatusOr<std::string> EmitModule(const std::string& name,
                                         absl::FunctionRef<absl::Status(llvm::Module&)> fill);

  const target::TargetInfo& target() const { return target_; }

 private:
  class Tools;

  absl::StatusOr<std::unique_ptr<Tools>> Take();
  void Keep(std::unique_ptr<Tools> tools);
  // Catches LLVM's fatal errors.
  absl::StatusOr<std::string> With(const std::string& name,
                                   absl::FunctionRef<absl::StatusOr<std::string>(Tools&)> emit);

  const target::TargetInfo target_;
  const std::string triple_;
  std::mutex mutex_;
  std::unique_ptr<Tools> tools_;  // null while a thread uses them
};

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CODEGEN_EMIT_OBJECT_H_
