// sort and top_k; always stable, NaN is the greatest value, but in a heap's order.
#include <algorithm>
#include <numeric>

#include "jit/base/heap_order.h"
#include "jit/reference/eval.h"
#include "jit/reference/scalar_ops.h"

namespace tektite::reference {

using ir::Attr;
using ir::Literal;

namespace {

using Ints = std::vector<int64_t>;

template <typename T>
bool Less(T a, T b) {
  if constexpr (std::is_same_v<T, double>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(b) && !std::isnan(a);
  }
  return a < b;
}

// The order of the `length` elements x[base + i * step].
Ints SortedOrder(const Literal& x, int64_t base, int64_t step, int64_t length, bool descending) {
  Ints order(length);
  std::iota(order.begin(), order.end(), 0);
  DispatchDType(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
      if (descending) std::swap(i, j);
      return Less(Widen(x.data<T>()[base + i * step]), Widen(x.data<T>()[base + j * step]));
    });
  });
  return order;
}

Literals Sort(const EvalContext& c) {
  const Literal& keys = c.operand(0);
  const int64_t d = c.node.Int(Attr::dimension);
  const Ints strides = ir::RowMajorStrides(keys.sizes());
  Ints others = keys.sizes();
  Literals results;
  for (size_t i = 0; i < c.operands.size(); ++i) {
    results.push_back(c.AllocateResult(static_cast<int>(i)));
  }
  if (keys.num_elements() == 0) return results;
  others[d] = 1;
  ForEachIndex(others, [&](const Ints& index) {
    const int64_t base = Dot(index, strides);
    const Ints order =
        SortedOrder(keys, base, strides[d], keys.sizes()[d], c.node.Bool(Attr::descending));
    for (size_t i = 0; i < results.size(); ++i) {
      DispatchBytes(results[i].dtype(), [&](auto zero) {
        using T = decltype(zero);
        for (size_t k = 0; k < order.size(); ++k) {
          results[i].mutable_data<T>()[base + static_cast<int64_t>(k) * strides[d]] =
              c.operand(static_cast<int>(i)).data<T>()[base + order[k] * strides[d]];
        }
      });
    }
  });
  return results;
}

// The first k of `length` elements from x[base] on, as a heap has them.
Ints HeapOf(const Literal& x, int64_t base, int64_t length, int64_t k) {
  Ints order;
  DispatchDType(x.dtype(), [&](auto zero) {
    const auto* const line = x.data<decltype(zero)>() + base;
    const std::vector<int32_t> heap = HeapOrder(length, k, [line](int32_t a, int32_t b) {
      const auto first = Widen(line[a]), second = Widen(line[b]);
      return first > second || (!(first < second) && a < b);
    });
    order.assign(heap.begin(), heap.end());
  });
  return order;
}

Literals TopK(const EvalContext& c) {
  const Literal& x = c.operand(0);
  const int64_t k = c.node.Int(Attr::k), length = x.sizes().back();
  Literal values = c.AllocateResult(0), indices = c.AllocateResult(1);
  const int64_t rows = k == 0 ? 0 : values.num_elements() / k;
  for (int64_t row = 0; row < rows; ++row) {
    const Ints order = c.node.Bool(Attr::heap) && k > 1 && k < length
                           ? HeapOf(x, row * length, length, k)
                           : SortedOrder(x, row * length, 1, length, /*descending=*/true);
    DispatchBytes(x.dtype(), [&](auto zero) {
      using T = decltype(zero);
      for (int64_t i = 0; i < k; ++i) {
        values.mutable_data<T>()[row * k + i] = x.data<T>()[row * length + order[i]];
        indices.mutable_data<int32_t>()[row * k + i] = static_cast<int32_t>(order[i]);
      }
    });
  }
  return {values, indices};
}

}  // namespace

absl::StatusOr<Literals> EvalOrder(const EvalContext& c) {
  return c.op() == ir::Op::kSort ? Sort(c) : TopK(c);
}

}  // namespace tektite::reference
