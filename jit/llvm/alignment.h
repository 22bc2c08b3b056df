// Of which power of two an index or an address is a multiple, as far as the code shows.
//
//   KnownMultiple(b.Mul(i, b.Index(12)))        // 4
//   KnownAlignment(pointer, index)              // in bytes, for an access at pointer[index]
//
// A GPU reads and writes 16 bytes at once only where their address is a multiple of 16.  Emitters
// choose their indices so that it is, and the lowering finds it out here; nothing is declared.
#ifndef TEKTITE_JIT_LLVM_ALIGNMENT_H_
#define TEKTITE_JIT_LLVM_ALIGNMENT_H_

#include "jit/llvm/loop_ir.h"

namespace tektite::loop {

// At most 64.
int64_t KnownMultiple(Value index);
// Scratch begins at a multiple of 64, buffers and shared memory at one of 16: a buffer may be a
// part of another one (TargetInfo::operand_alignment).
int64_t KnownAlignment(Value pointer, DType dtype, Value index);
// The buffer that a pointer leads into, or null where that is open (a choice between pointers), for
// scratch and shared memory.
const BufferInfo* BufferOf(const Kernel& kernel, Value pointer);

}  // namespace tektite::loop

#endif  // TEKTITE_JIT_LLVM_ALIGNMENT_H_
