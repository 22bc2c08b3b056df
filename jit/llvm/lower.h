// Lowers loop IR kernels to LLVM IR: a function per kernel with the C signature
//   void name(void* const* buffers, const int64_t* sizes, void* scratch,
//             int64_t begin, int64_t end)
//
// The only rooms that include LLVM headers are jit/llvm and backends/.
// Limits: code for a CPU; there is no thread index, barrier or shared memory.
#ifndef TEKTITE_JIT_LLVM_LOWER_H_
#define TEKTITE_JIT_LLVM_LOWER_H_

#include "absl/status/statusor.h"
#include "jit/llvm/loop_ir.h"

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace tektite::loop {

struct LowerOptions {
  int vector_bytes = 64;  // widest vector register: wider values are split by the math functions
  bool has_fma = true;
};

// Adds the function to `module`; Unimplemented names what has no lowering.
absl::StatusOr<llvm::Function*> Lower(const Kernel& kernel, const LowerOptions& options,
                                      llvm::Module* module);

}  // namespace tektite::loop

#endif  // TEKTITE_JIT_LLVM_LOWER_H_
