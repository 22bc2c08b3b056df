// Tensor maps by the stand-in (fake_driver.h): what the driver refuses is refused.
#include <cstring>

#include "backends/gpu/driver/driver_types.h"
#include "tests/gpu/fake_driver/fake_driver.h"
#include "tests/gpu/fake_driver/fake_state.h"

namespace tektite::gpu::fake {

// What a map holds here: its arguments, as FakeTensor has them.
extern "C" __attribute__((visibility("default"))) CuResult cuTensorMapEncodeTiled(
    CuTensorMap* map, CuTensorType type, uint32_t rank, void* address, const uint64_t* sizes,
    const uint64_t* strides, const uint32_t* box, const uint32_t* element_strides,
    CuTensorInterleave interleave, CuTensorSwizzle swizzle, CuTensorPromotion, CuTensorFill fill) {
  if (const int result = State::Get().Enter("cuTensorMapEncodeTiled", /*wants_context=*/false)) {
    return result;
  }
  constexpr uint64_t kMostSize = uint64_t{1} << 32, kMostStride = uint64_t{1} << 40;
  constexpr uint32_t kMostBox = 256, kRowBytes = 128, kElementBytes = 2;
  constexpr uint64_t kChunk = 16;
  const auto place = reinterpret_cast<uint64_t>(address);
  if (reinterpret_cast<uint64_t>(map) % alignof(CuTensorMap) != 0 || place % kChunk != 0 ||
      rank != 3 || (type != kCuTensorF16 && type != kCuTensorBF16) ||
      interleave != kCuNoInterleave || swizzle != kCuSwizzle128 || fill != kCuFillZero ||
      box[0] * kElementBytes > kRowBytes) {
    return kCuInvalidValue;
  }
  testing::FakeTensor tensor = {};
  tensor.address = place;
  tensor.type = type;
  for (uint32_t i = 0; i < rank; ++i) {
    if (sizes[i] < 1 || sizes[i] > kMostSize || box[i] < 1 || box[i] > kMostBox ||
        element_strides[i] != 1) {
      return kCuInvalidValue;
    }
    if (i > 0 && (strides[i - 1] % kChunk != 0 || strides[i - 1] >= kMostStride)) {
      return kCuInvalidValue;
    }
    tensor.sizes[i] = sizes[i];
    tensor.box[i] = box[i];
    if (i > 0) tensor.strides[i - 1] = strides[i - 1];
  }
  static_assert(sizeof(tensor) <= sizeof(CuTensorMap));
  std::memset(map, 0, sizeof(*map));
  std::memcpy(map, &tensor, sizeof(tensor));
  return kCuSuccess;
}

}  // namespace tektite::gpu::fake
