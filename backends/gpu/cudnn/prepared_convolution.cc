#include "backends/gpu/cudnn/prepared_convolution.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/gpu/driver/card.h"
#include "backends/gpu/libraries.h"
#include "jit/base/status.h"

namespace tektite::gpu {
namespace {

using Kind = ConvolutionCall::Kind;

// Of the buffers, as far as engines ask for it; they begin at multiples of backend::kAlignment.
constexpr int64_t kTensorAlignment = 16;
constexpr int64_t kMostProposals = 16;

DnnNumber TypeOf(ir::DType dtype) {
  switch (dtype) {
    case ir::DType::kF16:
      return kDnnF16;
    case ir::DType::kBF16:
      return kDnnBF16;
    default:
      return kDnnF32;
  }
}

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

ConvolutionLibrary::~ConvolutionLibrary() {
  if (handle_ == nullptr || !card_.takes_back()) return;
  const Card::Scope scope(card_);
  dnn_.Destroy(handle_);
}

absl::StatusOr<DnnHandle> ConvolutionLibrary::handle() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (handle_ == nullptr) TEKTITE_RETURN_IF_ERROR(DnnError(dnn_.Create(&handle_), "starting"));
  return handle_;
}

absl::Status ConvolutionLibrary::Execute(DnnDescriptor plan, DnnDescriptor arguments,
                                         CuStream stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  TEKTITE_RETURN_IF_ERROR(DnnError(dnn_.SetStream(handle_, stream), "setting a stream"));
  return DnnError(dnn_.Execute(handle_, plan, arguments), "launching");
}

PreparedConvolution::PreparedConvolution(std::shared_ptr<ConvolutionLibrary> library,
                                         ConvolutionCall call)
    : library_(std::move(library)), call_(std::move(call)), descriptors_(&library_->dnn()) {}

PreparedConvolution::~PreparedConvolution() {
  if (!library_->card().takes_back()) {
    descriptors_.Abandon();
    return;
  }
  const Card::Scope scope(library_->card());
  descriptors_.Destroy();
}

absl::StatusOr<std::shared_ptr<const PreparedConvolution>> PreparedConvolution::Create(
    std::shared_ptr<ConvolutionLibrary> library, ConvolutionCall call) {
  TEKTITE_RETURN_IF_ERROR(library->card().status());
  const Card::Scope scope(library->card());
  std::shared_ptr<PreparedConvolution> made(
      new PreparedConvolution(std::move(library), std::move(call)));
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor graph, made->MakeGraph());
  absl::Status chosen = made->ChooseEngine(graph, kDnnUsualMode);
  if (absl::IsUnimplemented(chosen)) chosen = made->ChooseEngine(graph, kDnnFallbackMode);
  TEKTITE_RETURN_IF_ERROR(chosen);
  return made;
}

absl::string_view PreparedConvolution::library() const { return kCudnnLibrary; }

int64_t PreparedConvolution::moved_bytes() const {
  return (Elements(call_.Image()) + Elements(call_.Filter()) + Elements(call_.Result())) *
         ir::DTypeBytes(call_.dtype);
}

absl::StatusOr<DnnDescriptor> PreparedConvolution::MakeTensor(Id id,
                                                              const std::vector<int64_t>& sizes,
                                                              bool is_virtual) {
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor tensor, descriptors_.Create(kDnnTensor));
  descriptors_.Put(tensor, kDnnTensorType, kDnnTypeOfDataType, TypeOf(call_.dtype));
  descriptors_.PutAll(tensor, kDnnTensorDimensions, kDnnTypeOfI64, sizes);
  descriptors_.PutAll(tensor, kDnnTensorStrides, kDnnTypeOfI64, ChannelsLast(sizes));
  descriptors_.Put(tensor, kDnnTensorId, kDnnTypeOfI64, int64_t{id});
  descriptors_.Put(tensor, kDnnTensorAlignment, kDnnTypeOfI64, kTensorAlignment);
  if (is_virtual) descriptors_.Put(tensor, kDnnTensorIsVirtual, kDnnTypeOfBoolean, true);
  TEKTITE_RETURN_IF_ERROR(descriptors_.Finalize(tensor));
  return tensor;
}

