// Kernels made around one op (a contraction, a window) with an elementwise epilogue: the end of a
// result's computation, and kernels in which each result is a thread's.
//
//   TEKTITE_RETURN_IF_ERROR(CheckResults(region, root));
//   ForEachResult(b, root, [&](const Indices& at) {
//     status.Update(StoreResults(b, region, root, at, sum, /*lanes=*/1));
//   });
//
// The epilogue's space is the root's, or the same elements in other dimensions.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_ROOT_EPILOGUE_H_
#define TEKTITE_BACKENDS_GPU_EMIT_ROOT_EPILOGUE_H_

#include <functional>

#include "absl/status/status.h"
#include "backends/gpu/emit/contraction/contraction_view.h"
#include "jit/ir/graph.h"
#include "jit/llvm/emit/element_emitter.h"

namespace tektite::gpu {

// Unimplemented if the results differ in shape, or in size from `root`.
absl::Status CheckResults(const ir::Graph& region, const ir::Node& root);

// Sets the launch; `body` gets a place in the root's result.
void ForEachResult(loop::Builder& b, const ir::Node& root,
                   const std::function<void(const loop::Indices& at)>& body);

// Computes and stores the region's results where the root is `value`: `lanes` neighbours from `at`
// on, the last index of which goes by the lane.
absl::Status StoreResults(loop::Builder& b, const ir::Graph& region, const ir::Node& root,
                          loop::Indices at, loop::Value value, int lanes);

// The same for the sum of a contraction at row `m` and columns from `n` on of its result, numbers
// below sizes that RequireNarrow was called with.
absl::Status StoreSum(loop::Builder& b, const ir::Graph& region, const ContractionView& view,
                      loop::Indices batch, loop::Value m, loop::Value n, loop::Value sum,
                      int64_t lanes);
absl::Status StoreSumAt(loop::Builder& b, const ir::Graph& region, const ContractionView& view,
                        const ContractionIndex& index, loop::Value sum, int64_t lanes);

// Neighbours in a row of a contraction's result that are stored at once: a power of two, at most
// `most`.
int64_t ResultLanes(const ir::Graph& region, const ContractionView& view, int64_t most);

// A linear index (s64) as one for each dimension, the last of which goes by the lane.
loop::Indices SplitIndex(loop::Builder& b, loop::Value linear, const ir::Dims& sizes,
                         int64_t lanes = 1);
// The same for an index below a size that RequireNarrow was called with.
loop::Indices SplitNarrowIndex(loop::Builder& b, loop::Value linear, const ir::Dims& sizes,
                               int64_t lanes = 1);
// The kernel does not fit a call in which `size`, or what a tile rounds it up to, is 2^31 or more;
// Unimplemented where it is known to be.
absl::Status RequireNarrow(loop::Kernel& kernel, const ir::Dim& size);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_ROOT_EPILOGUE_H_
