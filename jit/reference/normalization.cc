// Batch normalization, computed in double and rounded once.
//
// With x' = (x - mean) / sqrt(variance + epsilon) and means over all but the feature dimension:
//   training, inference:  y = scale x' + offset
//   gradient of scale:    sum(dy x'), of offset: sum(dy)
//   gradient of x:        scale / sqrt(variance + epsilon) (dy - mean(dy) - x' mean(dy x'))
// (Ioffe and Szegedy, "Batch normalization", 2015).
#include <cmath>

#include "jit/reference/eval.h"
#include "jit/reference/scalar_ops.h"

namespace tektite::reference {

using ir::Attr;
using ir::Literal;
using ir::Op;

namespace {

using Doubles = std::vector<double>;

Doubles Values(const Literal& x) {
  Doubles values(x.num_elements());
  for (size_t i = 0; i < values.size(); ++i) values[i] = x.AsDouble(static_cast<int64_t>(i));
  return values;
}

Literal Stored(const EvalContext& c, int result, const Doubles& values) {
  Literal literal = c.AllocateResult(result);
  DispatchDType(literal.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (kIsFloat<T>) {
      for (size_t i = 0; i < values.size(); ++i) {
        literal.mutable_data<T>()[i] = Narrow<T>(values[i]);
      }
    }
  });
  return literal;
}

// The feature of each element.
struct Features {
  int64_t count, inner;
  double per_feature;  // elements of one feature
  size_t of(size_t i) const { return i / inner % count; }
};

Features GetFeatures(const EvalContext& c) {
  const Literal& x = c.operand(0);
  const int64_t d = c.node.Int(Attr::feature_index);
  const int64_t inner = ir::RowMajorStrides(x.sizes())[d], count = x.sizes()[d];
  return {count, inner, count == 0 ? 0.0 : static_cast<double>(x.num_elements()) / count};
}

Doubles Normalized(const Doubles& x, const Features& f, const Doubles& mean,
                   const Doubles& variance, double epsilon) {
  Doubles result(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    result[i] = (x[i] - mean[f.of(i)]) / std::sqrt(variance[f.of(i)] + epsilon);
  }
  return result;
}

// Means over each feature's elements of term(i).
template <typename F>
Doubles Means(const Features& f, size_t n, F&& term) {
  Doubles means(f.count, 0);
  for (size_t i = 0; i < n; ++i) means[f.of(i)] += term(i);
  for (double& m : means) m /= f.per_feature;
  return means;
}

Literals Gradient(const EvalContext& c, const Features& f, const Doubles& x, double epsilon) {
  const Doubles scale = Values(c.operand(1)), mean = Values(c.operand(2));
  const Doubles variance = Values(c.operand(3)), dy = Values(c.operand(4));
  const Doubles hat = Normalized(x, f, mean, variance, epsilon);
  const Doubles dy_mean = Means(f, x.size(), [&](size_t i) { return dy[i]; });
  const Doubles dy_hat_mean = Means(f, x.size(), [&](size_t i) { return dy[i] * hat[i]; });
  Doubles dx(x.size()), dscale(f.count, 0), doffset(f.count, 0);
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t k = f.of(i);
    dx[i] = scale[k] / std::sqrt(variance[k] + epsilon) *
            (dy[i] - dy_mean[k] - hat[i] * dy_hat_mean[k]);
    dscale[k] += dy[i] * hat[i];
    doffset[k] += dy[i];
  }
  return {Stored(c, 0, dx), Stored(c, 1, dscale), Stored(c, 2, doffset)};
}

}  // namespace

absl::StatusOr<Literals> EvalNormalization(const EvalContext& c) {
  const Features f = GetFeatures(c);
  const Doubles x = Values(c.operand(0));
  const double epsilon = c.node.attrs().Double(Attr::epsilon);
  if (c.op() == Op::kBatchNormGrad) return Gradient(c, f, x, epsilon);
  Doubles mean, variance;
  if (c.op() == Op::kBatchNormTraining) {
    mean = Means(f, x.size(), [&](size_t i) { return x[i]; });
    variance = Means(f, x.size(),
                     [&](size_t i) { return (x[i] - mean[f.of(i)]) * (x[i] - mean[f.of(i)]); });
  } else {
    mean = Values(c.operand(3));
    variance = Values(c.operand(4));
  }
  const Doubles scale = Values(c.operand(1)), offset = Values(c.operand(2));
  Doubles y = Normalized(x, f, mean, variance, epsilon);
  for (size_t i = 0; i < y.size(); ++i) y[i] = scale[f.of(i)] * y[i] + offset[f.of(i)];
  if (c.op() == Op::kBatchNormInference) return Literals{Stored(c, 0, y)};
  return Literals{Stored(c, 0, y), Stored(c, 1, mean), Stored(c, 2, variance)};
}

}  // namespace tektite::reference
