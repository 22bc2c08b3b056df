// Eigen's matrices, as the solvers' sources have them: rows one after the other, in memory of the
// caller's.
//
// Limits: to be included before any header of Eigen's, and by sources that CMakeLists.txt compiles
// for the back end's instructions alone.
#ifndef TEKTITE_BACKENDS_CPU_LIBRARY_EIGEN_MATRICES_H_
#define TEKTITE_BACKENDS_CPU_LIBRARY_EIGEN_MATRICES_H_

#define EIGEN_NO_DEBUG
#define EIGEN_MPL2_ONLY
#include <Eigen/Core>

namespace tektite::cpu {

template <typename T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <typename T>
using In = Eigen::Map<const Matrix<T>>;
template <typename T>
using Out = Eigen::Map<Matrix<T>>;

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_LIBRARY_EIGEN_MATRICES_H_
