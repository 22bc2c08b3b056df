// A kernel for one kind of card: PTX, and its machine code where this machine can assemble it.
//
//   TEKTITE_ASSIGN_OR_RETURN(DeviceCode code,
//                            CompileForDevice(kernel, "sm_90a", Assembler::OfThisMachine()));
//   const std::string& image = code.cubin.bytes.empty() ? code.ptx : code.cubin.bytes;
//
// The driver loads either; PTX alone is assembled by the driver, once for each process.
#ifndef TEKTITE_BACKENDS_GPU_CODEGEN_DEVICE_CODE_H_
#define TEKTITE_BACKENDS_GPU_CODEGEN_DEVICE_CODE_H_

#include <string>

#include "absl/status/statusor.h"
#include "backends/gpu/codegen/assembler.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::gpu {

struct DeviceCode {
  std::string ptx;
  Cubin cubin;  // empty without an assembler
};

// The machine code of `ptx`.  Assemblers unroll loops, some beyond what registers hold: a reduction
// of four loads of f32x4 a turn took 64 registers and spilled 20 bytes for sm_120, and 32 with its
// loop as it was.  So where registers spill, and do less with loops as they are, these stay so, in
// `ptx` as well.
absl::StatusOr<Cubin> AssembleInRegisters(std::string* ptx, absl::string_view architecture,
                                          const Assembler& assembler);

// `assembler` may be null.  Errors name the kernel.
absl::StatusOr<DeviceCode> CompileForDevice(const loop::Kernel& kernel,
                                            absl::string_view architecture,
                                            const Assembler* assembler);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_CODEGEN_DEVICE_CODE_H_
