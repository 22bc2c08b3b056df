// The CPU back end for libraries: its kernels are objects, and none needs another library.
//
//   auto backend = MakeObjectBackend(target, "mlp__");
//
// Kernels that are compiled with Tektite (sorting, solvers, ...) become objects that call
// libtektite_kernels.a; those that pack weights are emitted, as calls may have to run them.
#ifndef TEKTITE_BACKENDS_CPU_AOT_OBJECT_BACKEND_H_
#define TEKTITE_BACKENDS_CPU_AOT_OBJECT_BACKEND_H_

#include <memory>
#include <string>

#include "backends/cpu/codegen/cpu_features.h"
#include "jit/backend/backend.h"

namespace tektite::cpu {

// Kernels for AArch64 that pack weights are made for this machine, too, with the same loops.
absl::StatusOr<std::unique_ptr<backend::Backend>> MakeObjectBackend(const NamedTarget& target,
                                                                    const std::string& prefix);
// LLVM's name of the target's kind of machine; empty: this process's.
std::string TripleOf(const NamedTarget& target);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_AOT_OBJECT_BACKEND_H_
