#include "backends/gpu/cudnn/prepared_convolution.h"

#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/gpu/driver/card.h"
#include "backends/gpu/libraries.h"
#include "jit/base/status.h"

namespace tektite::gpu {
namespace {

using Kind = ConvolutionCall::Kind;

// Of [a, channels, pixels] in a memory of [a, pixels, channels].
std::vector<int64_t> ChannelsLast(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = sizes[1];
  strides[1] = 1;
  for (size_t i = sizes.size() - 1; i >= 2; --i) {
    strides[i] = stride;
    stride *= sizes[i];
  }
  strides[0] = stride;
  return strides;
}

int64_t Elements(const std::vector<int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace

PreparedConvolution::PreparedConvolution(std::shared_ptr<CudnnOnCard> library, ConvolutionCall call)
    : call_(std::move(call)), graph_(std::move(library)) {}

absl::StatusOr<std::shared_ptr<const PreparedConvolution>> PreparedConvolution::Create(
    std::shared_ptr<CudnnOnCard> library, ConvolutionCall call) {
  Card& card = library->card();
  TEKTITE_RETURN_IF_ERROR(card.status());
  const Card::Scope scope(card);
  std::shared_ptr<PreparedConvolution> made(
      new PreparedConvolution(std::move(library), std::move(call)));
  TEKTITE_RETURN_IF_ERROR(made->AddOperation());
  OperationGraph::Numbers numbers;
  // Matrix instructions round f32.
  numbers.rounds_operands = made->call_.tf32;
  numbers.uses_matrix_instructions = made->call_.dtype != ir::DType::kF32 || made->call_.tf32;
  TEKTITE_RETURN_IF_ERROR(made->graph_.Plan(numbers, made->call_.ToString()));
  return made;
}

absl::string_view PreparedConvolution::library() const { return kCudnnLibrary; }

int64_t PreparedConvolution::moved_bytes() const {
  return (Elements(call_.Image()) + Elements(call_.Filter()) + Elements(call_.Result())) *
         ir::DTypeBytes(call_.dtype);
}

absl::StatusOr<DnnDescriptor> PreparedConvolution::MakeTensor(Id id,
                                                              const std::vector<int64_t>& sizes) {
  return graph_.Tensor({id, OperationGraph::TypeOf(call_.dtype), sizes, ChannelsLast(sizes)});
}

absl::StatusOr<DnnDescriptor> PreparedConvolution::MakeConvolution() {
  DescriptorSet& descriptors = graph_.descriptors();
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor made, graph_.Create(kDnnConvolution));
  descriptors.Put(made, kDnnConvolutionType, kDnnTypeOfDataType, kDnnF32);
  // The filter of an input's gradient stands in the tensor IR the other way round.
  descriptors.Put(
      made, kDnnConvolutionMode, kDnnTypeOfConvolutionMode,
      call_.kind == Kind::kInputGradient ? kDnnFlippedConvolution : kDnnCrossCorrelation);
  descriptors.Put(made, kDnnConvolutionSpatial, kDnnTypeOfI64,
                  static_cast<int64_t>(call_.in.size()));
  descriptors.PutAll(made, kDnnConvolutionStrides, kDnnTypeOfI64, call_.strides);
  descriptors.PutAll(made, kDnnConvolutionDilations, kDnnTypeOfI64, call_.dilations);
  descriptors.PutAll(made, kDnnConvolutionPre, kDnnTypeOfI64, call_.low);
  descriptors.PutAll(made, kDnnConvolutionPost, kDnnTypeOfI64, call_.high);
  TEKTITE_RETURN_IF_ERROR(descriptors.Finalize(made));
  return made;
}

absl::Status PreparedConvolution::AddOperation() {
  struct Names {
    DnnNumber operation, convolution, image, filter, result, alpha, beta;
  };
  static constexpr Names kNames[] = {
      {kDnnForwardOperation, kDnnForwardConvolution, kDnnForwardX, kDnnForwardW, kDnnForwardY,
       kDnnForwardAlpha, kDnnForwardBeta},
      {kDnnBackwardDataOperation, kDnnBackwardDataConvolution, kDnnBackwardDataDx,
       kDnnBackwardDataW, kDnnBackwardDataDy, kDnnBackwardDataAlpha, kDnnBackwardDataBeta},
      {kDnnBackwardFilterOperation, kDnnBackwardFilterConvolution, kDnnBackwardFilterX,
       kDnnBackwardFilterDw, kDnnBackwardFilterDy, kDnnBackwardFilterAlpha,
       kDnnBackwardFilterBeta}};
  const Names& names = kNames[static_cast<size_t>(call_.kind)];
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor image, MakeTensor(kImage, call_.Image()));
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor filter, MakeTensor(kFilter, call_.Filter()));
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor result, MakeTensor(kResult, call_.Result()));
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor convolution, MakeConvolution());
  DescriptorSet& descriptors = graph_.descriptors();
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor made, graph_.Create(names.operation));
  descriptors.Put(made, names.convolution, kDnnTypeOfDescriptor, convolution);
  descriptors.Put(made, names.image, kDnnTypeOfDescriptor, image);
  descriptors.Put(made, names.filter, kDnnTypeOfDescriptor, filter);
  descriptors.Put(made, names.result, kDnnTypeOfDescriptor, result);
  descriptors.Put(made, names.alpha, kDnnTypeOfF32, 1.0F);
  descriptors.Put(made, names.beta, kDnnTypeOfF32, 0.0F);
  return graph_.Add(made);
}

absl::Status PreparedConvolution::Tell(absl::Span<const CuAddress> addresses, CuAddress workspace,
                                       CuStream stream) const {
  const auto at = [&](int buffer) {
    return reinterpret_cast<void*>(addresses[static_cast<size_t>(buffer)]);
  };
  void* const result = at(call_.operands);
  std::vector<std::pair<int64_t, void*>> tensors;
  switch (call_.kind) {
    case Kind::kForward:
      tensors = {{kImage, at(call_.lhs)}, {kFilter, at(call_.rhs)}, {kResult, result}};
      break;
    case Kind::kInputGradient:
      tensors = {{kImage, result}, {kFilter, at(call_.rhs)}, {kResult, at(call_.lhs)}};
      break;
    case Kind::kFilterGradient:
      tensors = {{kImage, at(call_.lhs)}, {kFilter, result}, {kResult, at(call_.rhs)}};
      break;
  }
  const absl::Status told = graph_.Tell(tensors, Aligned(workspace), stream);
  if (told.ok()) return told;
  return absl::Status(told.code(), absl::StrCat(told.message(), " (", call_.ToString(), ")"));
}

}  // namespace tektite::gpu
