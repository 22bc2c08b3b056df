// Convolutions that cuDNN computes on a card.
//
//   auto library = std::make_shared<ConvolutionLibrary>(&card, Cudnn::OfThisMachine());
//   TEKTITE_ASSIGN_OR_RETURN(auto made, PreparedConvolution::Create(library, call));
//   made->Tell(buffers, workspace, stream);
//
// A convolution is a graph of one to three operations, for which the library proposes engines in
// the order of its heuristic.  The first one is taken that keeps our numbers and can be planned:
// sums of f32, no operand rounded to fewer bits (f32 to TF32 only with --tf32), nothing that
// depends on the order in which blocks arrive, neither Fourier's nor Winograd's transformation.
// Whether it is faster than our own kernel is for the tuner to measure.
#ifndef TEKTITE_BACKENDS_GPU_CUDNN_PREPARED_CONVOLUTION_H_
#define TEKTITE_BACKENDS_GPU_CUDNN_PREPARED_CONVOLUTION_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/gpu/cudnn/convolution_call.h"
#include "backends/gpu/cudnn/cudnn.h"
#include "backends/gpu/cudnn/descriptor.h"
#include "backends/gpu/driver/library_call.h"

namespace tektite::gpu {

class Card;

// The library's state for one card, made when the first convolution is.  Thread-safe.
class ConvolutionLibrary {
 public:
  // Borrows the card, which must outlive it.
  ConvolutionLibrary(Card* card, const Cudnn* dnn) : card_(*card), dnn_(*dnn) {}
  ~ConvolutionLibrary();
  Card& card() const { return card_; }
  const Cudnn& dnn() const { return dnn_; }
  // The card's context is current.
  absl::StatusOr<DnnHandle> handle();
  // The handle's stream is `stream` meanwhile.
  absl::Status Execute(DnnDescriptor plan, DnnDescriptor arguments, CuStream stream);

 private:
  Card& card_;
  const Cudnn& dnn_;
  std::mutex mutex_;  // guards what follows, and the handle's stream
  DnnHandle handle_ = nullptr;
};

class PreparedConvolution final : public LibraryCall {
 public:
  // An engine that wants more is passed over.
  static constexpr int64_t kMostWorkspace = int64_t{256} << 20;

  // Unimplemented where the library has no engine for it that keeps our numbers.
  static absl::StatusOr<std::shared_ptr<const PreparedConvolution>> Create(
      std::shared_ptr<ConvolutionLibrary> library, ConvolutionCall call);
  ~PreparedConvolution() override;

  absl::string_view library() const override;
  std::string description() const override { return call_.Write(); }
  int num_buffers() const override { return call_.operands + 1; }
  int64_t workspace_bytes() const override { return WithRoomToAlign(workspace_bytes_); }
  int64_t moved_bytes() const override;
  absl::Status Tell(absl::Span<const CuAddress> addresses, CuAddress workspace,
                    CuStream stream) const override;

 private:
  // What the graph's tensors are known by; virtual ones behind them.
  enum Id : int64_t { kImage = 1, kFilter, kResult, kBias, kSum, kBiased };

  PreparedConvolution(std::shared_ptr<ConvolutionLibrary> library, ConvolutionCall call);
  absl::StatusOr<DnnDescriptor> MakeTensor(Id id, const std::vector<int64_t>& sizes,
                                           bool is_virtual);
  absl::StatusOr<DnnDescriptor> MakeConvolution();
  absl::StatusOr<DnnDescriptor> MakeOperation(DnnDescriptor image, DnnDescriptor filter,
                                              DnnDescriptor result);
  absl::StatusOr<DnnDescriptor> MakePointwise(DnnNumber mode, DnnDescriptor x, DnnDescriptor b,
                                              DnnDescriptor y);
  absl::StatusOr<DnnDescriptor> MakeGraph();
  // OK where it has set plan_, Unimplemented where none of the proposals will do.
  absl::Status ChooseEngine(DnnDescriptor graph, DnnNumber mode);
  absl::Status Plan(DnnDescriptor configuration);
  absl::StatusOr<bool> KeepsOurNumbers(DnnDescriptor configuration);

  const std::shared_ptr<ConvolutionLibrary> library_;
  const ConvolutionCall call_;
  DescriptorSet descriptors_;
  DnnDescriptor plan_ = nullptr;
  int64_t workspace_bytes_ = 0;
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_CUDNN_PREPARED_CONVOLUTION_H_
