// dot_general and convolution: sums of products accumulated in double, integers modulo 2^n.
#include <algorithm>

#include "jit/ops/ops.h"
#include "jit/reference/eval.h"
#include "jit/reference/scalar_ops.h"

namespace tektite::reference {

using ir::Literal;
using ir::RowMajorStrides;

namespace {

using Ints = std::vector<int64_t>;

// Calls f(zeros of the operands' types, zero of the sums'), which is one type unless `dtype` is
// set.
template <typename F>
void DispatchSums(const EvalContext& c, F&& f) {
  const ir::DType lhs = c.operand(0).dtype(), sums = c.node.shape().dtype();
  if (ir::IsFloat(lhs) && c.operand(1).dtype() == ir::DType::kS8) {
    if (lhs == ir::DType::kF16) return f(ir::Half(), int8_t{0}, float{0});
    if (lhs == ir::DType::kBF16) return f(ir::BFloat16(), int8_t{0}, float{0});
    return f(float{0}, int8_t{0}, float{0});
  }
  if (lhs == ir::DType::kBF16 && sums == ir::DType::kF32) {
    return f(ir::BFloat16(), ir::BFloat16(), float{0});
  }
  if (lhs == ir::DType::kS8 && sums == ir::DType::kS32) {
    return f(int8_t{0}, int8_t{0}, int32_t{0});
  }
  if (lhs == ir::DType::kU8 && sums == ir::DType::kS32) {
    return f(uint8_t{0}, int8_t{0}, int32_t{0});
  }
  DispatchDType(lhs, [&](auto zero) { f(zero, zero, zero); });
}

template <typename T>
void MultiplyAdd(Wide<T>* sum, Wide<T> a, Wide<T> b) {
  if constexpr (kIsFloat<T>) {
    *sum += a * b;
  } else {
    using U = Wrapping<T>;
    *sum = static_cast<T>(static_cast<U>(*sum) + static_cast<U>(a) * static_cast<U>(b));
  }
}

Ints Pick(const Ints& values, const Ints& dimensions) {
  Ints picked;
  for (int64_t d : dimensions) picked.push_back(values[d]);
  return picked;
}

// Offsets of every index over `dimensions` of x, in row-major order.
Ints Offsets(const Literal& x, const Ints& dimensions) {
  const Ints strides = Pick(RowMajorStrides(x.sizes()), dimensions);
  Ints offsets;
  ForEachIndex(Pick(x.sizes(), dimensions),
               [&](const Ints& index) { offsets.push_back(Dot(index, strides)); });
  return offsets;
}

Literal DotGeneral(const EvalContext& c) {
  const Literal &lhs = c.operand(0), &rhs = c.operand(1);
  const ops::DotDims d = ops::GetDotDims(c.node);
  const Ints lhs_batch = Offsets(lhs, d.lhs_batch), rhs_batch = Offsets(rhs, d.rhs_batch);
  const Ints lhs_free = Offsets(lhs, d.lhs_free), rhs_free = Offsets(rhs, d.rhs_free);
  const Ints lhs_sum = Offsets(lhs, d.lhs_contracting), rhs_sum = Offsets(rhs, d.rhs_contracting);
  Literal result = c.AllocateResult();
  DispatchSums(c, [&](auto zero, auto rhs_zero, auto sum_zero) {
    using T = decltype(zero);
    using R = decltype(rhs_zero);
    using S = decltype(sum_zero);
    if constexpr (!std::is_same_v<T, bool>) {
      S* to = result.mutable_data<S>();
      for (size_t b = 0; b < lhs_batch.size(); ++b) {
        for (int64_t row : lhs_free) {
          for (int64_t column : rhs_free) {
            const T* x = lhs.data<T>() + lhs_batch[b] + row;
            const R* y = rhs.data<R>() + rhs_batch[b] + column;
            Wide<S> sum = 0;
            for (size_t k = 0; k < lhs_sum.size(); ++k) {
              MultiplyAdd<S>(&sum, Widen(x[lhs_sum[k]]), Widen(y[rhs_sum[k]]));
            }
            *to++ = Narrow<S>(sum);
          }
        }
      }
    }
  });
  return result;
}

// With feature groups, output feature o reads the input features of its group.  With batch groups,
// output feature o reads the batches of group o / (features / groups): the kernel gradient of a
// grouped convolution.
Literal Convolution(const EvalContext& c) {
  const Literal &x = c.operand(0), &kernel = c.operand(1);
  const ops::ConvDims d = *ops::GetConvDims(x.rank(), c.node.attrs());
  const Ints x_strides = RowMajorStrides(x.sizes()), k_strides = RowMajorStrides(kernel.sizes());
  const int64_t depth = kernel.sizes()[d.kernel_input], features = kernel.sizes()[d.kernel_output];
  const int64_t per_feature_group = features / d.feature_groups;
  const int64_t per_batch_group = features / d.batch_groups;
  const Ints kernel_spatial(d.kernel_spatial.begin(), d.kernel_spatial.end());
  const Ints window = Pick(kernel.sizes(), kernel_spatial);
  Literal result = c.AllocateResult();
  const int64_t batches = result.sizes()[d.output_batch];
  DispatchSums(c, [&](auto zero, auto rhs_zero, auto sum_zero) {
    using T = decltype(zero);
    using R = decltype(rhs_zero);
    using S = decltype(sum_zero);
    if constexpr (!std::is_same_v<T, bool>) {
      S* to = result.mutable_data<S>();
      ForEachIndex(result.sizes(), [&](const Ints& place) {
        const int64_t feature = place[d.output_feature];
        const int64_t batch = feature / per_batch_group * batches + place[d.output_batch];
        const int64_t first = feature / per_feature_group * depth;
        const T* x_base =
            x.data<T>() + batch * x_strides[d.input_batch] + first * x_strides[d.input_feature];
        const R* k_base = kernel.data<R>() + feature * k_strides[d.kernel_output];
        Wide<S> sum = 0;
        ForEachIndex(window, [&](const Ints& tap) {
          int64_t x_at = 0, k_at = 0;
          for (int i = 0; i < d.spatial; ++i) {
            const int64_t dilated =
                place[d.output_spatial[i]] * d.strides[i] + tap[i] * d.rhs_dilation[i] - d.low[i];
            if (dilated < 0 || dilated % d.lhs_dilation[i] != 0) return;
            const int64_t at = dilated / d.lhs_dilation[i];
            if (at >= x.sizes()[d.input_spatial[i]]) return;
            x_at += at * x_strides[d.input_spatial[i]];
            k_at += tap[i] * k_strides[d.kernel_spatial[i]];
          }
          for (int64_t k = 0; k < depth; ++k) {
            MultiplyAdd<S>(&sum, Widen(x_base[x_at + k * x_strides[d.input_feature]]),
                           Widen(k_base[k_at + k * k_strides[d.kernel_input]]));
          }
        });
        *to++ = Narrow<S>(sum);
      });
    }
  });
  return result;
}

}  // namespace

absl::StatusOr<Literals> EvalContraction(const EvalContext& c) {
  return Literals{c.op() == ir::Op::kDotGeneral ? DotGeneral(c) : Convolution(c)};
}

}  // namespace tektite::reference