absl::StatusOr<DnnDescriptor> PreparedConvolution::MakeConvolution() {
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor made, descriptors_.Create(kDnnConvolution));
  descriptors_.Put(made, kDnnConvolutionType, kDnnTypeOfDataType, kDnnF32);
  // The filter of an input's gradient stands in the tensor IR the other way round.
  descriptors_.Put(
      made, kDnnConvolutionMode, kDnnTypeOfConvolutionMode,
      call_.kind == Kind::kInputGradient ? kDnnFlippedConvolution : kDnnCrossCorrelation);
  descriptors_.Put(made, kDnnConvolutionSpatial, kDnnTypeOfI64,
                   static_cast<int64_t>(call_.in.size()));
  descriptors_.PutAll(made, kDnnConvolutionStrides, kDnnTypeOfI64, call_.strides);
  descriptors_.PutAll(made, kDnnConvolutionDilations, kDnnTypeOfI64, call_.dilations);
  descriptors_.PutAll(made, kDnnConvolutionPre, kDnnTypeOfI64, call_.low);
  descriptors_.PutAll(made, kDnnConvolutionPost, kDnnTypeOfI64, call_.high);
  TEKTITE_RETURN_IF_ERROR(descriptors_.Finalize(made));
  return made;
}

absl::StatusOr<DnnDescriptor> PreparedConvolution::MakeOperation(DnnDescriptor image,
                                                                 DnnDescriptor filter,
                                                                 DnnDescriptor result) {
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
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor convolution, MakeConvolution());
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor made, descriptors_.Create(names.operation));
  descriptors_.Put(made, names.convolution, kDnnTypeOfDescriptor, convolution);
  descriptors_.Put(made, names.image, kDnnTypeOfDescriptor, image);
  descriptors_.Put(made, names.filter, kDnnTypeOfDescriptor, filter);
  descriptors_.Put(made, names.result, kDnnTypeOfDescriptor, result);
  descriptors_.Put(made, names.alpha, kDnnTypeOfF32, 1.0F);
  descriptors_.Put(made, names.beta, kDnnTypeOfF32, 0.0F);
  TEKTITE_RETURN_IF_ERROR(descriptors_.Finalize(made));
  return made;
}

absl::StatusOr<DnnDescriptor> PreparedConvolution::MakePointwise(DnnNumber mode, DnnDescriptor x,
                                                                 DnnDescriptor b, DnnDescriptor y) {
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor kind, descriptors_.Create(kDnnPointwise));
  descriptors_.Put(kind, kDnnPointwiseMode, kDnnTypeOfPointwiseMode, mode);
  descriptors_.Put(kind, kDnnPointwiseType, kDnnTypeOfDataType, kDnnF32);
  if (mode == kDnnReluMode) {
    descriptors_.Put(kind, kDnnPointwiseNan, kDnnTypeOfNan, kDnnPropagateNan);
  }
  TEKTITE_RETURN_IF_ERROR(descriptors_.Finalize(kind));
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor made, descriptors_.Create(kDnnPointwiseOperation));
  descriptors_.Put(made, kDnnPointwiseOperationKind, kDnnTypeOfDescriptor, kind);
  descriptors_.Put(made, kDnnPointwiseOperationX, kDnnTypeOfDescriptor, x);
  if (b != nullptr) descriptors_.Put(made, kDnnPointwiseOperationB, kDnnTypeOfDescriptor, b);
  descriptors_.Put(made, kDnnPointwiseOperationY, kDnnTypeOfDescriptor, y);
  TEKTITE_RETURN_IF_ERROR(descriptors_.Finalize(made));
  return made;
}

