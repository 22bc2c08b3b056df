// The CPU back end: fusions become loop IR, LLVM makes machine code of it, which is copied into
// executable memory.
//
//   TEKTITE_ASSIGN_OR_RETURN(auto backend, cpu::CreateCpuBackend(flags));
//   auto kernel = backend->Compile(fusion, options);    // Unimplemented: ask the next back end
//
// From flags it reads --cpu, --f32_products and --jit_names.
#ifndef TEKTITE_BACKENDS_CPU_CPU_BACKEND_H_
#define TEKTITE_BACKENDS_CPU_CPU_BACKEND_H_

#include <memory>

#include "absl/status/statusor.h"
#include "backends/cpu/codegen/code_linker.h"
#include "jit/backend/backend.h"
#include "jit/base/flags.h"
#include "jit/target/target_info.h"

namespace tektite::cpu {

absl::StatusOr<std::unique_ptr<backend::Backend>> CreateCpuBackend(const Flags& flags);
// For a machine like this one but for what `target` says of it (codegen/cpu_features.h).
absl::StatusOr<std::unique_ptr<backend::Backend>> CreateCpuBackendFor(
    const target::TargetInfo& target, const CodeLinker::Options& linking = {});

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CPU_BACKEND_H_
