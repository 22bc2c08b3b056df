#include "backends/gpu/codegen/device_code.h"

#include <utility>

#include "backends/gpu/codegen/emit_ptx.h"
#include "jit/base/status.h"

namespace tektite::gpu {

absl::StatusOr<Cubin> AssembleInRegisters(std::string* ptx, absl::string_view architecture,
                                          const Assembler& assembler) {
  TEKTITE_ASSIGN_OR_RETURN(Cubin cubin, assembler.Assemble(*ptx, architecture));
  if (cubin.resources.spilled_bytes() == 0) return cubin;
  const std::string head = ".address_size 64\n";
  const size_t at = ptx->find(head);
  if (at == ptx->npos) return cubin;
  std::string rolled = *ptx;
  rolled.insert(at + head.size(), ".pragma \"nounroll\";\n");
  TEKTITE_ASSIGN_OR_RETURN(Cubin other, assembler.Assemble(rolled, architecture));
  if (other.resources.spilled_bytes() >= cubin.resources.spilled_bytes()) return cubin;
  *ptx = std::move(rolled);
  return other;
}

absl::StatusOr<DeviceCode> CompileForDevice(const loop::Kernel& kernel,
                                            absl::string_view architecture,
                                            const Assembler* assembler) {
  DeviceCode code;
  TEKTITE_ASSIGN_OR_RETURN(code.ptx, EmitPtx(kernel, architecture));
  if (assembler == nullptr) return code;
  absl::StatusOr<Cubin> cubin = AssembleInRegisters(&code.ptx, architecture, *assembler);
  if (!cubin.ok()) {
    return Internal("kernel ", kernel.name(), ": ", cubin.status().message());
  }
  code.cubin = *std::move(cubin);
  return code;
}

}  // namespace tektite::gpu
