// Kernels of dot_general and convolution; backends/cpu/emitter_list.cc says in which order they are
// tried.
#ifndef TEKTITE_BACKENDS_CPU_CONTRACTION_CONTRACTION_EMITTERS_H_
#define TEKTITE_BACKENDS_CPU_CONTRACTION_CONTRACTION_EMITTERS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "backends/cpu/emit/emitter.h"
#include "jit/ir/graph.h"

namespace tektite::cpu {

// dot_general, and convolution as a matrix product over addressed rows: register tiles, epilogue on
// the accumulators.
absl::StatusOr<EmittedKernel> EmitContraction(const ir::Node& fusion, const Target& target,
                                              const std::string& name);

// dot_general with at most four rows, whose right-hand side is read once, from where it lies or in
// panels.
absl::StatusOr<EmittedKernel> EmitStreamedProduct(const ir::Node& fusion, const Target& target,
                                                  const std::string& name);

// 3x3 convolution by Winograd's algorithm, where that is estimated to be faster (winograd_plan.h).
absl::StatusOr<EmittedKernel> EmitWinograd(const ir::Node& fusion, const Target& target,
                                           const std::string& name);

// Convolution of groups, depthwise ones among them, vectorized over features.
absl::StatusOr<EmittedKernel> EmitGrouped(const ir::Node& fusion, const Target& target,
                                          const std::string& name);

// The gradient of the filter of one, vectorized over features.
absl::StatusOr<EmittedKernel> EmitGroupedFilter(const ir::Node& fusion, const Target& target,
                                                const std::string& name);

// EmitStreamedProduct has code for this contraction if its right-hand side stays as it is.
bool StreamsRightHandSide(const ir::Node& fusion, const Target& target);
// Packing weights takes as long as some three products of few rows, each of which then saves a
// third.
inline constexpr int64_t kRunsToPackFewRows = 8;
// The panel width that it reads faster than the right-hand side as it is; 0: none.
int64_t StreamedPanelWidth(const ir::Node& fusion, const Target& target);
// Whether its kernel has code for both, and looks in each call which of them is there.
bool StreamsPanelsLater(const ir::Node& fusion, const Target& target);

// The panel width EmitContraction needs for the right-hand side of `fusion`; 0: row-major.
int64_t ContractionPanelWidth(const ir::Node& fusion, const Target& target);
// The pairs of k of those panels; 0: k lies one by one in them.
int64_t ContractionPairs(const ir::Node& fusion, const Target& target);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CONTRACTION_CONTRACTION_EMITTERS_H_
