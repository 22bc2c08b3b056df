// A kernel that is compiled with Tektite as an object of a library: a function that calls the
// kernels' own archive (library_archive.h) with the op as numbers.
//
//   auto kernel = MakeLibraryObject(fusion, "mlp.native.k3_sort", ready, &emitter);
//
// Of known sizes its chunks are the kernel's; of open ones it is one chunk, which one thread runs,
// since what sizes decide is known in the call alone.
#ifndef TEKTITE_BACKENDS_CPU_AOT_LIBRARY_OBJECT_H_
#define TEKTITE_BACKENDS_CPU_AOT_LIBRARY_OBJECT_H_

#include <memory>
#include <string>

#include "backends/cpu/codegen/emit_object.h"
#include "jit/aot/object_kernel.h"
#include "jit/ir/graph.h"

namespace tektite::cpu {

// `ready`: the same kernel in this process.
absl::StatusOr<std::shared_ptr<const aot::ObjectKernel>> MakeLibraryObject(
    const ir::Node& fusion, const std::string& symbol,
    std::shared_ptr<const backend::HostKernel> ready, ObjectEmitter* emitter);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_AOT_LIBRARY_OBJECT_H_
