// top_k in the order of a heap (jit/base/heap_order.h). Rows run in parallel; of a long row, blocks
// without anything better than the heap's root are passed over.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "backends/cpu/library/comparable.h"
#include "backends/cpu/library/library_kernel.h"
#include "jit/base/heap_order.h"
#include "jit/base/rounding.h"

namespace tektite::cpu {
namespace {

using backend::KernelFrame;
using ir::Attr;

// Elements that are compared with the root at once.
constexpr int64_t kHeapBlock = 32;
constexpr int64_t kElementsPerChunk = 4096;

template <typename T>
class HeapTopK : public LibraryKernel {
 public:
  HeapTopK(Buffers buffers, const SizedOp& op)
      : LibraryKernel(std::move(buffers)),
        k_(op.Int(Attr::k)),
        length_(op.operand_shape(0).sizes().back()),
        rows_(ProductOf(op.shape(0).sizes()) / k_),
        rows_per_chunk_(std::max<int64_t>(kElementsPerChunk / length_, 1)) {
    config_.num_chunks = CeilDiv(rows_, rows_per_chunk_);
    config_.cost_ns = static_cast<double>(rows_) * static_cast<double>(length_);
  }

  void Run(const KernelFrame& frame, int64_t begin, int64_t end) const override {
    const int64_t last = std::min(end * rows_per_chunk_, rows_);
    for (int64_t row = begin * rows_per_chunk_; row < last; ++row) RunRow(frame, row);
  }

 private:
  void RunRow(const KernelFrame& frame, int64_t row) const {
    const T* const x = Operand<T>(frame, 0) + row * length_;
    const std::vector<int32_t> heap = Heap(x);
    if (auto* const indices = Result<int32_t>(frame, 1)) {
      std::copy(heap.begin(), heap.end(), indices + row * k_);
    }
    if (T* const values = Result<T>(frame, 0)) {
      for (int64_t i = 0; i < k_; ++i) values[row * k_ + i] = x[heap[i]];
    }
  }

  // An element behind the heap's is better where it is greater: of equal ones the first is.
  std::vector<int32_t> Heap(const T* x) const {
    const auto better = [x](int32_t a, int32_t b) {
      const auto first = Comparable(x[a]), second = Comparable(x[b]);
      return first > second || (!(first < second) && a < b);
    };
    std::vector<int32_t> heap = FirstHeap(k_, better);
    for (int64_t i = k_ + 1; i < length_; i += kHeapBlock) {
      const int64_t stop = std::min(i + kHeapBlock, length_);
      if (!AnyAbove(x + i, stop - i, x[heap[0]])) continue;
      for (int64_t at = i; at < stop; ++at) {
        if (!(Comparable(x[at]) > Comparable(x[heap[0]]))) continue;
        ReplaceRoot(heap.data(), k_, static_cast<int32_t>(at), better);
      }
    }
    return heap;
  }

  static bool AnyAbove(const T* x, int64_t n, T root) {
    const auto least = Comparable(root);
    int above = 0;
    for (int64_t i = 0; i < n; ++i) above |= Comparable(x[i]) > least ? 1 : 0;
    return above != 0;
  }

  const int64_t k_, length_, rows_, rows_per_chunk_;
};

}  // namespace

KernelPtr MakeHeapTopK(const SizedOp& op, Buffers buffers) {
  KernelPtr kernel;
  ir::DispatchDType(op.operand_shape(0).dtype(), [&](auto zero) {
    kernel = std::make_shared<HeapTopK<decltype(zero)>>(buffers, op);
  });
  return kernel;
}

}  // namespace tektite::cpu
