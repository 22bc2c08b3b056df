#include "backends/cpu/library/matrix_solvers.h"

#include "backends/cpu/library/eigen_matrices.h"
// The decompositions.
#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>

namespace tektite::cpu {
namespace {

// NaN on a triangle's diagonal is a number like any other than 0.
template <typename Diagonal>
bool AnyZero(const Diagonal& diagonal) {
  return (diagonal.array() == 0).any();
}

// Of a decomposition TensorFlow asks whether the least pivot is above 0; what that is beside NaN
// depends on the order of its comparisons, so with NaN the answer is its own.
template <typename Diagonal>
bool AllDivide(const Diagonal& diagonal) {
  return (diagonal.array().abs() > 0).all();
}

}  // namespace

template <typename T>
bool CholeskyOf(const T* a, int64_t n, T* l) {
  const Eigen::LLT<Matrix<T>, Eigen::Lower> llt(In<T>(a, n, n));
  const bool ok = llt.info() == Eigen::Success;
  if (l != nullptr) {
    Out<T> result(l, n, n);
    result = llt.matrixL();
    if (!ok)
      result.template triangularView<Eigen::Lower>().setConstant(Eigen::NumTraits<T>::quiet_NaN());
  }
  return ok;
}

template <typename T>
bool SolveTriangle(const T* a, const T* b, int64_t n, int64_t k, Triangle triangle, T* x) {
  const In<T> matrix(a, n, n);
  if (AnyZero(matrix.diagonal())) return false;
  if (x == nullptr) return true;
  Out<T> result(x, n, k);
  result = In<T>(b, n, k);
  if (triangle.lower && triangle.transposed) {
    matrix.template triangularView<Eigen::Lower>().transpose().solveInPlace(result);
  } else if (triangle.lower) {
    matrix.template triangularView<Eigen::Lower>().solveInPlace(result);
  } else if (triangle.transposed) {
    matrix.template triangularView<Eigen::Upper>().transpose().solveInPlace(result);
  } else {
    matrix.template triangularView<Eigen::Upper>().solveInPlace(result);
  }
  return true;
}

template <typename T>
bool SolveByLu(const T* a, const T* b, int64_t n, int64_t k, T* x) {
  const Eigen::PartialPivLU<Matrix<T>> lu(In<T>(a, n, n));
  if (!AllDivide(lu.matrixLU().diagonal())) return false;
  if (x != nullptr) Out<T>(x, n, k) = lu.solve(In<T>(b, n, k));
  return true;
}

template <typename T>
void QrOf(const T* a, int64_t m, int64_t n, bool full, T* q, T* r) {
  const Eigen::HouseholderQR<Matrix<T>> qr(In<T>(a, m, n));
  const int64_t p = full || m < n ? m : n;
  if (q != nullptr) Out<T>(q, m, p) = qr.householderQ() * Matrix<T>::Identity(m, p);
  if (r != nullptr) {
    Out<T>(r, p, n) = qr.matrixQR().topRows(p).template triangularView<Eigen::Upper>();
  }
}

template <typename T>
bool EigenvaluesOf(const T* a, int64_t n, T* values, T* vectors) {
  const int options = vectors != nullptr ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly;
  const Eigen::SelfAdjointEigenSolver<Matrix<T>> solver(In<T>(a, n, n), options);
  if (values != nullptr) Out<T>(values, n, 1) = solver.eigenvalues();
  if (solver.info() != Eigen::Success) return false;
  if (vectors != nullptr) Out<T>(vectors, n, n) = solver.eigenvectors();
  return true;
}

#define TEKTITE_INSTANTIATE(T)                                                        \
  template bool CholeskyOf<T>(const T*, int64_t, T*);                                 \
  template bool SolveTriangle<T>(const T*, const T*, int64_t, int64_t, Triangle, T*); \
  template bool SolveByLu<T>(const T*, const T*, int64_t, int64_t, T*);               \
  template void QrOf<T>(const T*, int64_t, int64_t, bool, T*, T*);                    \
  template bool EigenvaluesOf<T>(const T*, int64_t, T*, T*);
TEKTITE_INSTANTIATE(float)
TEKTITE_INSTANTIATE(double)
#undef TEKTITE_INSTANTIATE

}  // namespace tektite::cpu
