// Factorizations and solvers, by the plainest method for each, in double.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "jit/reference/eval.h"

namespace tektite::reference {

using ir::Attr;
using ir::Literal;
using ir::Op;

namespace {

struct Matrix {
  Matrix(int64_t r, int64_t c) : rows(r), columns(c), values(r * c, 0.0) {}
  double& operator()(int64_t i, int64_t j) { return values[i * columns + j]; }
  double operator()(int64_t i, int64_t j) const { return values[i * columns + j]; }
  static Matrix Identity(int64_t n) {
    Matrix m(n, n);
    for (int64_t i = 0; i < n; ++i) m(i, i) = 1;
    return m;
  }
  Matrix Transposed() const {
    Matrix t(columns, rows);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) t(j, i) = (*this)(i, j);
    }
    return t;
  }
  int64_t rows, columns;
  std::vector<double> values;
};

struct Answer {
  std::vector<Matrix> results;
  bool ok = true;
};

Answer Cholesky(const Matrix& a) {
  const int64_t n = a.rows;
  Answer answer{{Matrix(n, n)}};
  Matrix& l = answer.results[0];
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = j; i < n; ++i) {
      double sum = a(i, j);
      for (int64_t k = 0; k < j; ++k) sum -= l(i, k) * l(j, k);
      if (i == j && sum <= 0) answer.ok = false;  // NaN is no reason
      l(i, j) = i == j ? std::sqrt(sum) : sum / l(j, j);
    }
  }
  for (int64_t i = 0; !answer.ok && i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) l(i, j) = std::numeric_limits<double>::quiet_NaN();
  }
  return answer;
}

Answer TriangularSolve(Matrix a, Matrix x, bool lower, bool transpose) {
  if (transpose) a = a.Transposed();
  const bool forward = lower != transpose;
  const int64_t n = a.rows;
  bool ok = true;
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = forward ? step : n - 1 - step;
    if (a(i, i) == 0) ok = false;
    for (int64_t c = 0; c < x.columns; ++c) {
      for (int64_t k = forward ? 0 : i + 1; k < (forward ? i : n); ++k)
        x(i, c) -= a(i, k) * x(k, c);
      x(i, c) /= a(i, i);
    }
  }
  return {{x}, ok};
}

// TensorFlow's elimination of three diagonals takes NaN for a pivot, others do not.
Answer Solve(Matrix a, Matrix x, bool pivots, bool tridiagonal = false) {
  const int64_t n = a.rows;
  bool ok = true;
  for (int64_t j = 0; j < n; ++j) {
    int64_t best = j;
    for (int64_t i = j + 1; pivots && i < n; ++i) {
      if (std::abs(a(i, j)) > std::abs(a(best, j))) best = i;
    }
    const double pivot = a(best, j);
    if (tridiagonal ? pivot == 0 : !(std::abs(pivot) > 0)) ok = false;
    for (int64_t c = 0; c < n; ++c) std::swap(a(j, c), a(best, c));
    for (int64_t c = 0; c < x.columns; ++c) std::swap(x(j, c), x(best, c));
    for (int64_t i = j + 1; i < n; ++i) {
      const double factor = a(i, j) / a(j, j);
      for (int64_t c = j; c < n; ++c) a(i, c) -= factor * a(j, c);
      for (int64_t c = 0; c < x.columns; ++c) x(i, c) -= factor * x(j, c);
    }
  }
  Answer answer = TriangularSolve(a, x, /*lower=*/false, /*transpose=*/false);
  answer.ok = ok;
  return answer;
}

Answer TridiagonalSolve(const Matrix& diagonals, const Matrix& b, bool pivots) {
  const int64_t n = diagonals.columns;
  Matrix a(n, n);
  for (int64_t i = 0; i < n; ++i) {
    a(i, i) = diagonals(1, i);
    if (i + 1 < n) a(i, i + 1) = diagonals(0, i);
    if (i > 0) a(i, i - 1) = diagonals(2, i);
  }
  return Solve(a, b, pivots, /*tridiagonal=*/true);
}

