#include "backends/gpu/codegen/device_code.h"

#include <utility>

#include "backends/gpu/codegen/emit_ptx.h"
#include "jit/base/status.h"

namespace tektite::gpu {

absl::StatusOr<DeviceCode> CompileForDevice(const loop::Kernel& kernel,
                                            absl::string_view architecture,
                                            const Assembler* assembler) {
  DeviceCode code;
  TEKTITE_ASSIGN_OR_RETURN(code.ptx, EmitPtx(kernel, architecture));
  if (assembler == nullptr) return code;
  absl::StatusOr<Cubin> cubin = assembler->Assemble(code.ptx, architecture);
  if (!cubin.ok()) {
    return Internal("kernel ", kernel.name(), ": ", cubin.status().message());
  }
  code.cubin = *std::move(cubin);
  return code;
}

}  // namespace tektite::gpu
