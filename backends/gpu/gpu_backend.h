// The back end for GPUs, on a device that is interpreted.
//
//   compiler_options.own_backend = [] { return CreateInterpretedGpu(compile_for_host); };
//
// Kernels are emitted for a card (emit/emitter.h) and run on the host, which checks each access
// (interpreter/interpreted_kernel.h).  Kinds of fusions without a kernel are refused.
//
// Limits: for tests; no images; ways to make a kernel are not offered for choice.
#ifndef TEKTITE_BACKENDS_GPU_GPU_BACKEND_H_
#define TEKTITE_BACKENDS_GPU_GPU_BACKEND_H_

#include <memory>

#include "backends/gpu/interpreter/lane_functions.h"
#include "jit/backend/backend.h"

namespace tektite::gpu {

// `compile`: for what single instructions compute (lane_functions.h).
std::unique_ptr<backend::Backend> CreateInterpretedGpu(HostCompiler compile);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_GPU_BACKEND_H_
