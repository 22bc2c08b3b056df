#include "backends/gpu/cudnn/operation_graph.h"

#include <algorithm>

#include "backends/gpu/driver/card.h"
#include "jit/base/status.h"

namespace tektite::gpu {
namespace {

// Of the buffers, as far as engines ask for it: TargetInfo::operand_alignment.
constexpr int64_t kTensorAlignment = 16;
constexpr int64_t kMostProposals = 16;

}  // namespace

OperationGraph::OperationGraph(std::shared_ptr<CudnnOnCard> library)
    : library_(std::move(library)), descriptors_(&library_->dnn()) {}

OperationGraph::~OperationGraph() {
  if (!library_->card().takes_back()) {
    descriptors_.Abandon();
    return;
  }
  const Card::Scope scope(library_->card());
  descriptors_.Destroy();
}

DnnNumber OperationGraph::TypeOf(ir::DType dtype) {
  switch (dtype) {
    case ir::DType::kF16:
      return kDnnF16;
    case ir::DType::kBF16:
      return kDnnBF16;
    default:
      return kDnnF32;
  }
}

absl::StatusOr<DnnDescriptor> OperationGraph::Tensor(const TensorOf& tensor) {
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor made, Create(kDnnTensor));
  descriptors_.Put(made, kDnnTensorType, kDnnTypeOfDataType, tensor.dtype);
  descriptors_.PutAll(made, kDnnTensorDimensions, kDnnTypeOfI64, tensor.sizes);
  descriptors_.PutAll(made, kDnnTensorStrides, kDnnTypeOfI64, tensor.strides);
  descriptors_.Put(made, kDnnTensorId, kDnnTypeOfI64, tensor.id);
  descriptors_.Put(made, kDnnTensorAlignment, kDnnTypeOfI64, kTensorAlignment);
  if (tensor.place == Place::kVirtual) {
    descriptors_.Put(made, kDnnTensorIsVirtual, kDnnTypeOfBoolean, true);
  } else if (tensor.place == Place::kValue) {
    descriptors_.Put(made, kDnnTensorIsByValue, kDnnTypeOfBoolean, true);
  }
  TEKTITE_RETURN_IF_ERROR(descriptors_.Finalize(made));
  return made;
}

absl::Status OperationGraph::Add(DnnDescriptor operation) {
  TEKTITE_RETURN_IF_ERROR(descriptors_.Finalize(operation));
  operations_.push_back(operation);
  return absl::OkStatus();
}

absl::Status OperationGraph::AddPointwise(const PointwiseOf& operation) {
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor kind, Create(kDnnPointwise));
  descriptors_.Put(kind, kDnnPointwiseMode, kDnnTypeOfPointwiseMode, operation.mode);
  descriptors_.Put(kind, kDnnPointwiseType, kDnnTypeOfDataType, kDnnF32);
  if (operation.axis >= 0) {
    descriptors_.Put(kind, kDnnPointwiseAxis, kDnnTypeOfI64, operation.axis);
  }
  TEKTITE_RETURN_IF_ERROR(descriptors_.Finalize(kind));
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor made, Create(kDnnPointwiseOperation));
  descriptors_.Put(made, kDnnPointwiseOperationKind, kDnnTypeOfDescriptor, kind);
  const std::pair<DnnNumber, DnnDescriptor> operands[] = {{kDnnPointwiseOperationX, operation.x},
                                                          {kDnnPointwiseOperationB, operation.b},
                                                          {kDnnPointwiseOperationT, operation.t},
                                                          {kDnnPointwiseOperationY, operation.y}};
  for (const auto& [attribute, tensor] : operands) {
    if (tensor != nullptr) descriptors_.Put(made, attribute, kDnnTypeOfDescriptor, tensor);
  }
  return Add(made);
}

absl::Status OperationGraph::Plan(const Numbers& numbers, const std::string& what) {
  TEKTITE_ASSIGN_OR_RETURN(const DnnHandle handle, library_->handle());
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor graph, Create(kDnnGraph));
  descriptors_.Put(graph, kDnnGraphHandle, kDnnTypeOfHandle, handle);
  descriptors_.PutAll(graph, kDnnGraphOperations, kDnnTypeOfDescriptor, operations_);
  TEKTITE_RETURN_IF_ERROR(descriptors_.Finalize(graph));
  const absl::Status usual = ChooseEngine(graph, kDnnUsualMode, numbers, what);
  if (!absl::IsUnimplemented(usual)) return usual;
  return ChooseEngine(graph, kDnnFallbackMode, numbers, what);
}

