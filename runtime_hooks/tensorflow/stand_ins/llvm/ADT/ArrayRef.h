// Stands in for LLVM's header of that name, which a header of TensorFlow 2.19 includes
// (xla/stream_executor/gpu/tma_metadata.h) and no wheel has.
//
// Why: stream_executor.h, which the hook needs, includes that header for declarations that the hook
// never uses.  LLVM's own would bind the hook to a second LLVM.
// Limits: says no more than those declarations need.  Its folder is searched after TensorFlow's.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_STAND_INS_LLVM_ADT_ARRAYREF_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_STAND_INS_LLVM_ADT_ARRAYREF_H_

namespace llvm {

template <typename T>
class ArrayRef {
 public:
  template <typename List>
  ArrayRef(const List&) {}  // as implicit as the original
};

}  // namespace llvm

#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_STAND_INS_LLVM_ADT_ARRAYREF_H_
