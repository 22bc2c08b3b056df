// The back end for NVIDIA's GPUs.
//
//   TEKTITE_ASSIGN_OR_RETURN(auto backend, CreateGpuBackend(flags));     // --device=gpu:1
//   auto kernel = backend->Compile(fusion, options);
//
// Kernels are emitted (emit/emitter.h), become PTX and, where an assembler is at hand, a cubin
// (codegen/device_code.h), and are loaded by the driver (driver/card.h).  Products may be
// cuBLASLt's, convolutions and attention cuDNN's where the machine has these libraries and a rule
// says that they are faster (implementation_list.h).
// All back ends of a process for the same card and bound on its memory share one Card.
//
// Reads the flags --device, --device_memory_mb and --f32_products.  Unavailable with one line
// where there is no card or no driver for it; Unimplemented for a card of a generation that no code
// is made for.
#ifndef TEKTITE_BACKENDS_GPU_CARD_BACKEND_H_
#define TEKTITE_BACKENDS_GPU_CARD_BACKEND_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/gpu/codegen/assembler.h"
#include "backends/gpu/codegen/device_code.h"
#include "backends/gpu/cublaslt/cublaslt.h"
#include "backends/gpu/cudnn/cudnn.h"
#include "backends/gpu/driver/card.h"
#include "backends/gpu/emit/emitter.h"
#include "jit/backend/backend.h"
#include "jit/base/flags.h"

namespace tektite::gpu {

absl::StatusOr<std::unique_ptr<backend::Backend>> CreateGpuBackend(const Flags& flags);

// Sees what was compiled: the fusion, what was emitted for it, and the code of each launch as it is
// loaded.
using CompiledHook = std::function<void(const ir::Node& fusion, EmittedKernel emitted,
                                        absl::Span<const DeviceCode> codes)>;

struct CardOptions {
  CompiledHook hook;
  bool tf32 = false;                   // EmitOptions'
  const CublasLt* products = nullptr;  // null: our own kernels alone
  const Cudnn* cudnn = nullptr;
  Warpgroups warpgroups = Warpgroups::kWhereLarge;  // EmitOptions', where the card has them
};

// `assembler` may be null.
absl::StatusOr<std::unique_ptr<backend::Backend>> CreateCardBackend(std::shared_ptr<Card> card,
                                                                    const Assembler* assembler,
                                                                    CardOptions options = {});

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_CARD_BACKEND_H_
