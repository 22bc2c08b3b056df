// A fusion that is attention as cuDNN computes it, and nothing else.
//
//   TEKTITE_ASSIGN_OR_RETURN(AttentionCall call, AttentionCall::Of(fusion));
//   call.ToString();           // "bf16 attention of 8 x 12 x 512 rows to 512 keys, 64 -> 64,
//   causal"
//
// softmax(scale * query x key) x value of f16 or bf16 and static sizes, with up to two dimensions
// of batch (heads are the inner one), and perhaps a causal mask.  Rows of each operand and of the
// result are whole in memory; their other strides are free, so that transposes before and behind
// the products cost nothing.
//
// cuDNN keeps scores in f32 on the way, where our operations round each result to f16 or bf16. What
// is added to scores is left to our own kernels: on an H200 cuDNN 9.19 returns zeros for a row
// whose logits are all -inf, or below -2.4e38, where a softmax is NaN, or the mean.
#ifndef TEKTITE_BACKENDS_GPU_CUDNN_ATTENTION_CALL_H_
#define TEKTITE_BACKENDS_GPU_CUDNN_ATTENTION_CALL_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/gpu/library_operands.h"
#include "jit/ir/graph.h"

namespace tektite::gpu {

// lhs: queries; rhs: keys; no bias.
struct AttentionCall : LibraryOperands {
  int value = 2;
  ir::DType dtype = ir::DType::kBF16;
  int64_t batch = 1, heads = 1, rows = 1, keys = 1, width = 1, columns = 1;
  // Between neighbours of batch, heads and rows (or keys), in elements.
  using Strides = std::array<int64_t, 3>;
  Strides query_strides = {}, key_strides = {}, value_strides = {}, result_strides = {};
  double scale = 1;
  bool causal = false;
  int64_t offset = 0;  // keys up to row + offset are seen; at least 0

  // Unimplemented, with a reason, for any other fusion.
  static absl::StatusOr<AttentionCall> Of(const ir::Node& fusion);

  std::string ToString() const;
  std::string Write() const;
  // InvalidArgument for bytes that are none.
  static absl::StatusOr<AttentionCall> Read(absl::string_view bytes);
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_CUDNN_ATTENTION_CALL_H_
