// A loop IR kernel as an object file in memory: lowering, LLVM's passes, machine code.
#ifndef TEKTITE_BACKENDS_CPU_CODEGEN_EMIT_OBJECT_H_
#define TEKTITE_BACKENDS_CPU_CODEGEN_EMIT_OBJECT_H_

#include <string>

#include "absl/status/statusor.h"
#include "jit/backend/target_info.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::cpu {

// With a dump directory, also writes the loop IR, the LLVM IR after the passes, and the assembly.
absl::StatusOr<std::string> EmitObject(const loop::Kernel& kernel,
                                       const backend::TargetInfo& target,
                                       const std::string& dump_dir);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CODEGEN_EMIT_OBJECT_H_
