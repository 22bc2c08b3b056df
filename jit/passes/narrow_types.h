// Products whose operands have narrow types: bytes with s32 sums, bf16 with f32 sums.
//
//   if (MultipliesFaster(*product, {DType::kU8, DType::kS8, DType::kS32}, stable, context)) ...
//
// Limits: the back end answers for one product alone, without what is fused with it later.
#ifndef TEKTITE_JIT_PASSES_NARROW_TYPES_H_
#define TEKTITE_JIT_PASSES_NARROW_TYPES_H_

#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "jit/ir/graph.h"
#include "jit/passes/pass.h"

namespace tektite::passes {

struct ProductTypes {
  ir::DType lhs, rhs, sums;
};

// A dot_general or a convolution.
bool IsProduct(const ir::Node& node);

// A reshape or a transpose.
bool IsMoved(const ir::Node& node);

// Terms of each sum; none where that is not known.
std::optional<int64_t> TermsOf(const ir::Node& product);

// Whether the back end's first implementation of the product in these types is the one with
// instructions for them.  `stable`: see StableNodes.
bool MultipliesFaster(const ir::Node& product, const ProductTypes& types,
                      const absl::flat_hash_set<const ir::Node*>& stable,
                      const PassContext& context);

}  // namespace tektite::passes

#endif  // TEKTITE_JIT_PASSES_NARROW_TYPES_H_
