// The right-hand side of a contraction as a matrix [k, n] that can be packed into panels, and what
// the back end offers for contractions of weights that no graph holds yet.
#ifndef TEKTITE_JIT_PASSES_WEIGHT_LAYOUT_H_
#define TEKTITE_JIT_PASSES_WEIGHT_LAYOUT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "jit/ir/graph.h"
#include "jit/passes/pass.h"
#include "jit/target/schedules.h"

namespace tektite::passes {

// A permutation of the right-hand side's dimensions, and how many of them, in the new order, make
// up k.
struct MatrixView {
  std::vector<int64_t> permutation;
  int k_dims = 0;
  bool valid = false;
};

// Of a dot_general or a convolution without batches or groups; not valid for any other.
MatrixView RhsAsMatrix(const ir::Node& contraction);

// The fusion's operand that is the right-hand side of its contraction, if that can be packed: it is
// read as it comes, its shape is known, and it is a matrix with elements.
std::optional<int> PackableRhs(const ir::Node& fusion);

// The back end's answers for a fusion of kind contraction with this region; none where it has one
// way to make any kernel.  `is_stable`: the right-hand side is the same in every call, and so
// weights if it can be packed; `runs` as in target::Facts.
std::vector<target::Offer> OffersFor(std::unique_ptr<ir::Graph> region, bool is_stable,
                                     int64_t runs, const PassContext& context);

}  // namespace tektite::passes

#endif  // TEKTITE_JIT_PASSES_WEIGHT_LAYOUT_H_
