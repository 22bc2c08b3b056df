#include "backends/gpu/cudnn/prepared_attention.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/gpu/driver/card.h"
#include "backends/gpu/libraries.h"
#include "jit/base/status.h"

namespace tektite::gpu {
namespace {

using Place = OperationGraph::Place;

// Of the scores' dimensions.
constexpr int64_t kRowAxis = 2, kKeyAxis = 3;

}  // namespace

PreparedAttention::PreparedAttention(std::shared_ptr<CudnnOnCard> library, AttentionCall call)
    : call_(std::move(call)),
      space_({call_.batch, call_.heads, call_.rows, call_.keys}),
      graph_(std::move(library)),
      scale_(static_cast<float>(call_.scale)),
      nothing_(-std::numeric_limits<float>::infinity()),
      offset_(static_cast<int32_t>(call_.offset)) {}

absl::StatusOr<std::shared_ptr<const PreparedAttention>> PreparedAttention::Create(
    std::shared_ptr<CudnnOnCard> library, AttentionCall call) {
  Card& card = library->card();
  TEKTITE_RETURN_IF_ERROR(card.status());
  const Card::Scope scope(card);
  std::shared_ptr<PreparedAttention> made(
      new PreparedAttention(std::move(library), std::move(call)));
  TEKTITE_RETURN_IF_ERROR(made->AddOperations());
  TEKTITE_RETURN_IF_ERROR(made->graph_.Plan({}, made->call_.ToString()));
  return made;
}

absl::string_view PreparedAttention::library() const { return kCudnnAttentionLibrary; }

int64_t PreparedAttention::moved_bytes() const {
  const int64_t rows = call_.rows * (call_.width + call_.columns);
  const int64_t keys = call_.keys * (call_.width + call_.columns);
  return call_.batch * call_.heads * (rows + keys) * ir::DTypeBytes(call_.dtype);
}

absl::StatusOr<DnnDescriptor> PreparedAttention::Virtual(DnnNumber dtype, bool is_of_rows) {
  Sizes sizes = space_;
  if (is_of_rows) sizes.back() = 1;
  return graph_.Tensor({next_id_++, dtype, sizes, AttentionCall::RowMajor(sizes), Place::kVirtual});
}

absl::StatusOr<DnnDescriptor> PreparedAttention::Passed(Id id, DnnNumber dtype) {
  return graph_.Tensor({id, dtype, {1, 1, 1, 1}, {1, 1, 1, 1}, Place::kValue});
}

absl::StatusOr<DnnDescriptor> PreparedAttention::Pointwise(DnnNumber mode, DnnDescriptor x,
                                                           DnnDescriptor b, DnnNumber dtype) {
  OperationGraph::PointwiseOf operation{mode, x, b};
  TEKTITE_ASSIGN_OR_RETURN(operation.y, Virtual(dtype));
  TEKTITE_RETURN_IF_ERROR(graph_.AddPointwise(operation));
  return operation.y;
}

absl::StatusOr<DnnDescriptor> PreparedAttention::OfRows(DnnNumber reduction, DnnDescriptor x) {
  DescriptorSet& set = graph_.descriptors();
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor kind, graph_.Create(kDnnReduction));
  set.Put(kind, kDnnReductionOperator, kDnnTypeOfReduction, reduction);
  set.Put(kind, kDnnReductionType, kDnnTypeOfDataType, kDnnF32);
  TEKTITE_RETURN_IF_ERROR(set.Finalize(kind));
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor y, Virtual(kDnnF32, /*is_of_rows=*/true));
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor made, graph_.Create(kDnnReductionOperation));
  set.Put(made, kDnnReductionOperationKind, kDnnTypeOfDescriptor, kind);
  set.Put(made, kDnnReductionOperationX, kDnnTypeOfDescriptor, x);
  set.Put(made, kDnnReductionOperationY, kDnnTypeOfDescriptor, y);
  TEKTITE_RETURN_IF_ERROR(graph_.Add(made));
  return y;
}

absl::Status PreparedAttention::Multiply(DnnDescriptor a, DnnDescriptor b, DnnDescriptor c) {
  DescriptorSet& set = graph_.descriptors();
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor kind, graph_.Create(kDnnProduct));
  set.Put(kind, kDnnProductType, kDnnTypeOfDataType, kDnnF32);
  TEKTITE_RETURN_IF_ERROR(set.Finalize(kind));
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor made, graph_.Create(kDnnProductOperation));
  set.Put(made, kDnnProductOperationKind, kDnnTypeOfDescriptor, kind);
  set.Put(made, kDnnProductOperationA, kDnnTypeOfDescriptor, a);
  set.Put(made, kDnnProductOperationB, kDnnTypeOfDescriptor, b);
  set.Put(made, kDnnProductOperationC, kDnnTypeOfDescriptor, c);
  return graph_.Add(made);
}

