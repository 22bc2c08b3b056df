#include "backends/gpu/cublaslt/prepared_product.h"

#include <tuple>
#include <utility>

#include "backends/gpu/driver/card.h"
#include "backends/gpu/libraries.h"
#include "jit/backend/memory.h"
#include "jit/base/status.h"

namespace tektite::gpu {
namespace {

LtType TypeOf(ir::DType dtype) {
  switch (dtype) {
    case ir::DType::kF16:
      return kLtF16;
    case ir::DType::kBF16:
      return kLtBF16;
    case ir::DType::kS8:
      return kLtS8;
    case ir::DType::kS32:
      return kLtS32;
    default:
      return kLtF32;
  }
}

template <typename Thing, typename Attribute, typename Value>
absl::Status Set(LtStatus (*set)(Thing, Attribute, const void*, size_t), Thing thing,
                 Attribute attribute, Value value) {
  return LtError(set(thing, attribute, &value, sizeof(value)), "setting an attribute");
}

}  // namespace

ProductLibrary::~ProductLibrary() {
  if (handle_ == nullptr || !card_.takes_back()) return;
  const Card::Scope scope(card_);
  lt_.Destroy(handle_);
}

absl::StatusOr<LtHandle> ProductLibrary::handle() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (handle_ == nullptr) TEKTITE_RETURN_IF_ERROR(LtError(lt_.Create(&handle_), "starting"));
  return handle_;
}

absl::StatusOr<std::shared_ptr<const PreparedProduct>> PreparedProduct::Create(
    std::shared_ptr<ProductLibrary> library, const MatrixProduct& product) {
  TEKTITE_RETURN_IF_ERROR(library->card().status());
  const Card::Scope scope(library->card());
  std::shared_ptr<PreparedProduct> prepared(new PreparedProduct(std::move(library), product));
  TEKTITE_RETURN_IF_ERROR(prepared->Describe());
  TEKTITE_RETURN_IF_ERROR(prepared->ChooseAlgorithm());
  return prepared;
}

PreparedProduct::~PreparedProduct() {
  // Memory of the host alone; nothing of the card is asked.
  const CublasLt& lt = library_->lt();
  for (LtLayout layout : {lhs_, rhs_, result_}) {
    if (layout != nullptr) lt.LayoutDestroy(layout);
  }
  if (operation_ != nullptr) lt.OperationDestroy(operation_);
}

absl::Status PreparedProduct::MakeLayout(LtLayout* layout, ir::DType dtype, int64_t rows,
                                         int64_t columns) const {
  const CublasLt& lt = library_->lt();
  TEKTITE_RETURN_IF_ERROR(
      LtError(lt.LayoutCreate(layout, TypeOf(dtype), static_cast<uint64_t>(rows),
                              static_cast<uint64_t>(columns), /*leading_dimension=*/rows),
              "describing a matrix"));
  if (product_.batch == 1) return absl::OkStatus();
  TEKTITE_RETURN_IF_ERROR(
      Set(lt.LayoutSetAttribute, *layout, kLtBatchCount, static_cast<int32_t>(product_.batch)));
  return Set(lt.LayoutSetAttribute, *layout, kLtBatchStride, rows * columns);
}

// cuBLASLt stores columns together, we store rows: it sees the transposes of our matrices, and
// computes result^T = rhs^T x lhs^T.
absl::Status PreparedProduct::Describe() {
  const CublasLt& lt = library_->lt();
  const MatrixProduct& p = product_;
  const bool of_bytes = p.dtype == ir::DType::kS8;
  TEKTITE_RETURN_IF_ERROR(
      LtError(lt.OperationCreate(&operation_, of_bytes ? kLtComputeS32 : kLtComputeF32,
                                 of_bytes ? kLtS32 : kLtF32),
              "describing a product"));
  TEKTITE_RETURN_IF_ERROR(
      Set(lt.OperationSetAttribute, operation_, kLtTransposeA, int32_t{p.rhs_transposed}));
  TEKTITE_RETURN_IF_ERROR(
      Set(lt.OperationSetAttribute, operation_, kLtTransposeB, int32_t{p.lhs_transposed}));
  if (p.bias != MatrixProduct::kNone) {
    TEKTITE_RETURN_IF_ERROR(
        Set(lt.OperationSetAttribute, operation_, kLtEpilogue, uint32_t{kLtBias}));
  }
  TEKTITE_RETURN_IF_ERROR(p.rhs_transposed ? MakeLayout(&rhs_, p.dtype, p.k, p.n)
                                           : MakeLayout(&rhs_, p.dtype, p.n, p.k));
  TEKTITE_RETURN_IF_ERROR(p.lhs_transposed ? MakeLayout(&lhs_, p.dtype, p.m, p.k)
                                           : MakeLayout(&lhs_, p.dtype, p.k, p.m));
  return MakeLayout(&result_, p.result(), p.n, p.m);
}

