// A loop IR kernel for a device as PTX: lowering, LLVM's passes, NVIDIA's assembly language.
//
//   TEKTITE_ASSIGN_OR_RETURN(std::string arch, ArchitectureOf(9, 0));      // "sm_90a"
//   TEKTITE_ASSIGN_OR_RETURN(std::string ptx, EmitPtx(kernel, arch));
//
// Products and sums stay apart (mul.rn, add.rn): whoever assembles the text cannot fuse them
// either.  The PTX version is the oldest that knows the architecture, so that drivers older than
// the assembler take the text.  Thread-safe.
#ifndef TEKTITE_BACKENDS_GPU_CODEGEN_EMIT_PTX_H_
#define TEKTITE_BACKENDS_GPU_CODEGEN_EMIT_PTX_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::gpu {

// By compute capability; Unimplemented for those that are not in capability_list.inc.
absl::StatusOr<std::string> ArchitectureOf(int major, int minor);

// The shared memory that a block may take there; 0 for an architecture that ArchitectureOf never
// returns.
int64_t MostSharedBytes(absl::string_view architecture);

// Unimplemented for an architecture that ArchitectureOf never returns, and for a kernel that takes
// more shared memory than there is.
absl::StatusOr<std::string> EmitPtx(const loop::Kernel& kernel, absl::string_view architecture);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_CODEGEN_EMIT_PTX_H_
