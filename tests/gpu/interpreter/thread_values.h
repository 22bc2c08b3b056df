// A value of the loop IR in all threads of a block: an array, thread by thread, lane by lane.
#ifndef TEKTITE_TESTS_GPU_INTERPRETER_THREAD_VALUES_H_
#define TEKTITE_TESTS_GPU_INTERPRETER_THREAD_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "jit/base/rounding.h"
#include "jit/llvm/loop_ir.h"
#include "tests/gpu/interpreter/checked_memory.h"
#include "tests/gpu/interpreter/lane_functions.h"

namespace tektite::gpu {

// What memcpy does, without a call for the sizes of elements.
inline void CopyBytes(void* to, const void* from, size_t bytes) {
  switch (bytes) {
    case 1:
      return static_cast<void>(std::memcpy(to, from, 1));
    case 2:
      return static_cast<void>(std::memcpy(to, from, 2));
    case 4:
      return static_cast<void>(std::memcpy(to, from, 4));
    case 8:
      return static_cast<void>(std::memcpy(to, from, 8));
    case 16:
      return static_cast<void>(std::memcpy(to, from, 16));
    default:
      std::memcpy(to, from, bytes);
  }
}

class ThreadValues {
 public:
  ThreadValues() = default;
  // Zero in all threads.  The end is rounded up to what lane functions touch.
  ThreadValues(loop::Type type, int threads)
      : element_bytes_(type.pointer ? static_cast<int>(sizeof(Place)) : ir::DTypeBytes(type.dtype)),
        thread_bytes_(element_bytes_ * type.lanes),
        elements_(int64_t{threads} * type.lanes),
        data_(static_cast<size_t>(RoundUp(elements_, kLanesAtOnce) * element_bytes_)) {}

  int64_t elements() const { return elements_; }
  int element_bytes() const { return element_bytes_; }
  int thread_bytes() const { return thread_bytes_; }
  std::byte* data() { return data_.data(); }
  std::byte* at(int thread, int lane = 0) {
    return data_.data() + int64_t{thread} * thread_bytes_ + int64_t{lane} * element_bytes_;
  }
  // Whether every thread has what the first one has.
  bool IsSameInAll() const {
    const std::byte* const first = data_.data();
    const auto bytes = static_cast<size_t>(elements_ * element_bytes_ - thread_bytes_);
    return bytes == 0 || std::memcmp(first, first + thread_bytes_, bytes) == 0;
  }
  // Number of the product of a warpgroup that these are sums of, in all threads; 0: of none.
  int64_t product() const { return product_; }
  void set_product(int64_t number) { product_ = number; }
  template <typename T>
  T Get(int thread, int lane = 0) {
    T v;
    std::memcpy(&v, at(thread, lane), sizeof(T));
    return v;
  }
  // Of s8 or u8.
  int32_t GetByte(ir::DType dtype, int thread, int lane) {
    return dtype == ir::DType::kS8 ? Get<int8_t>(thread, lane) : Get<uint8_t>(thread, lane);
  }
  template <typename T>
  void Set(int thread, const T& v, int lane = 0) {
    std::memcpy(at(thread, lane), &v, sizeof(T));
  }

 private:
  int element_bytes_ = 0, thread_bytes_ = 0;
  int64_t elements_ = 0, product_ = 0;
  std::vector<std::byte> data_;
};

}  // namespace tektite::gpu

#endif  // TEKTITE_TESTS_GPU_INTERPRETER_THREAD_VALUES_H_