// By Householder's reflections, each of which makes the diagonal's number the negative of the sign
// that it had.
Answer Qr(const Matrix& a, bool full) {
  const int64_t m = a.rows, n = a.columns, p = full ? m : std::min(m, n);
  Matrix r = a, q = Matrix::Identity(m);
  for (int64_t j = 0; j < std::min(m, n); ++j) {
    double tail = 0;
    for (int64_t i = j + 1; i < m; ++i) tail += r(i, j) * r(i, j);
    if (tail == 0) continue;
    const double norm = std::sqrt(r(j, j) * r(j, j) + tail), beta = r(j, j) >= 0 ? -norm : norm;
    std::vector<double> v(m, 0.0);
    v[j] = 1;
    for (int64_t i = j + 1; i < m; ++i) v[i] = r(i, j) / (r(j, j) - beta);
    const double tau = (beta - r(j, j)) / beta;
    for (int64_t c = 0; c < n; ++c) {
      double sum = 0;
      for (int64_t i = j; i < m; ++i) sum += v[i] * r(i, c);
      for (int64_t i = j; i < m; ++i) r(i, c) -= tau * sum * v[i];
    }
    for (int64_t i = 0; i < m; ++i) {
      double sum = 0;
      for (int64_t c = j; c < m; ++c) sum += q(i, c) * v[c];
      for (int64_t c = j; c < m; ++c) q(i, c) -= tau * sum * v[c];
    }
  }
  Answer answer{{Matrix(m, p), Matrix(p, n)}};
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < p; ++j) answer.results[0](i, j) = q(i, j);
  }
  for (int64_t i = 0; i < p; ++i) {
    for (int64_t j = i; j < n; ++j) answer.results[1](i, j) = r(i, j);
  }
  return answer;
}

// Rotates columns j and k of `m`.
void Rotate(double cosine, double sine, int64_t j, int64_t k, Matrix* m) {
  for (int64_t i = 0; i < m->rows; ++i) {
    const double x = (*m)(i, j), y = (*m)(i, k);
    (*m)(i, j) = cosine * x - sine * y;
    (*m)(i, k) = sine * x + cosine * y;
  }
}

// One-sided Jacobi: rotations from the right until the columns of `a` are orthogonal; `v` gets the
// same rotations.
void Orthogonalize(Matrix* a, Matrix* v) {
  for (int sweep = 0; sweep < 60; ++sweep) {
    double worst = 0;
    for (int64_t j = 0; j < a->columns; ++j) {
      for (int64_t k = j + 1; k < a->columns; ++k) {
        double jj = 0, kk = 0, jk = 0;
        for (int64_t i = 0; i < a->rows; ++i) {
          jj += (*a)(i, j) * (*a)(i, j);
          kk += (*a)(i, k) * (*a)(i, k);
          jk += (*a)(i, j) * (*a)(i, k);
        }
        if (std::abs(jk) <= 1e-300) continue;
        worst = std::max(worst, std::abs(jk) / std::sqrt(jj * kk));
        const double zeta = (kk - jj) / (2 * jk);
        const double t = (zeta >= 0 ? 1 : -1) / (std::abs(zeta) + std::hypot(1.0, zeta));
        const double cosine = 1 / std::hypot(1.0, t);
        Rotate(cosine, cosine * t, j, k, a);
        Rotate(cosine, cosine * t, j, k, v);
      }
    }
    if (!(worst > 1e-15)) return;
  }
}

double Norm(const Matrix& m, int64_t column) {
  double sum = 0;
  for (int64_t i = 0; i < m.rows; ++i) sum += m(i, column) * m(i, column);
  return std::sqrt(sum);
}

// Makes columns from `first` on unit vectors orthogonal to those before.
void Complete(int64_t first, Matrix* u) {
  for (int64_t j = first; j < u->columns; ++j) {
    double longest = -1;
    std::vector<double> best;
    for (int64_t axis = 0; axis < u->rows; ++axis) {
      std::vector<double> w(u->rows, 0.0);
      w[axis] = 1;
      for (int64_t k = 0; k < j; ++k) {
        double dot = 0;
        for (int64_t i = 0; i < u->rows; ++i) dot += (*u)(i, k) * w[i];
        for (int64_t i = 0; i < u->rows; ++i) w[i] -= dot * (*u)(i, k);
      }
      const double norm = std::sqrt(std::inner_product(w.begin(), w.end(), w.begin(), 0.0));
      if (norm <= longest) continue;
      longest = norm;
      for (double& x : w) x /= norm;
      best = w;
    }
    for (int64_t i = 0; i < u->rows; ++i) (*u)(i, j) = best[i];
  }
}

