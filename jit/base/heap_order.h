// The best k of n elements in the order in which a heap of them lies in memory.
//
// Why: TensorFlow's TopKV2 with sorted=false returns them so, and a program that draws one of them
// by its place, as samplers of text do, depends on it.
//
//   std::vector<int32_t> heap = HeapOrder(n, k, [&](int32_t a, int32_t b) {   // 0 < k < n
//     return x[a] != x[b] ? x[a] > x[b] : a < b;                              // a is better
//   });
//
// The heap's root is the worst.  It is built of the first k + 1 elements from its last parent up to
// the root; then its root leaves.  For each later element that is better than the root, the root
// leaves and the element joins behind the others.  The last element takes the place of a root that
// leaves: it does so at the bottom, where the worse child of each hole has moved up, and rises from
// there.
// R. W. Floyd, "Algorithm 245: Treesort 3" (1964), and J. W. J. Williams, "Algorithm 232: Heapsort"
// (1964), have the parts.
#ifndef TEKTITE_JIT_BASE_HEAP_ORDER_H_
#define TEKTITE_JIT_BASE_HEAP_ORDER_H_

#include <cstdint>
#include <numeric>
#include <vector>

namespace tektite {

// Puts `element` into the hole at `hole`, or above it, but not above `top`.
template <typename Better>
void Rise(int32_t* heap, int64_t hole, int64_t top, int32_t element, const Better& better) {
  while (hole > top) {
    const int64_t parent = (hole - 1) / 2;
    if (!better(heap[parent], element)) break;
    heap[hole] = heap[parent];
    hole = parent;
  }
  heap[hole] = element;
}

// Puts `element` into a heap of `size` elements of which the one at `hole` has left.
template <typename Better>
void FillHole(int32_t* heap, int64_t size, int64_t hole, int32_t element, const Better& better) {
  const int64_t top = hole;
  for (int64_t child = 2 * hole + 1; child < size; child = 2 * hole + 1) {
    if (child + 1 < size && !better(heap[child + 1], heap[child])) ++child;
    heap[hole] = heap[child];
    hole = child;
  }
  Rise(heap, hole, top, element, better);
}

// The heap of the first k + 1 elements without the worst of them.
template <typename Better>
std::vector<int32_t> FirstHeap(int64_t k, const Better& better) {
  std::vector<int32_t> heap(k + 1);
  std::iota(heap.begin(), heap.end(), 0);
  for (int64_t parent = (k - 1) / 2; parent >= 0; --parent) {
    FillHole(heap.data(), k + 1, parent, heap[parent], better);
  }
  FillHole(heap.data(), k, 0, heap[k], better);
  heap.pop_back();
  return heap;
}

// `element`, which is better than the root, in its stead.
template <typename Better>
void ReplaceRoot(int32_t* heap, int64_t k, int32_t element, const Better& better) {
  FillHole(heap, k - 1, 0, heap[k - 1], better);
  Rise(heap, k - 1, 0, element, better);
}

template <typename Better>
std::vector<int32_t> HeapOrder(int64_t n, int64_t k, const Better& better) {
  std::vector<int32_t> heap = FirstHeap(k, better);
  for (auto i = static_cast<int32_t>(k + 1); i < n; ++i) {
    if (better(i, heap[0])) ReplaceRoot(heap.data(), k, i, better);
  }
  return heap;
}

}  // namespace tektite

#endif  // TEKTITE_JIT_BASE_HEAP_ORDER_H_
