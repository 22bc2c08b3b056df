// Attention that cuDNN computes on a card.
//
//   TEKTITE_ASSIGN_OR_RETURN(auto made, PreparedAttention::Create(library, call));
//   made->Tell(buffers, workspace, stream);
//
// The library has fused engines for a graph (operation_graph.h) of this form alone, and compiles
// one when it makes a plan, which takes some 400 ms:
//
//   scores = query x key; scale; largest, exp, sum, quotient; weights x value
//
// The logarithm of the sum, beside the largest logit, is part of the form though nothing reads it.
#ifndef TEKTITE_BACKENDS_GPU_CUDNN_PREPARED_ATTENTION_H_
#define TEKTITE_BACKENDS_GPU_CUDNN_PREPARED_ATTENTION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/gpu/cudnn/attention_call.h"
#include "backends/gpu/cudnn/operation_graph.h"
#include "backends/gpu/driver/library_call.h"

namespace tektite::gpu {

class PreparedAttention final : public LibraryCall {
 public:
  // Unimplemented where the library has no engine for it that keeps our numbers.
  static absl::StatusOr<std::shared_ptr<const PreparedAttention>> Create(
      std::shared_ptr<CudnnOnCard> library, AttentionCall call);

  absl::string_view library() const override;
  std::string description() const override { return call_.Write(); }
  int num_buffers() const override { return call_.operands + 1; }
  int64_t workspace_bytes() const override { return WithRoomToAlign(graph_.workspace_bytes()); }
  int64_t moved_bytes() const override;
  absl::Status Tell(absl::Span<const CuAddress> addresses, CuAddress workspace,
                    CuStream stream) const override;

 private:
  // Of the tensors that are no operations' results alone; those follow.
  enum Id : int64_t { kQuery = 1, kKey, kValue, kResult, kScale, kNothing, kOffset, kFirst };
  using Sizes = std::vector<int64_t>;

  PreparedAttention(std::shared_ptr<CudnnOnCard> library, AttentionCall call);
  // An operation's result: of the scores' sizes, or one for each row.
  absl::StatusOr<DnnDescriptor> Virtual(DnnNumber dtype, bool is_of_rows = false);
  absl::StatusOr<DnnDescriptor> Passed(Id id, DnnNumber dtype);
  absl::StatusOr<DnnDescriptor> Pointwise(DnnNumber mode, DnnDescriptor x,
                                          DnnDescriptor b = nullptr, DnnNumber dtype = kDnnF32);
  absl::StatusOr<DnnDescriptor> OfRows(DnnNumber reduction, DnnDescriptor x);
  absl::Status Multiply(DnnDescriptor a, DnnDescriptor b, DnnDescriptor c);
  absl::StatusOr<DnnDescriptor> Masked(DnnDescriptor logits);
  absl::StatusOr<DnnDescriptor> Logits();
  absl::StatusOr<DnnDescriptor> Weights(DnnDescriptor logits);
  absl::Status AddOperations();

  const AttentionCall call_;
  const Sizes space_;  // of the scores
  OperationGraph graph_;
  int64_t next_id_ = kFirst;
  // Passed by address with each launch.
  const float scale_, nothing_;
  const int32_t offset_;
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_CUDNN_PREPARED_ATTENTION_H_
