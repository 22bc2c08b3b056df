// What is wrong with a product of a warp (warp_matrix.h), an instruction of warpgroup.h, or a
// tensor map; empty: nothing.
//
//   const std::string fault = WarpgroupFault(kernel, instr);
//
// For Verify, which sees to it that operands are there and visible.
#ifndef TEKTITE_JIT_LLVM_VERIFY_WARPGROUP_H_
#define TEKTITE_JIT_LLVM_VERIFY_WARPGROUP_H_

#include <string>

#include "jit/llvm/instr.h"

namespace tektite::loop {

// Whether warp_multiply and load_matrices take elements of this type.
bool IsMatrixType(DType dtype);
std::string WarpMultiplyFault(const Instr& instr);
// Of a device.
std::string DotBytesFault(const Instr& instr);
std::string WarpgroupFault(const Kernel& kernel, const Instr& instr);
std::string TensorMapFault(const Kernel& kernel, const TensorMap& map);

}  // namespace tektite::loop

#endif  // TEKTITE_JIT_LLVM_VERIFY_WARPGROUP_H_
