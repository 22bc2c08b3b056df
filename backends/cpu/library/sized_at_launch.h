// A kernel for every size, made of kernels for one size each, which are made when they are needed.
//
//   TEKTITE_ASSIGN_OR_RETURN(auto kernel, SizedAtLaunch(fusion, &MakeLibraryKernel));
//
// For kernels that cost next to nothing to make: templates that are compiled with this library and
// hold their sizes as members.  A few sizes' kernels are kept; making one takes some microseconds.
#ifndef TEKTITE_BACKENDS_CPU_LIBRARY_SIZED_AT_LAUNCH_H_
#define TEKTITE_BACKENDS_CPU_LIBRARY_SIZED_AT_LAUNCH_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "jit/backend/backend.h"
#include "jit/ir/graph.h"

namespace tektite::cpu {

using KernelMaker =
    std::function<absl::StatusOr<std::shared_ptr<const backend::HostKernel>>(const ir::Node&)>;

// `fusion` has symbols; `make` gets a copy without them.  A fusion that `make` refuses for some
// sizes it must refuse for all: it is asked once here.
absl::StatusOr<std::shared_ptr<const backend::HostKernel>> SizedAtLaunch(const ir::Node& fusion,
                                                                         KernelMaker make);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_LIBRARY_SIZED_AT_LAUNCH_H_
