// Lowers loop IR kernels to LLVM IR: a function per kernel.  Of a kernel for the host it has the C
// signature
//   void name(void* const* buffers, const int64_t* sizes, void* scratch,
//             int64_t begin, int64_t end)
// and of one for a device (a module for nvptx64)
//   ptx_kernel void name(const uint64_t* frame)
// where the frame, in the device's memory, holds the buffers' addresses, the scratch's, and then
// the table of sizes (FrameWords); tensor maps lie behind it (TensorMapsAt).  So what changes from
// call to call is data, and a recorded launch never has to be updated.
//
// The only rooms that include LLVM headers are jit/llvm and backends/.
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
  // Widest vector register: wider values are split by the math functions.  At most a lane's bytes:
  // they work on single lanes.
  int vector_bytes = 64;
  bool has_fma = true;
};

// 8-byte words of the frame of a kernel for a device, without tensor maps.
int FrameWords(const Kernel& kernel);
// Where in the frame, which begins at a multiple of a map's bytes, the tensor maps lie: in bytes.
int64_t TensorMapsAt(const Kernel& kernel);
// Bytes of shared memory that a launch of such a kernel asks for.  A module cannot declare more
// than 48 KiB; of a kernel that needs no more the module declares all of it, and a launch asks for
// none.
int64_t DynamicSharedBytes(const Kernel& kernel);

// Adds the function to `module`; Unimplemented names the instruction that has no lowering.
absl::StatusOr<llvm::Function*> Lower(const Kernel& kernel, const LowerOptions& options,
                                      llvm::Module* module);

}  // namespace tektite::loop

#endif  // TEKTITE_JIT_LLVM_LOWER_H_
