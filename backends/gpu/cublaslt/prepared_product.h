// Products that cuBLASLt computes on a card.
//
//   auto library = std::make_shared<ProductLibrary>(&card, CublasLt::OfThisMachine());
//   TEKTITE_ASSIGN_OR_RETURN(auto product, PreparedProduct::Create(library, description));
//   product->Tell(buffers, workspace, stream);       // also while the stream is recorded
//
// Sums are of f32, of bytes of s32; f32 operands are not rounded to TF32, and parts of a sum meet
// in the workspace in a fixed order, in f32.
//
// The algorithm is the first that the library proposes for buffers of our alignment.  Whether it is
// faster than our own kernel is for the tuner to measure.
#ifndef TEKTITE_BACKENDS_GPU_CUBLASLT_PREPARED_PRODUCT_H_
#define TEKTITE_BACKENDS_GPU_CUBLASLT_PREPARED_PRODUCT_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/gpu/cublaslt/cublaslt.h"
#include "backends/gpu/cublaslt/matrix_product.h"
#include "backends/gpu/driver/library_call.h"

namespace tektite::gpu {

class Card;

// The library's state for one card, made when the first product is.  Thread-safe.
class ProductLibrary {
 public:
  // Borrows the card, which must outlive it.
  ProductLibrary(Card* card, const CublasLt* lt) : card_(*card), lt_(*lt) {}
  ~ProductLibrary();
  Card& card() const { return card_; }
  const CublasLt& lt() const { return lt_; }
  // The card's context is current.
  absl::StatusOr<LtHandle> handle();

 private:
  Card& card_;
  const CublasLt& lt_;
  std::mutex mutex_;
  LtHandle handle_ = nullptr;
};

class PreparedProduct final : public LibraryCall {
 public:
  // What Hopper's algorithms ask for at most.
  static constexpr int64_t kMostWorkspace = 32 << 20;

  // Unimplemented where the library has no algorithm.
  static absl::StatusOr<std::shared_ptr<const PreparedProduct>> Create(
      std::shared_ptr<ProductLibrary> library, const MatrixProduct& product);
  ~PreparedProduct() override;

  const MatrixProduct& product() const { return product_; }
  absl::string_view library() const override;
  std::string description() const override { return product_.Write(); }
  int num_buffers() const override { return product_.operands + 1; }
  int64_t workspace_bytes() const override { return WithRoomToAlign(workspace_bytes_); }
  int64_t moved_bytes() const override;
  absl::Status Tell(absl::Span<const CuAddress> addresses, CuAddress workspace,
                    CuStream stream) const override;

 private:
  PreparedProduct(std::shared_ptr<ProductLibrary> library, const MatrixProduct& product)
      : library_(std::move(library)), product_(product) {}
  absl::Status Describe();
  absl::Status ChooseAlgorithm();
  absl::Status MakeLayout(LtLayout* layout, ir::DType dtype, int64_t rows, int64_t columns) const;

  const std::shared_ptr<ProductLibrary> library_;
  const MatrixProduct product_;
  mutable std::mutex mutex_;  // the operation holds the address of the bias
  LtOperation operation_ = nullptr;
  LtLayout lhs_ = nullptr, rhs_ = nullptr, result_ = nullptr;
  LtAlgorithm algorithm_ = {};
  int64_t workspace_bytes_ = 0;
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_CUBLASLT_PREPARED_PRODUCT_H_
