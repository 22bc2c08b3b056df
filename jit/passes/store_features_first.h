// Stores a convolution's filter as [features][window][channels], which is how libraries for GPUs
// read it: a transposition in a fusion of its own, which runs once where the filter is a weight.
//
//   before  fusion(%x, %w: f32[3,3,8,16]) {kind = contraction}:
//             convolution(%0, %1) {kernel_layout = "01io"}
//   after   %t: f32[16,3,3,8] = fusion(%w) {kind = loop}: transpose(%0) {permutation = [3,0,1,2]}
//           fusion(%x, %t) {kind = contraction}: convolution(%0, %1) {kernel_layout = "o01i"}
//
// Features are those of the forward pass: a convolution whose input is spread out counts them in
// its filter's input features.  The gradient of a filter (ops/filter_gradient.h) has its result
// transposed, from the order of the library to that of the graph.
#ifndef TEKTITE_JIT_PASSES_STORE_FEATURES_FIRST_H_
#define TEKTITE_JIT_PASSES_STORE_FEATURES_FIRST_H_

#include "absl/status/statusor.h"
#include "jit/ir/graph.h"

namespace tektite::passes {

// `fusion` is of kind contraction and holds a convolution of parameters.  Returns the fusion that
// holds the convolution afterwards; `fusion` itself where nothing had to be done, or where the
// gradient of a filter does not stand alone.
absl::StatusOr<ir::Node*> StoreFeaturesFirst(ir::Graph& graph, ir::Node* fusion);

}  // namespace tektite::passes

#endif  // TEKTITE_JIT_PASSES_STORE_FEATURES_FIRST_H_
