// Apart from the other solvers, since it alone takes the compiler as long as some seventy usual
// files.
#include "backends/cpu/library/eigen_matrices.h"
// The decomposition.
#include <Eigen/SVD>

#include "backends/cpu/library/matrix_solvers.h"

namespace tektite::cpu {

template <typename T>
bool SvdOf(const T* a, int64_t m, int64_t n, SvdRequest request, T* s, T* u, T* v) {
  unsigned options = 0;
  if (request.vectors) {
    options = request.full ? Eigen::ComputeFullU | Eigen::ComputeFullV
                           : Eigen::ComputeThinU | Eigen::ComputeThinV;
  }
  const Eigen::BDCSVD<Matrix<T>> svd(In<T>(a, m, n), options);
  const int64_t p = m < n ? m : n;
  if (svd.info() != Eigen::Success) return false;
  if (s != nullptr) Out<T>(s, p, 1) = svd.singularValues();
  if (u != nullptr) Out<T>(u, m, request.full ? m : p) = svd.matrixU();
  if (v != nullptr) Out<T>(v, n, request.full ? n : p) = svd.matrixV();
  return true;
}

template bool SvdOf<float>(const float*, int64_t, int64_t, SvdRequest, float*, float*, float*);
template bool SvdOf<double>(const double*, int64_t, int64_t, SvdRequest, double*, double*, double*);

}  // namespace tektite::cpu
