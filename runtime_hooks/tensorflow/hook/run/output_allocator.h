// The memory of a cluster's large results: TensorFlow's Allocator in front of a BlockPool.
//
// Why: see block_pool.h.  A result outlives the call, so it cannot come from the cluster's arena.
// Where TensorFlow uses oneDNN, its allocator keeps large blocks itself (no page fault a call for
// two results of 8 MB); where it does not, they come from malloc (290 to 570 page faults a call).
//
//   Tensor output;
//   if (!AllocatePooled(ctx, index, dtype, shape, &output)) ctx->allocate_temp(...);
//
// Limits: the device's own allocator serves results below 64 KiB, memory that a device wants to
// reach, steps whose memory is being tracked (profiling), and devices whose allocator pools.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_OUTPUT_ALLOCATOR_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_OUTPUT_ALLOCATOR_H_

#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"

namespace tektite::tf_hook {

// False when the tensor is not one for the pool, or there is no memory.
bool AllocatePooled(tensorflow::OpKernelContext* context, int index, tensorflow::DataType dtype,
                    const tensorflow::TensorShape& shape, tensorflow::Tensor* output);

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_OUTPUT_ALLOCATOR_H_
