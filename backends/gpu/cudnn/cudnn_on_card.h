// cuDNN's state for one card, made when the first of its calls is.  Thread-safe.
//
//   auto library = std::make_shared<CudnnOnCard>(&card, Cudnn::OfThisMachine());
#ifndef TEKTITE_BACKENDS_GPU_CUDNN_CUDNN_ON_CARD_H_
#define TEKTITE_BACKENDS_GPU_CUDNN_CUDNN_ON_CARD_H_

#include <mutex>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/gpu/cudnn/cudnn.h"

namespace tektite::gpu {

class Card;

class CudnnOnCard {
 public:
  // Borrows the card, which must outlive it.
  CudnnOnCard(Card* card, const Cudnn* dnn) : card_(*card), dnn_(*dnn) {}
  ~CudnnOnCard();
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

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_CUDNN_CUDNN_ON_CARD_H_
