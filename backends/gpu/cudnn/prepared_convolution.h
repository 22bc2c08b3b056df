// Convolutions that cuDNN computes on a card.
//
//   TEKTITE_ASSIGN_OR_RETURN(auto made, PreparedConvolution::Create(library, call));
//   made->Tell(buffers, workspace, stream);
//
// A convolution is a graph of one operation (operation_graph.h).  f32 is rounded to TF32
// only with --f32_products=tf32.
#ifndef TEKTITE_BACKENDS_GPU_CUDNN_PREPARED_CONVOLUTION_H_
#define TEKTITE_BACKENDS_GPU_CUDNN_PREPARED_CONVOLUTION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/gpu/cudnn/convolution_call.h"
#include "backends/gpu/cudnn/operation_graph.h"
#include "backends/gpu/driver/library_call.h"

namespace tektite::gpu {

class PreparedConvolution final : public LibraryCall {
 public:
  // Unimplemented where the library has no engine for it that keeps our numbers.
  static absl::StatusOr<std::shared_ptr<const PreparedConvolution>> Create(
      std::shared_ptr<CudnnOnCard> library, ConvolutionCall call);

  absl::string_view library() const override;
  std::string description() const override { return call_.Write(); }
  int num_buffers() const override { return call_.operands + 1; }
  int64_t workspace_bytes() const override { return WithRoomToAlign(graph_.workspace_bytes()); }
  int64_t moved_bytes() const override;
  absl::Status Tell(absl::Span<const CuAddress> addresses, CuAddress workspace,
                    CuStream stream) const override;

 private:
  // What the graph's tensors are known by.
  enum Id : int64_t { kImage = 1, kFilter, kResult };

  PreparedConvolution(std::shared_ptr<CudnnOnCard> library, ConvolutionCall call);
  absl::StatusOr<DnnDescriptor> MakeTensor(Id id, const std::vector<int64_t>& sizes);
  absl::StatusOr<DnnDescriptor> MakeConvolution();
  absl::Status AddOperation();

  const ConvolutionCall call_;
  OperationGraph graph_;
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_CUDNN_PREPARED_CONVOLUTION_H_
