// Stands in for LLVM's header of that name: see ArrayRef.h beside it.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_STAND_INS_LLVM_ADT_SMALLVECTOR_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_STAND_INS_LLVM_ADT_SMALLVECTOR_H_

namespace llvm {

template <typename T, unsigned kInlined = 0>
class SmallVector {};

}  // namespace llvm

#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_STAND_INS_LLVM_ADT_SMALLVECTOR_H_
