#include "runtime_hooks/tensorflow/hook/run/card.h"

#include "tensorflow/core/framework/allocator.h"
#include "xla/stream_executor/platform.h"
#include "xla/stream_executor/stream_executor.h"

namespace tektite::tf_hook {
namespace {

// What the driver's own allocator keeps to.
constexpr size_t kAlignment = 256;

// TensorFlow's memory is in the order of its stream, and what this returns is for any stream.
void* Allocate(void* context, size_t bytes) {
  const Card& card = *static_cast<const Card*>(context);
  tensorflow::AllocationAttributes attributes;
  attributes.retry_on_failure = false;
  void* const block = card.allocator->AllocateRaw(kAlignment, bytes, attributes);
  if (block == nullptr || card.stream->BlockHostUntilDone().ok()) return block;
  card.allocator->DeallocateRaw(block);
  return nullptr;
}

void Release(void* context, void* block) {
  static_cast<const Card*>(context)->allocator->DeallocateRaw(block);
}

bool IsCuda(const stream_executor::StreamExecutor& executor) {
#if TEKTITE_TF_MINOR >= 17
  return executor.GetPlatform()->Name() == "CUDA";
#else
  return executor.platform()->Name() == "CUDA";
#endif
}

}  // namespace

std::optional<Card> Card::Of(tensorflow::DeviceBase& device) {
  const auto* const info = device.tensorflow_accelerator_device_info();
  if (info == nullptr || info->stream == nullptr || info->use_pjrt_tensor_buffer ||
      info->stream->platform_specific_handle().stream == nullptr) {
    return std::nullopt;
  }
  const stream_executor::StreamExecutor* const executor = info->stream->parent();
  if (executor == nullptr || !IsCuda(*executor)) return std::nullopt;
  return Card{executor->device_ordinal(), device.GetAllocator({}), info->stream};
}

void Card::OfferMemory(tektite_options* options) const {
  options->card_memory_context = const_cast<Card*>(this);
  options->card_memory_allocate = &Allocate;
  options->card_memory_release = &Release;
}

void* StreamOf(tensorflow::OpKernelContext* context) {
  tensorflow::DeviceContext* const device = context->op_device_context();
  stream_executor::Stream* const stream = device == nullptr ? nullptr : device->stream();
  return stream == nullptr ? nullptr : stream->platform_specific_handle().stream;
}

}  // namespace tektite::tf_hook
