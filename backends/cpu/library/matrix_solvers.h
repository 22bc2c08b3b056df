// Factorizations and solvers of one matrix, row-major, through Eigen.
//
//   if (!CholeskyOf(a, n, l)) ...      // a is not positive definite
//
// Why Eigen: TensorFlow's CPU kernels call it, so that signs and orders of what is not unique
// (columns of q, eigenvectors, singular vectors) are TensorFlow's.  The source is compiled for AVX2
// and FMA; it must include nothing but Eigen, whose inline functions no other file uses.
#ifndef TEKTITE_BACKENDS_CPU_LIBRARY_MATRIX_SOLVERS_H_
#define TEKTITE_BACKENDS_CPU_LIBRARY_MATRIX_SOLVERS_H_

#include <cstdint>

namespace tektite::cpu {

// Each is false where there is no answer (jit/ops/matrix.cc).  Results may be null where nothing
// reads them, but for vectors, without which there is less to do.

// a, l: [n, n]; without an answer l is NaN.
template <typename T>
bool CholeskyOf(const T* a, int64_t n, T* l);

struct Triangle {
  bool lower, transposed;
};
// a: [n, n]; b, x: [n, k].
template <typename T>
bool SolveTriangle(const T* a, const T* b, int64_t n, int64_t k, Triangle triangle, T* x);
template <typename T>
bool SolveByLu(const T* a, const T* b, int64_t n, int64_t k, T* x);

// a: [m, n]; q: [m, p], r: [p, n]; p is m where `full`, else the lesser of m and n.
template <typename T>
void QrOf(const T* a, int64_t m, int64_t n, bool full, T* q, T* r);

// a, vectors: [n, n]; values: [n].  Without vectors these are not computed.
template <typename T>
bool EigenvaluesOf(const T* a, int64_t n, T* values, T* vectors);

// a: [m, n]; s: [p]; u: [m, p or m]; v: [n, p or n].
struct SvdRequest {
  bool vectors, full;
};
template <typename T>
bool SvdOf(const T* a, int64_t m, int64_t n, SvdRequest request, T* s, T* u, T* v);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_LIBRARY_MATRIX_SOLVERS_H_