Answer Svd(const Matrix& a, bool full) {
  if (a.rows < a.columns) {
    Answer answer = Svd(a.Transposed(), full);
    std::swap(answer.results[1], answer.results[2]);
    return answer;
  }
  const int64_t m = a.rows, n = a.columns;
  Matrix scaled = a, rotations = Matrix::Identity(n);
  Orthogonalize(&scaled, &rotations);
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t i, int64_t j) { return Norm(scaled, i) > Norm(scaled, j); });
  Answer answer{{Matrix(1, n), Matrix(m, full ? m : n), Matrix(n, n)}};
  int64_t rank = 0;
  for (int64_t j = 0; j < n; ++j) {
    const double sigma = Norm(scaled, order[j]);
    answer.results[0](0, j) = sigma;
    for (int64_t i = 0; i < n; ++i) answer.results[2](i, j) = rotations(i, order[j]);
    if (sigma <= 1e-14 * answer.results[0](0, 0)) continue;
    for (int64_t i = 0; i < m; ++i) answer.results[1](i, j) = scaled(i, order[j]) / sigma;
    ++rank;
  }
  Complete(rank, &answer.results[1]);
  return answer;
}

// The singular vectors of a + shift, which has no negative eigenvalues.
Answer Eigh(const Matrix& lower) {
  const int64_t n = lower.rows;
  Matrix a = lower;
  double shift = 0;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i + 1; j < n; ++j) a(i, j) = lower(j, i);
  }
  for (const double x : a.values) shift = std::max(shift, std::abs(x) * static_cast<double>(n));
  for (int64_t i = 0; i < n; ++i) a(i, i) += shift;
  const Answer svd = Svd(a, /*full=*/false);
  Answer answer{{Matrix(1, n), Matrix(n, n)}};
  for (int64_t j = 0; j < n; ++j) {
    answer.results[0](0, n - 1 - j) = svd.results[0](0, j) - shift;
    for (int64_t i = 0; i < n; ++i) answer.results[1](i, n - 1 - j) = svd.results[2](i, j);
  }
  return answer;
}

Answer Factor(const ir::Node& node, const Matrix& a, const Matrix& b) {
  const bool full = node.Bool(Attr::full);
  switch (node.op()) {
    case Op::kCholesky:
      return Cholesky(a);
    case Op::kEigh:
      return Eigh(a);
    case Op::kQr:
      return Qr(a, full);
    case Op::kSolve:
      return Solve(a, b, /*pivots=*/true);
    case Op::kSvd:
      return Svd(a, full);
    case Op::kTriangularSolve:
      return TriangularSolve(a, b, node.Bool(Attr::lower), node.Bool(Attr::transpose_a));
    default:
      return TridiagonalSolve(a, b, node.Bool(Attr::pivots));
  }
}

template <typename T>
Matrix Read(const Literal& x, int64_t number) {
  const int rank = x.rank();
  Matrix m(x.sizes()[rank - 2], x.sizes()[rank - 1]);
  const auto size = static_cast<int64_t>(m.values.size());
  std::copy_n(x.data<T>() + number * size, size, m.values.begin());
  return m;
}

template <typename T>
Literals Matrices(const EvalContext& c) {
  Literals results;
  for (int i = 0; i < c.node.num_results(); ++i) results.push_back(c.AllocateResult(i));
  Literal& ok = results.back();
  for (int64_t number = 0; number < ok.num_elements(); ++number) {
    const Matrix a = Read<T>(c.operand(0), number);
    const Matrix b = c.operands.size() > 1 ? Read<T>(c.operand(1), number) : Matrix(0, 0);
    const Answer answer = Factor(c.node, a, b);
    ok.mutable_data<bool>()[number] = answer.ok;
    for (size_t i = 0; i + 1 < results.size(); ++i) {
      const std::vector<double>& values = answer.results[i].values;
      const auto size = static_cast<int64_t>(values.size());
      std::transform(values.begin(), values.end(), results[i].mutable_data<T>() + number * size,
                     [](double x) { return static_cast<T>(x); });
    }
  }
  return results;
}

}  // namespace

absl::StatusOr<Literals> EvalMatrix(const EvalContext& c) {
  return c.operand(0).dtype() == ir::DType::kF32 ? Matrices<float>(c) : Matrices<double>(c);
}

}  // namespace tektite::reference
