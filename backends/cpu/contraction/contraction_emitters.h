// Kernels of dot_general and convolution; backends/cpu/implementation_list.cc says in which order
// they are preferred.
#ifndef TEKTITE_BACKENDS_CPU_CONTRACTION_CONTRACTION_EMITTERS_H_
#define TEKTITE_BACKENDS_CPU_CONTRACTION_CONTRACTION_EMITTERS_H_

#include <string>

#include "absl/status/statusor.h"
#include "backends/cpu/emit/emitter.h"
#include "jit/ir/graph.h"
#include "jit/target/schedules.h"

namespace tektite::cpu {

// dot_general, and convolution as a matrix product over addressed rows: register tiles, epilogue on
// the accumulators.
absl::StatusOr<EmittedKernel> EmitTiles(const ir::Node& fusion, const target::Schedule& schedule,
                                        const Target& target, const std::string& name);

// The same for pairs of bf16 (pair_tiling.h).
absl::StatusOr<EmittedKernel> EmitPairs(const ir::Node& fusion, const target::Schedule& schedule,
                                        const Target& target, const std::string& name);

// dot_general with at most four rows, whose right-hand side is read once, from where it lies or in
// panels.
absl::StatusOr<EmittedKernel> EmitStreamedProduct(const ir::Node& fusion,
                                                  const target::Schedule& schedule,
                                                  const Target& target, const std::string& name);

// 3x3 convolution by Winograd's algorithm, where that is estimated to be faster
// (winograd_tiling.h).
absl::StatusOr<EmittedKernel> EmitWinograd(const ir::Node& fusion, const target::Schedule& schedule,
                                           const Target& target, const std::string& name);

// Convolution of groups, depthwise ones among them, vectorized over features.
absl::StatusOr<EmittedKernel> EmitGrouped(const ir::Node& fusion, const target::Schedule& schedule,
                                          const Target& target, const std::string& name);

// The gradient of the filter of one, vectorized over features.
absl::StatusOr<EmittedKernel> EmitGroupedFilter(const ir::Node& fusion,
                                                const target::Schedule& schedule,
                                                const Target& target, const std::string& name);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CONTRACTION_CONTRACTION_EMITTERS_H_
