// Cards behind devices of TensorFlow's, in a CUDA build of it.
//
//   std::optional<Card> card = Card::Of(*device);            // nothing for a CPU
//   options.card_memory_context = card->allocator; ...       // OfferMemory
//   call.stream = StreamOf(context);                         // on which the call's kernels run
//
// All that is asked of TensorFlow here are virtual functions of objects that it hands out, so that
// the hook needs no symbol that only a CUDA build has, and one hook serves both builds.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_CARD_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_CARD_H_

#include <optional>

#include "runtime_hooks/c_api/tektite.h"
#include "tensorflow/core/framework/device_base.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "xla/stream_executor/stream.h"

namespace tektite::tf_hook {

struct Card {
  int number = 0;  // as the driver counts
  // Of the device; both live as long as the process, as TensorFlow's do.
  tensorflow::Allocator* allocator = nullptr;
  stream_executor::Stream* stream = nullptr;

  // Nothing for a device that is none of CUDA's.
  static std::optional<Card> Of(tensorflow::DeviceBase& device);
  // The device's own memory: TensorFlow takes nearly all of the card's at its start.  Borrows this.
  void OfferMemory(tektite_options* options) const;
};

// The driver's stream of the call's kernels; null where there is none.
void* StreamOf(tensorflow::OpKernelContext* context);

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_CARD_H_
