// The back end for GPUs, on a device that is interpreted.
//
//   compiler_options.own_backend = [] { return CreateInterpretedGpu(compile_for_host); };
//
// Kernels are emitted for a card (emit/emitter.h) and run on the host, which checks each access
// (interpreter/interpreted_kernel.h).  Kinds of fusions without a kernel are refused.
//
// Who wants to see the kernels, such as a test that assembles them for a card, passes a check.
//
// Limits: for tests; no images; of the ways to make a kernel, what the tuner chooses from is not
// offered.
#ifndef TEKTITE_TESTS_GPU_INTERPRETER_INTERPRETED_GPU_H_
#define TEKTITE_TESTS_GPU_INTERPRETER_INTERPRETED_GPU_H_

#include <functional>
#include <memory>

#include "backends/gpu/emit/emitter.h"
#include "jit/backend/backend.h"
#include "jit/llvm/loop_ir.h"
#include "tests/gpu/interpreter/lane_functions.h"

namespace tektite::gpu {

// Sees every kernel before it runs; an error refuses it.  Called by several threads at once.
using KernelCheck = std::function<absl::Status(const ir::Node& fusion, const loop::Kernel& kernel)>;

// `compile`: for what single instructions compute (lane_functions.h).
std::unique_ptr<backend::Backend> CreateInterpretedGpu(HostCompiler compile,
                                                       KernelCheck check = nullptr,
                                                       const EmitOptions& options = {});

}  // namespace tektite::gpu

#endif  // TEKTITE_TESTS_GPU_INTERPRETER_INTERPRETED_GPU_H_