// Keys behind row + offset count for nothing.
absl::StatusOr<DnnDescriptor> PreparedAttention::Masked(DnnDescriptor logits) {
  const auto index = [&](int64_t axis) -> absl::StatusOr<DnnDescriptor> {
    OperationGraph::PointwiseOf operation{kDnnIndexMode, logits};
    operation.axis = axis;
    TEKTITE_ASSIGN_OR_RETURN(operation.y, Virtual(kDnnS32));
    TEKTITE_RETURN_IF_ERROR(graph_.AddPointwise(operation));
    return operation.y;
  };
  TEKTITE_ASSIGN_OR_RETURN(DnnDescriptor row, index(kRowAxis));
  if (call_.offset > 0) {
    TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor offset, Passed(kOffset, kDnnS32));
    TEKTITE_ASSIGN_OR_RETURN(row, Pointwise(kDnnAddMode, row, offset, kDnnS32));
  }
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor key, index(kKeyAxis));
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor seen,
                           Pointwise(kDnnNotLessMode, row, key, kDnnBoolean));
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor nothing, Passed(kNothing, kDnnF32));
  OperationGraph::PointwiseOf select{kDnnSelectMode, logits, nothing, seen};
  TEKTITE_ASSIGN_OR_RETURN(select.y, Virtual(kDnnF32));
  TEKTITE_RETURN_IF_ERROR(graph_.AddPointwise(select));
  return select.y;
}

absl::StatusOr<DnnDescriptor> PreparedAttention::Logits() {
  const AttentionCall::Strides &q = call_.query_strides, &k = call_.key_strides;
  const DnnNumber dtype = OperationGraph::TypeOf(call_.dtype);
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor query,
                           graph_.Tensor({kQuery,
                                          dtype,
                                          {call_.batch, call_.heads, call_.rows, call_.width},
                                          {q[0], q[1], q[2], 1}}));
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor key,
                           graph_.Tensor({kKey,
                                          dtype,
                                          {call_.batch, call_.heads, call_.width, call_.keys},
                                          {k[0], k[1], 1, k[2]}}));
  TEKTITE_ASSIGN_OR_RETURN(DnnDescriptor logits, Virtual(kDnnF32));
  TEKTITE_RETURN_IF_ERROR(Multiply(query, key, logits));
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor scale, Passed(kScale, kDnnF32));
  TEKTITE_ASSIGN_OR_RETURN(logits, Pointwise(kDnnMulMode, logits, scale));
  return call_.causal ? Masked(logits) : logits;
}

absl::StatusOr<DnnDescriptor> PreparedAttention::Weights(DnnDescriptor logits) {
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor largest, OfRows(kDnnMaxReduction, logits));
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor shifted, Pointwise(kDnnSubMode, logits, largest));
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor weights, Pointwise(kDnnExpMode, shifted));
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor sum, OfRows(kDnnAddReduction, weights));
  OperationGraph::PointwiseOf log{kDnnLogMode, sum};
  TEKTITE_ASSIGN_OR_RETURN(log.y, Virtual(kDnnF32, /*is_of_rows=*/true));
  TEKTITE_RETURN_IF_ERROR(graph_.AddPointwise(log));
  OperationGraph::PointwiseOf add{kDnnAddMode, largest, log.y};
  TEKTITE_ASSIGN_OR_RETURN(add.y, Virtual(kDnnF32, /*is_of_rows=*/true));
  TEKTITE_RETURN_IF_ERROR(graph_.AddPointwise(add));
  return Pointwise(kDnnDivMode, weights, sum, OperationGraph::TypeOf(call_.dtype));
}

absl::Status PreparedAttention::AddOperations() {
  const AttentionCall::Strides &v = call_.value_strides, &o = call_.result_strides;
  const DnnNumber dtype = OperationGraph::TypeOf(call_.dtype);
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor logits, Logits());
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor weights, Weights(logits));
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor value,
                           graph_.Tensor({kValue,
                                          dtype,
                                          {call_.batch, call_.heads, call_.keys, call_.columns},
                                          {v[0], v[1], v[2], 1}}));
  TEKTITE_ASSIGN_OR_RETURN(const DnnDescriptor result,
                           graph_.Tensor({kResult,
                                          dtype,
                                          {call_.batch, call_.heads, call_.rows, call_.columns},
                                          {o[0], o[1], o[2], 1}}));
  return Multiply(weights, value, result);
}

absl::Status PreparedAttention::Tell(absl::Span<const CuAddress> addresses, CuAddress workspace,
                                     CuStream stream) const {
  const auto at = [&](int buffer) {
    return reinterpret_cast<void*>(addresses[static_cast<size_t>(buffer)]);
  };
  const auto passed = [](const auto& value) {
    return const_cast<void*>(static_cast<const void*>(&value));
  };
  std::vector<std::pair<int64_t, void*>> tensors = {{kQuery, at(call_.lhs)},
                                                    {kKey, at(call_.rhs)},
                                                    {kValue, at(call_.value)},
                                                    {kResult, at(call_.operands)},
                                                    {kScale, passed(scale_)}};
  if (call_.causal) {
    tensors.emplace_back(kNothing, passed(nothing_));
    if (call_.offset > 0) tensors.emplace_back(kOffset, passed(offset_));
  }
  const absl::Status told = graph_.Tell(tensors, Aligned(workspace), stream);
  if (told.ok()) return told;
  return absl::Status(told.code(), absl::StrCat(told.message(), " (", call_.ToString(), ")"));
}

}  // namespace tektite::gpu
