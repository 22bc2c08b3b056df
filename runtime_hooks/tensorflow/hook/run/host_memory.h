// TensorFlow's memory for the compiler: packed weights and arenas come out of its allocator.
//
// Why: where TensorFlow uses oneDNN, its allocator never returns large blocks to the system. When
// compiled code takes over, the variables' initial values and the memory of TensorFlow's own
// kernels lie idle there, 135 MiB of a BERT-base, and nothing else can use them.
//
//   OfferMemory(&options);
//   library->compiler_create(&options, &status);
//
// Limits: blocks that such an allocator would take from malloc, and any other allocator, are left
// to the compiler's own means, and so is everything once TensorFlow is near its limit
// (TF_MKL_ALLOC_MAX_BYTES): it would wait ten seconds before it says no.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_HOST_MEMORY_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_HOST_MEMORY_H_

#include "runtime_hooks/c_api/tektite.h"
#include "tensorflow/core/framework/allocator.h"

namespace tektite::tf_hook {

// Whether it keeps large blocks that are freed for later ones.
bool KeepsBlocks(tensorflow::Allocator* allocator);

// Sets the fields that name TensorFlow's memory, where its allocator keeps blocks.
void OfferMemory(tektite_options* options);

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_HOST_MEMORY_H_
