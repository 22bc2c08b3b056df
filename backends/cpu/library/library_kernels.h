// Kernels that are compiled with this library instead of at run time: sorting, selections,
// look-ups, suppression of overlapping boxes, Fourier transforms, factorizations of matrices.
//
//   TEKTITE_ASSIGN_OR_RETURN(auto kernel, MakeLibraryKernel(fusion));
//   kernel->Run(frame, 0, kernel->Configure({}).num_chunks);
//
// Why: what they do is decided by the data, comparison by comparison, so that code made for one
// shape gains nothing over a template of the element type.  Transforms and factorizations are long
// programs whose inner loops the C++ compiler vectorizes as well.  They take a fusion of one op
// whose operands are the fusion's own.  With symbols, one is made for each set of sizes that comes
// (sized_at_launch.h).
#ifndef TEKTITE_BACKENDS_CPU_LIBRARY_LIBRARY_KERNELS_H_
#define TEKTITE_BACKENDS_CPU_LIBRARY_LIBRARY_KERNELS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/backend/backend.h"
#include "jit/ir/graph.h"

namespace tektite::cpu {

// Unimplemented for anything else.
absl::Status CheckLibraryKernel(const ir::Node& fusion);
absl::StatusOr<std::shared_ptr<const backend::HostKernel>> MakeLibraryKernel(
    const ir::Node& fusion);

// The numbers that KernelOfWords makes the kernel of; symbolic where the fusion's sizes are.
absl::StatusOr<std::vector<ir::Dim>> LibraryWords(const ir::Node& fusion);
// Lines that must be no longer than `most`.
struct LongestLine {
  ir::Dim length;
  int64_t most;
};
std::vector<LongestLine> LongestLinesOf(const ir::Node& fusion);

// Packs weights behind some later call (jit/passes/assign_layouts.cc).
absl::Status CheckWeightPanels(const ir::Node& fusion);
absl::StatusOr<std::shared_ptr<const backend::HostKernel>> MakeWeightPanels(const ir::Node& fusion);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_LIBRARY_LIBRARY_KERNELS_H_
