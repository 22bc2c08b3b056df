// The CPU back end: fusions become loop IR, LLVM makes machine code of it, which is copied into
// executable memory.
//
//   TEKTITE_ASSIGN_OR_RETURN(auto backend, cpu::CreateCpuBackend(flags));
//   auto kernel = backend->Compile(fusion, options);    // Unimplemented: ask the next back end
//
// Reads the flag --cpu.
#ifndef TEKTITE_BACKENDS_CPU_CPU_BACKEND_H_
#define TEKTITE_BACKENDS_CPU_CPU_BACKEND_H_

#include <memory>

#include "absl/status/statusor.h"
#include "jit/backend/backend.h"
#include "jit/base/flags.h"

namespace tektite::cpu {

absl::StatusOr<std::unique_ptr<backend::Backend>> CreateCpuBackend(const Flags& flags);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CPU_BACKEND_H_
