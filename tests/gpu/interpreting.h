// Runs kernels for a device in tests: the interpreter, computing with the CPU back end's code.
#ifndef TEKTITE_TESTS_GPU_INTERPRETING_H_
#define TEKTITE_TESTS_GPU_INTERPRETING_H_

#include <memory>
#include <utility>
#include <vector>

#include "tests/gpu/interpreter/interpreted_kernel.h"
#include "tests/llvm/kernel_runner.h"

namespace tektite::testing {

// For AVX2: with AVX-512 some functions are computed by instructions that devices do not have.
inline constexpr char kHostOfDevices[] = "avx2";

inline absl::StatusOr<gpu::HostCode> CompileForHost(const loop::Kernel& kernel) {
  auto function = CompilerFor(kHostOfDevices).Compile(kernel);
  if (!function.ok()) return function.status();
  return gpu::HostCode{function->fn, function->code};
}

inline gpu::LaneFunctions& SharedLaneFunctions() {
  static auto* functions = new gpu::LaneFunctions(CompileForHost);
  return *functions;
}

// Memory as a device allocates it: at a multiple of 64.
template <typename T>
class Aligned {
 public:
  explicit Aligned(const std::vector<T>& values)
      : size_(values.size()), bytes_(values.size() * sizeof(T) + 64) {
    const auto address = reinterpret_cast<uintptr_t>(bytes_.data());
    data_ = reinterpret_cast<T*>(bytes_.data() + (64 - address % 64) % 64);
    std::copy(values.begin(), values.end(), data_);
  }
  T* data() { return data_; }
  std::vector<T> values() const { return std::vector<T>(data_, data_ + size_); }
  gpu::DeviceBuffer buffer() { return {data_, static_cast<int64_t>(size_ * sizeof(T))}; }

 private:
  size_t size_;
  std::vector<char> bytes_;
  T* data_;
};

inline absl::Status Interpret(std::unique_ptr<loop::Kernel> kernel,
                              const std::vector<gpu::DeviceBuffer>& buffers,
                              const std::vector<int64_t>& symbols = {}) {
  auto made = gpu::InterpretedKernel::Create(std::move(kernel), &SharedLaneFunctions());
  if (!made.ok()) return made.status();
  return (*made)->Run(buffers, symbols);
}

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_GPU_INTERPRETING_H_
