#include "backends/gpu/cudnn/cudnn_on_card.h"

#include "backends/gpu/driver/card.h"
#include "jit/base/status.h"

namespace tektite::gpu {

CudnnOnCard::~CudnnOnCard() {
  if (handle_ == nullptr || !card_.takes_back()) return;
  const Card::Scope scope(card_);
  dnn_.Destroy(handle_);
}

absl::StatusOr<DnnHandle> CudnnOnCard::handle() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (handle_ == nullptr) TEKTITE_RETURN_IF_ERROR(DnnError(dnn_.Create(&handle_), "starting"));
  return handle_;
}

absl::Status CudnnOnCard::Execute(DnnDescriptor plan, DnnDescriptor arguments, CuStream stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  TEKTITE_RETURN_IF_ERROR(DnnError(dnn_.SetStream(handle_, stream), "setting a stream"));
  return DnnError(dnn_.Execute(handle_, plan, arguments), "launching");
}

}  // namespace tektite::gpu
