// Whether a tensor's floats are all finite; tensors of other types are.
//
//   if (!IsFinite(tensor)) ...
//
// Limits: in the host's memory.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_FINITE_TENSOR_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_FINITE_TENSOR_H_

#include "tensorflow/core/framework/tensor.h"

namespace tektite::tf_hook {

bool IsFinite(const tensorflow::Tensor& tensor);

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_FINITE_TENSOR_H_
