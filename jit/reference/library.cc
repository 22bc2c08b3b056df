// Linear algebra and transforms by their definitions, in double.
#include <algorithm>
#include <cmath>

#include "jit/reference/eval.h"
#include "jit/reference/scalar_ops.h"

namespace tektite::reference {

using ir::Attr;
using ir::Literal;
using ir::Op;

namespace {

using Doubles = std::vector<double>;
using Ints = std::vector<int64_t>;

Doubles Values(const Literal& x) {
  Doubles values(x.num_elements());
  for (size_t i = 0; i < values.size(); ++i) values[i] = x.AsDouble(static_cast<int64_t>(i));
  return values;
}

Literal Stored(const EvalContext& c, const Doubles& values) {
  Literal literal = c.AllocateResult();
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

// A matrix that is not positive definite gives NaN.
Literal Cholesky(const EvalContext& c) {
  const Literal& a = c.operand(0);
  const int64_t n = a.sizes().back(), count = n == 0 ? 0 : a.num_elements() / (n * n);
  const bool lower = c.node.Bool(Attr::lower, true);
  const Doubles in = Values(a);
  Doubles out(in.size(), 0);
  for (int64_t m = 0; m < count; ++m) {
    // Element (i, j) of the lower triangle, wherever it is stored.
    auto at = [&](int64_t i, int64_t j) { return m * n * n + (lower ? i * n + j : j * n + i); };
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = j; i < n; ++i) {
        double sum = in[at(i, j)];
        for (int64_t k = 0; k < j; ++k) sum -= out[at(i, k)] * out[at(j, k)];
        out[at(i, j)] = i == j ? std::sqrt(sum) : sum / out[at(j, j)];
      }
    }
  }
  return Stored(c, out);
}

Literal TriangularSolve(const EvalContext& c) {
  const Literal &a = c.operand(0), &b = c.operand(1);
  const int64_t n = a.sizes().back(), count = n == 0 ? 0 : a.num_elements() / (n * n);
  const bool left = c.node.Bool(Attr::left_side, true);
  const bool transpose = c.node.Bool(Attr::transpose_a);
  const bool unit = c.node.Bool(Attr::unit_diagonal);
  const int64_t rows = b.sizes()[b.rank() - 2], columns = b.sizes().back();
  const int64_t systems = left ? columns : rows;
  // x a = b is the same as transpose(a) transpose(x) = transpose(b).
  const bool flipped = transpose != !left;
  const bool forward = c.node.Bool(Attr::lower, true) != flipped;
  const Doubles in = Values(a);
  Doubles x = Values(b);
  for (int64_t m = 0; m < count; ++m) {
    auto coefficient = [&](int64_t i, int64_t j) {
      return in[m * n * n + (flipped ? j * n + i : i * n + j)];
    };
    for (int64_t s = 0; s < systems; ++s) {
      auto at = [&](int64_t i) {
        return m * rows * columns + (left ? i * columns + s : s * columns + i);
      };
      for (int64_t step = 0; step < n; ++step) {
        const int64_t i = forward ? step : n - 1 - step;
        double sum = x[at(i)];
        for (int64_t done = 0; done < step; ++done) {
          const int64_t j = forward ? done : n - 1 - done;
          sum -= coefficient(i, j) * x[at(j)];
        }
        x[at(i)] = unit ? sum : sum / coefficient(i, i);
      }
    }
  }
  return Stored(c, x);
}

// One dimension after the other, each by the sum that defines it.
Literal Fft(const EvalContext& c) {
  const Literal& x = c.operand(0);
  const bool inverse = c.node.String(Attr::direction) == "inverse";
  const int transformed = static_cast<int>(c.node.Ints(Attr::fft_length).size());
  const Ints strides = ir::RowMajorStrides(x.sizes());
  Doubles values = Values(x);
  for (int d = x.rank() - 1 - transformed; d < x.rank() - 1; ++d) {
    const int64_t n = x.sizes()[d], step = strides[d];
    Doubles next(values.size());
    ForEachIndex(x.sizes(), [&](const Ints& index) {
      if (index.back() != 0) return;  // real and imaginary part together
      const int64_t place = Dot(index, strides), base = place - index[d] * step;
      double re = 0, im = 0;
      for (int64_t k = 0; k < n; ++k) {
        const double angle =
            (inverse ? 1 : -1) * 6.283185307179586 * static_cast<double>(k * index[d] % n) / n;
        const double r = values[base + k * step], i = values[base + k * step + 1];
        re += r * std::cos(angle) - i * std::sin(angle);
        im += r * std::sin(angle) + i * std::cos(angle);
      }
      next[place] = inverse ? re / n : re;
      next[place + 1] = inverse ? im / n : im;
    });
    values = std::move(next);
  }
  return Stored(c, values);
}

}  // namespace

absl::StatusOr<Literals> EvalLibrary(const EvalContext& c) {
  switch (c.op()) {
    case Op::kCholesky:
      return Literals{Cholesky(c)};
    case Op::kTriangularSolve:
      return Literals{TriangularSolve(c)};
    default:
      return Literals{Fft(c)};
  }
}

}  // namespace tektite::reference
