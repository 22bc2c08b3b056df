// The form of attention in the tensor IR: softmax(scores) x values, with scores that come from a
// product of queries and keys through any elementwise work (a scale, a mask).
//
//   %s = dot_general(%query, %key)            [batch..., rows..., keys]
//   %x = ... %s ...                           elementwise
//   %m = reduce(%x) {dimensions = [last], reducer = "max"}
//   %e = exp(sub(%x, broadcast(%m)))
//   %l = reduce(%e) {dimensions = [last], reducer = "add"}
//   %p = mul(%e, broadcast(1 / %l))           or div(%e, broadcast(%l))
//   %o = dot_general(%p, %value)              [batch..., rows..., columns]
//
// In f16 and bf16 the products are of that type and the softmax is of f32, with a convert on either
// side of it: %x = convert(...), %o = dot_general(convert(%p), %value).
//
// Limits: one dimension of keys, one that is contracted in each product, one of columns; the batch
// dimensions come first and in the same order in both products.  Other users of the nodes are not
// examined.
#ifndef TEKTITE_JIT_OPS_ATTENTION_H_
#define TEKTITE_JIT_OPS_ATTENTION_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/ir/graph.h"

namespace tektite::ops {

struct Attention {
  ir::Node* scores = nullptr;   // the product of queries and keys
  ir::Node* context = nullptr;  // the product with the values
  ir::Value logits;             // what the softmax is of; its shape is that of `scores`
  // From the logits to the context, both left out: the softmax, with what spreads its row values.
  std::vector<ir::Node*> softmax;
  int batch_dims = 0;  // of the scores; then come rows, then one dimension of keys
  // What a fusion of it computes: the context, or its transpose.
  const ir::Node* result = nullptr;
};

// The attention that ends in the product `context`.
std::optional<Attention> FindAttention(ir::Node* context);
// That of a fusion's region; Unimplemented where it is not all there is.
absl::StatusOr<Attention> AttentionOf(const ir::Graph& region);

}  // namespace tektite::ops

#endif  // TEKTITE_JIT_OPS_ATTENTION_H_
