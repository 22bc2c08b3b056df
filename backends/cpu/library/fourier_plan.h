// How to transform lines of one length: its factors, and the roots of unity that they need.
//
//   const FourierPlan<float> plan(480);
//   float* y = plan.Run(x, work);      // kLanes lines at once (fourier_lanes.h); y is x or work
//
// Method: Stockham's passes, a factor each, which leave the numbers in order.  A length with a
// prime factor above kMostRadix is a convolution with a chirp (Bluestein), done by transforms of a
// length that is twice as long and a product of 2, 3 and 5.  All roots are computed in double.
#ifndef TEKTITE_BACKENDS_CPU_LIBRARY_FOURIER_PLAN_H_
#define TEKTITE_BACKENDS_CPU_LIBRARY_FOURIER_PLAN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/cpu/library/fourier_lanes.h"

namespace tektite::cpu {

// exp(-2 pi i j / n), j from 0 to count - 1, complex numbers.
template <typename T>
std::vector<T> RootsOfUnity(int64_t n, int64_t count);

// Whether a line of n numbers is transformed by passes alone.
bool HasPasses(int64_t n);

template <typename T>
class FourierPlan {
 public:
  explicit FourierPlan(int64_t n);

  // Complex numbers of kLanes lines each for which `x` and `work` have room.
  int64_t room() const { return convolution_ == nullptr ? n_ : convolution_->n_; }
  // The forward transform, not scaled, of the first n numbers of `x`, which is overwritten.
  T* Run(T* x, T* work) const;
  // Arithmetic per line, roughly.
  double operations() const;

 private:
  void AddPasses(const std::vector<int64_t>& factors);
  void AddChirp();
  T* RunPasses(T* x, T* work) const;

  const int64_t n_;
  std::vector<FourierPass<T>> passes_;
  std::vector<std::vector<T>> tables_;  // what the passes point to
  // For Bluestein's convolution, of length room().
  std::unique_ptr<const FourierPlan<T>> convolution_;
  std::vector<T> chirp_, chirp_spectrum_;
};

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_LIBRARY_FOURIER_PLAN_H_