absl::StatusOr<DnnDescriptor> PreparedConvolution::MakeGraph() {
  const std::vector<int64_t> sizes = call_.Result();
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor image, MakeTensor(kImage, call_.Image(), false));
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor filter, MakeTensor(kFilter, call_.Filter(), false));
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor result, MakeTensor(kResult, sizes, false));
  DnnDescriptor sum = result;
  if (call_.is_fused()) {
    TEKTITE_ASSIGN_OR_RETURN(sum, MakeTensor(kSum, sizes, /*is_virtual=*/true));
  }
  std::vector<DnnDescriptor> operations;
  const auto add = [&](absl::StatusOr<DnnDescriptor> operation) {
    if (operation.ok()) operations.push_back(*operation);
    return operation.status();
  };
  TEKTITE_RETURN_IF_ERROR(add(MakeOperation(image, filter, sum)));
  if (call_.is_fused()) {
    std::vector<int64_t> of_bias(sizes.size(), 1);
    of_bias[1] = call_.features;
    TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor bias, MakeTensor(kBias, of_bias, false));
    DnnDescriptor biased = result;
    if (call_.relu) {
      TEKTITE_ASSIGN_OR_RETURN(biased, MakeTensor(kBiased, sizes, /*is_virtual=*/true));
    }
    TEKTITE_RETURN_IF_ERROR(add(MakePointwise(kDnnAddMode, sum, bias, biased)));
    if (call_.relu) {
      TEKTITE_RETURN_IF_ERROR(add(MakePointwise(kDnnReluMode, biased, nullptr, result)));
    }
  }
  TEKTITE_ASSIGN_OR_RETURN(const DnnHandle handle, library_->handle());
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor graph, descriptors_.Create(kDnnGraph));
  descriptors_.Put(graph, kDnnGraphHandle, kDnnTypeOfHandle, handle);
  descriptors_.PutAll(graph, kDnnGraphOperations, kDnnTypeOfDescriptor, operations);
  TEKTITE_RETURN_IF_ERROR(descriptors_.Finalize(graph));
  return graph;
}

absl::StatusOr<bool> PreparedConvolution::KeepsOurNumbers(DnnDescriptor configuration) {
  TEKTITE_ASSIGN_OR_RETURN(DnnDescriptor engine, descriptors_.Create(kDnnEngine));
  TEKTITE_RETURN_IF_ERROR(descriptors_
                              .Get(configuration, kDnnConfigurationEngine, kDnnTypeOfDescriptor,
                                   /*most=*/1, &engine)
                              .status());
  int notes[kDnnMostNotes] = {};
  TEKTITE_ASSIGN_OR_RETURN(
      const int64_t count,
      descriptors_.Get(engine, kDnnEngineNotes, kDnnTypeOfNote, kDnnMostNotes, notes));
  const bool is_strict = call_.dtype == ir::DType::kF32 && !call_.tf32;
  for (int64_t i = 0; i < std::min<int64_t>(count, kDnnMostNotes); ++i) {
    switch (notes[i]) {
      case kDnnUsesTensorCores:  // which round f32
      case kDnnDownConvertsInputs:
        if (is_strict || (notes[i] == kDnnDownConvertsInputs && !call_.tf32)) return false;
        break;
      case kDnnReducesInLowPrecision:
      case kDnnUsesFft:
      case kDnnIsNondeterministic:
      case kDnnUsesWinograd:
        return false;
      default:
        break;
    }
  }
  return true;
}

absl::Status PreparedConvolution::Plan(DnnDescriptor configuration) {
  TEKTITE_ASSIGN_OR_RETURN(const DnnHandle handle, library_->handle());
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor plan, descriptors_.Create(kDnnPlan));
  descriptors_.Put(plan, kDnnPlanHandle, kDnnTypeOfHandle, handle);
  descriptors_.Put(plan, kDnnPlanConfiguration, kDnnTypeOfDescriptor, configuration);
  TEKTITE_RETURN_IF_ERROR(descriptors_.Finalize(plan));
  int64_t bytes = 0;
  TEKTITE_RETURN_IF_ERROR(
      descriptors_.Get(plan, kDnnPlanWorkspace, kDnnTypeOfI64, /*most=*/1, &bytes).status());
  if (bytes > kMostWorkspace) return Unimplemented("a workspace of ", bytes, " bytes");
  workspace_bytes_ = bytes;
  plan_ = plan;
  return absl::OkStatus();
}