absl::Status OperationGraph::ChooseEngine(DnnDescriptor graph, DnnNumber mode,
                                          const Numbers& numbers, const std::string& what) {
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor heuristic, Create(kDnnHeuristic));
  descriptors_.Put(heuristic, kDnnHeuristicGraph, kDnnTypeOfDescriptor, graph);
  descriptors_.Put(heuristic, kDnnHeuristicMode, kDnnTypeOfHeuristicMode, mode);
  TEKTITE_RETURN_IF_ERROR(descriptors_.Finalize(heuristic));
  // The library fills descriptors that are there.
  std::vector<DnnDescriptor> proposals;
  for (int64_t i = 0; i < kMostProposals; ++i) {
    TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor made, Create(kDnnConfiguration));
    proposals.push_back(made);
  }
  TEKTITE_ASSIGN_OR_RETURN(const int64_t count,
                           descriptors_.Get(heuristic, kDnnHeuristicResults, kDnnTypeOfDescriptor,
                                            kMostProposals, proposals.data()));
  for (int64_t i = 0; i < std::min(count, kMostProposals); ++i) {
    const DnnDescriptor proposal = proposals[static_cast<size_t>(i)];
    TEKTITE_ASSIGN_OR_RETURN(const bool keeps, KeepsOurNumbers(proposal, numbers));
    if (!keeps) continue;
    const absl::Status planned = MakePlan(proposal);
    // An engine may refuse what the heuristic has proposed it for.
    if (absl::IsUnimplemented(planned)) continue;
    return planned;
  }
  return Unimplemented("cuDNN has no engine for ", what);
}

absl::StatusOr<bool> OperationGraph::KeepsOurNumbers(DnnDescriptor configuration,
                                                     const Numbers& numbers) {
  TEKTITE_ASSIGN_OR_RETURN(DnnDescriptor engine, Create(kDnnEngine));
  TEKTITE_RETURN_IF_ERROR(descriptors_
                              .Get(configuration, kDnnConfigurationEngine, kDnnTypeOfDescriptor,
                                   /*most=*/1, &engine)
                              .status());
  int notes[kDnnMostNotes] = {};
  TEKTITE_ASSIGN_OR_RETURN(
      const int64_t count,
      descriptors_.Get(engine, kDnnEngineNotes, kDnnTypeOfNote, kDnnMostNotes, notes));
  for (int64_t i = 0; i < std::min<int64_t>(count, kDnnMostNotes); ++i) {
    switch (notes[i]) {
      case kDnnUsesTensorCores:
        if (!numbers.uses_matrix_instructions) return false;
        break;
      case kDnnDownConvertsInputs:
        if (!numbers.rounds_operands) return false;
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

absl::Status OperationGraph::MakePlan(DnnDescriptor configuration) {
  TEKTITE_ASSIGN_OR_RETURN(const DnnHandle handle, library_->handle());
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor plan, Create(kDnnPlan));
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

absl::Status OperationGraph::Tell(const std::vector<std::pair<int64_t, void*>>& tensors,
                                  void* workspace, CuStream stream) const {
  std::vector<int64_t> ids;
  std::vector<void*> pointers;
  for (const auto& [id, pointer] : tensors) {
    ids.push_back(id);
    pointers.push_back(pointer);
  }
  DescriptorSet set(&library_->dnn());
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor arguments, set.Create(kDnnPack));
  set.PutAll(arguments, kDnnPackIds, kDnnTypeOfI64, ids);
  set.PutAll(arguments, kDnnPackPointers, kDnnTypeOfPointer, pointers);
  set.Put(arguments, kDnnPackWorkspace, kDnnTypeOfPointer,
          workspace_bytes_ == 0 ? nullptr : workspace);
  TEKTITE_RETURN_IF_ERROR(set.Finalize(arguments));
  return library_->Execute(plan_, arguments, stream);
}

}  // namespace tektite::gpu
