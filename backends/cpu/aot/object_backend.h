// The CPU back end for libraries: its kernels are objects, and none needs another library.
//
//   auto backend = MakeObjectBackend(target, "mlp__", /*runs_here=*/true);
//
// Kernels that are compiled with Tektite (packing weights, sorting, ...) are what they are
// elsewhere: they can run here, while a library is made, and in no library.
#ifndef TEKTITE_BACKENDS_CPU_AOT_OBJECT_BACKEND_H_
#define TEKTITE_BACKENDS_CPU_AOT_OBJECT_BACKEND_H_

#include <memory>
#include <string>

#include "jit/backend/backend.h"
#include "jit/target/target_info.h"

namespace tektite::cpu {

// `runs_here`: this machine has all instructions of the target.
absl::StatusOr<std::unique_ptr<backend::Backend>> MakeObjectBackend(
    const target::TargetInfo& target, const std::string& prefix, bool runs_here);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_AOT_OBJECT_BACKEND_H_
