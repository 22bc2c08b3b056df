#include "runtime_hooks/tensorflow/hook/run/finite_tensor.h"

#include <cstdint>

#include "runtime_hooks/tensorflow/hook/run/xla_guard.h"
#include "tensorflow/core/framework/types.h"

namespace tektite::tf_hook {
namespace {

template <typename Bits>
bool AreFinite(const tensorflow::Tensor& tensor, Bits exponent) {
  return AllFinite(static_cast<const Bits*>(tensor.data()), tensor.TotalBytes() / sizeof(Bits),
                   exponent);
}

}  // namespace

bool IsFinite(const tensorflow::Tensor& tensor) {
  switch (tensor.dtype()) {
    case tensorflow::DT_BFLOAT16:
      return AreFinite<uint16_t>(tensor, 0x7f80);
    case tensorflow::DT_HALF:
      return AreFinite<uint16_t>(tensor, 0x7c00);
    case tensorflow::DT_COMPLEX64:
    case tensorflow::DT_FLOAT:
      return AreFinite<uint32_t>(tensor, 0x7f800000);
    case tensorflow::DT_COMPLEX128:
    case tensorflow::DT_DOUBLE:
      return AreFinite<uint64_t>(tensor, 0x7ff0000000000000);
    default:
      return true;
  }
}

}  // namespace tektite::tf_hook
