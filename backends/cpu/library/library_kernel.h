// The base of the kernels that are compiled with this library; private to backends/cpu.
#ifndef TEKTITE_BACKENDS_CPU_LIBRARY_LIBRARY_KERNEL_H_
#define TEKTITE_BACKENDS_CPU_LIBRARY_LIBRARY_KERNEL_H_

#include <memory>
#include <utility>
#include <vector>

#include "backends/cpu/library/sized_op.h"
#include "jit/backend/kernel.h"

namespace tektite::cpu {

using KernelPtr = std::shared_ptr<const backend::HostKernel>;

// Where in a frame the op's operands and results lie.
struct Buffers {
  std::vector<int> operands;  // an operand may be one of the fusion's several times
  std::vector<int> results;   // -1: nothing reads it, and there is no memory for it
};

class LibraryKernel : public backend::HostKernel {
 public:
  explicit LibraryKernel(Buffers buffers) : buffers_(std::move(buffers)) {}
  backend::LaunchConfig Configure(absl::Span<const int64_t>) const override { return config_; }

 protected:
  template <typename T>
  const T* Operand(const backend::KernelFrame& frame, size_t i) const {
    return static_cast<const T*>(frame.buffers[buffers_.operands[i]]);
  }
  // Null when nothing reads it.
  template <typename T>
  T* Result(const backend::KernelFrame& frame, size_t i) const {
    return buffers_.results[i] < 0 ? nullptr : static_cast<T*>(frame.buffers[buffers_.results[i]]);
  }

  const Buffers buffers_;
  backend::LaunchConfig config_;
};

// Lines that are put in order are shorter: an index has 32 bits.
inline constexpr int64_t kMostOrdered = int64_t{1} << 32;
// Lines that are transformed are no longer: what a worker needs for them would be a gigabyte.
inline constexpr int64_t kMostTransformed = int64_t{1} << 22;

// library_families.cc: the kernel of an op of one of the families below.
KernelPtr MakeKernelOfFamily(const SizedOp& op, Buffers buffers);
// The same from numbers: the places of operands and of results, each with their number before them,
// and SizedOp's words.
KernelPtr KernelOfWords(const int64_t* words);
// matrix_kernels.cc: an op of the family `matrix`.
KernelPtr MakeMatrixKernel(const SizedOp& op, Buffers buffers);
// spectrum_kernels.cc: an op of the family `spectrum`.
KernelPtr MakeSpectrumKernel(const SizedOp& op, Buffers buffers);
// long_spectrum_kernels.cc: null where lines are short, or enough to fill a vector.
KernelPtr MakeLongSpectrum(const SizedOp& op, Buffers buffers);
// heap_kernels.cc: top_k with the attribute heap, of more than one element, but not of all.
KernelPtr MakeHeapTopK(const SizedOp& op, Buffers buffers);
// order_kernels.cc: sort and top_k.
KernelPtr MakeOrderKernel(const SizedOp& op, Buffers buffers);
// selection_kernels.cc: an op of the family `selection`.
KernelPtr MakeSelectionKernel(const SizedOp& op, Buffers buffers);
// lookup_kernels.cc: unique, is_member.
KernelPtr MakeLookup(const SizedOp& op, Buffers buffers);
// suppression_kernel.cc
KernelPtr MakeNonMaxSuppression(const SizedOp& op, Buffers buffers);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_LIBRARY_LIBRARY_KERNEL_H_
