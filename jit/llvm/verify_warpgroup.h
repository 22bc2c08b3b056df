// What is wrong with an instruction of warpgroup.h, or with a tensor map; empty: nothing.
//
//   const std::string fault = WarpgroupFault(kernel, instr);
//
// For Verify, which sees to it that operands are there and visible.
#ifndef TEKTITE_JIT_LLVM_VERIFY_WARPGROUP_H_
#define TEKTITE_JIT_LLVM_VERIFY_WARPGROUP_H_

#include <string>

#include "jit/llvm/instr.h"

namespace tektite::loop {

std::string WarpgroupFault(const Kernel& kernel, const Instr& instr);
std::string TensorMapFault(const Kernel& kernel, const TensorMap& map);

}  // namespace tektite::loop

#endif  // TEKTITE_JIT_LLVM_VERIFY_WARPGROUP_H_