absl::Status PreparedProduct::ChooseAlgorithm() {
  const CublasLt& lt = library_->lt();
  TEKTITE_ASSIGN_OR_RETURN(const LtHandle handle, library_->handle());
  LtPreference preference = nullptr;
  TEKTITE_RETURN_IF_ERROR(LtError(lt.PreferenceCreate(&preference), "describing a preference"));
  absl::Status set = Set(lt.PreferenceSetAttribute, preference, kLtMostWorkspace,
                         static_cast<uint64_t>(kMostWorkspace));
  if (set.ok()) {
    set = Set(lt.PreferenceSetAttribute, preference, kLtReductionSchemes, kLtReduceInComputeType);
  }
  constexpr std::pair<LtPreferenceAttribute, int64_t> kAlignments[] = {
      {kLtAlignmentA, kOperandAlignment},
      {kLtAlignmentB, kOperandAlignment},
      {kLtAlignmentC, backend::kAlignment},
      {kLtAlignmentD, backend::kAlignment}};
  for (const auto& [buffer, alignment] : kAlignments) {
    if (!set.ok()) break;
    set = Set(lt.PreferenceSetAttribute, preference, buffer, static_cast<uint32_t>(alignment));
  }
  LtHeuristic proposal = {};
  int num_proposals = 0;
  if (set.ok()) {
    set = LtError(lt.ProposeAlgorithms(handle, operation_, rhs_, lhs_, result_, result_, preference,
                                       /*most=*/1, &proposal, &num_proposals),
                  "choosing an algorithm");
  }
  lt.PreferenceDestroy(preference);
  TEKTITE_RETURN_IF_ERROR(set);
  if (num_proposals < 1) {
    return Unimplemented("cuBLASLt has no algorithm for ", product_.ToString());
  }
  TEKTITE_RETURN_IF_ERROR(LtError(proposal.status, "choosing an algorithm"));
  algorithm_ = proposal.algorithm;
  workspace_bytes_ = static_cast<int64_t>(proposal.workspace_bytes);
  return absl::OkStatus();
}

absl::string_view PreparedProduct::library() const { return kCublasLtLibrary; }

int64_t PreparedProduct::moved_bytes() const {
  const auto [m, n, k] = std::tuple(product_.m, product_.n, product_.k);
  return product_.batch * ((m * k + k * n) * ir::DTypeBytes(product_.dtype) +
                           m * n * ir::DTypeBytes(product_.result()));
}

absl::Status PreparedProduct::Tell(absl::Span<const CuAddress> addresses, CuAddress workspace,
                                   CuStream stream) const {
  const CublasLt& lt = library_->lt();
  TEKTITE_ASSIGN_OR_RETURN(const LtHandle handle, library_->handle());
  const auto at = [&](int buffer) {
    return reinterpret_cast<void*>(addresses[static_cast<size_t>(buffer)]);
  };
  std::unique_lock<std::mutex> lock(mutex_, std::defer_lock);
  if (product_.bias != MatrixProduct::kNone) {
    lock.lock();
    TEKTITE_RETURN_IF_ERROR(
        Set(lt.OperationSetAttribute, operation_, kLtBiasPointer, at(product_.bias)));
  }
  const float one = 1, zero = 0;
  const int32_t whole_one = 1, whole_zero = 0;
  const bool of_bytes = product_.dtype == ir::DType::kS8;
  const void* const factor = of_bytes ? static_cast<const void*>(&whole_one) : &one;
  const void* const of_result = of_bytes ? static_cast<const void*>(&whole_zero) : &zero;
  void* const result = at(product_.operands);
  return LtError(lt.Matmul(handle, operation_, factor, at(product_.rhs), rhs_, at(product_.lhs),
                           lhs_, of_result, result, result_, result, result_, &algorithm_,
                           workspace_bytes_ == 0 ? nullptr : Aligned(workspace),
                           static_cast<size_t>(workspace_bytes_), stream),
                 product_.ToString());
}

}  // namespace tektite::gpu