absl::Status PreparedConvolution::ChooseEngine(DnnDescriptor graph, DnnNumber mode) {
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor heuristic, descriptors_.Create(kDnnHeuristic));
  descriptors_.Put(heuristic, kDnnHeuristicGraph, kDnnTypeOfDescriptor, graph);
  descriptors_.Put(heuristic, kDnnHeuristicMode, kDnnTypeOfHeuristicMode, mode);
  TEKTITE_RETURN_IF_ERROR(descriptors_.Finalize(heuristic));
  // The library fills descriptors that are there.
  std::vector<DnnDescriptor> proposals;
  for (int64_t i = 0; i < kMostProposals; ++i) {
    TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor made, descriptors_.Create(kDnnConfiguration));
    proposals.push_back(made);
  }
  TEKTITE_ASSIGN_OR_RETURN(const int64_t count,
                           descriptors_.Get(heuristic, kDnnHeuristicResults, kDnnTypeOfDescriptor,
                                            kMostProposals, proposals.data()));
  for (int64_t i = 0; i < std::min(count, kMostProposals); ++i) {
    const DnnDescriptor proposal = proposals[static_cast<size_t>(i)];
    TEKTITE_ASSIGN_OR_RETURN(const bool keeps, KeepsOurNumbers(proposal));
    if (!keeps) continue;
    const absl::Status planned = Plan(proposal);
    // An engine may refuse what the heuristic has proposed it for.
    if (absl::IsUnimplemented(planned)) continue;
    return planned;
  }
  return Unimplemented("cuDNN has no engine for ", call_.ToString());
}

absl::Status PreparedConvolution::Tell(absl::Span<const CuAddress> addresses, CuAddress workspace,
                                       CuStream stream) const {
  const auto at = [&](int buffer) {
    return reinterpret_cast<void*>(addresses[static_cast<size_t>(buffer)]);
  };
  void* const result = at(call_.operands);
  std::vector<int64_t> ids = {kImage, kFilter, kResult};
  std::vector<void*> pointers;
  switch (call_.kind) {
    case Kind::kForward:
      pointers = {at(call_.lhs), at(call_.rhs), result};
      break;
    case Kind::kInputGradient:
      pointers = {result, at(call_.rhs), at(call_.lhs)};
      break;
    case Kind::kFilterGradient:
      pointers = {at(call_.lhs), result, at(call_.rhs)};
      break;
  }
  if (call_.is_fused()) {
    ids.push_back(kBias);
    pointers.push_back(at(call_.bias));
  }
  DescriptorSet set(&library_->dnn());
  absl::StatusOr<DnnDescriptor> arguments = set.Create(kDnnPack);
  TEKTITE_RETURN_IF_ERROR(arguments.status());
  set.PutAll(*arguments, kDnnPackIds, kDnnTypeOfI64, ids);
  set.PutAll(*arguments, kDnnPackPointers, kDnnTypeOfPointer, pointers);
  set.Put(*arguments, kDnnPackWorkspace, kDnnTypeOfPointer,
          workspace_bytes_ == 0 ? nullptr : Aligned(workspace));
  TEKTITE_RETURN_IF_ERROR(set.Finalize(*arguments));
  const absl::Status told = library_->Execute(plan_, *arguments, stream);
  if (told.ok()) return told;
  return absl::Status(told.code(), absl::StrCat(told.message(), " (", call_.ToString(), ")"));
}

}  // namespace tektite::gpu
