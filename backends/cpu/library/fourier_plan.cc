#include "backends/cpu/library/fourier_plan.h"

#include <algorithm>
#include <cmath>
#include <complex>

namespace tektite::cpu {
namespace {

using Complex = std::complex<double>;

constexpr double kTwoPi = 6.283185307179586476925;

// The angle is reduced to an eighth of a turn first, so that it is as exact as a double can be.
Complex Root(int64_t j, int64_t n) {
  const int64_t eighths = 8 * (j % n) / n;
  const int64_t quarters = (eighths + 1) / 2;  // the nearest multiple of a quarter turn
  const double angle = kTwoPi * static_cast<double>(4 * (j % n) - quarters * n) / (4.0 * n);
  const Complex near(std::cos(angle), -std::sin(angle));
  switch (quarters % 4) {
    case 0:
      return near;
    case 1:
      return {near.imag(), -near.real()};
    case 2:
      return -near;
    default:
      return {-near.imag(), near.real()};
  }
}

template <typename T>
void Append(Complex x, std::vector<T>* to) {
  to->push_back(static_cast<T>(x.real()));
  to->push_back(static_cast<T>(x.imag()));
}

// Fours first, then primes; empty when one of them is too large.
std::vector<int64_t> FactorsOf(int64_t n) {
  std::vector<int64_t> factors;
  const auto take = [&](int64_t f) {
    for (; n % f == 0; n /= f) factors.push_back(f);
  };
  take(4);
  take(2);
  for (int64_t f = 3; f <= kMostRadix && f <= n; f += 2) take(f);
  if (n > 1) factors.clear();
  return factors;
}

// The least product of 2, 3 and 5 that is not less.
int64_t SmoothAtLeast(int64_t n) {
  int64_t best = 1;
  while (best < n) best *= 2;
  for (int64_t fives = 1; fives < best; fives *= 5) {
    for (int64_t threes = fives; threes < best; threes *= 3) {
      int64_t smooth = threes;
      while (smooth < n) smooth *= 2;
      best = std::min(best, smooth);
    }
  }
  return best;
}

}  // namespace

template <typename T>
std::vector<T> RootsOfUnity(int64_t n, int64_t count) {
  std::vector<T> roots;
  for (int64_t j = 0; j < count; ++j) Append(Root(j, n), &roots);
  return roots;
}

bool HasPasses(int64_t n) { return n == 1 || !FactorsOf(n).empty(); }

template <typename T>
FourierPlan<T>::FourierPlan(int64_t n) : n_(n) {
  if (HasPasses(n)) {
    AddPasses(FactorsOf(n));
  } else {
    convolution_ = std::make_unique<FourierPlan<T>>(SmoothAtLeast(2 * n - 1));
    AddChirp();
  }
}

template <typename T>
void FourierPlan<T>::AddPasses(const std::vector<int64_t>& factors) {
  int64_t l1 = 1;
  for (const int64_t radix : factors) {
    const int64_t ido = n_ / (l1 * radix);
    std::vector<T> twiddles, roots;
    for (int64_t j = 1; j < radix; ++j) {
      for (int64_t i = 0; i < ido; ++i) Append(Root(j * l1 * i, n_), &twiddles);
    }
    for (int64_t j = 0; j < radix; ++j) Append(std::conj(Root(j, radix)), &roots);
    tables_.push_back(std::move(twiddles));
    const T* const twiddle_data = tables_.back().data();
    tables_.push_back(std::move(roots));
    passes_.push_back({radix, ido, l1, twiddle_data, tables_.back().data()});
    l1 *= radix;
  }
}

// With j k = (j^2 + k^2 - (k - j)^2) / 2 the transform is a convolution of x[j] chirp[j] with the
// conjugate chirp, turned by chirp[k]; chirp[j] = exp(-pi i j^2 / n).
template <typename T>
void FourierPlan<T>::AddChirp() {
  const int64_t room = convolution_->n_;
  const auto chirp = [this](int64_t j) {
    // j^2 modulo 2 n, without overflow.
    __extension__ using Wide = unsigned __int128;
    return Root(static_cast<int64_t>(static_cast<Wide>(j) * j % (2 * n_)), 2 * n_);
  };
  for (int64_t j = 0; j < n_; ++j) Append(chirp(j), &chirp_);
  // In double whatever T is: it is done once.
  const FourierPlan<double> plan(room);
  std::vector<double> x(2 * kLanes<double> * room, 0.0), work = x;
  for (int64_t j = 0; j < n_; ++j) {
    const Complex value = std::conj(chirp(j)) / static_cast<double>(room);
    for (const int64_t at : {j, (room - j) % room}) {
      x[2 * kLanes<double> * at] = value.real();
      x[2 * kLanes<double> * at + kLanes<double>] = value.imag();
    }
  }
  const double* const spectrum = plan.Run(x.data(), work.data());
  for (int64_t j = 0; j < room; ++j) {
    const double* const value = spectrum + 2 * kLanes<double> * j;
    Append<T>({value[0], value[kLanes<double>]}, &chirp_spectrum_);
  }
}

template <typename T>
T* FourierPlan<T>::RunPasses(T* x, T* work) const {
  for (const FourierPass<T>& pass : passes_) {
    RunPass(pass, x, work);
    std::swap(x, work);
  }
  return x;
}

template <typename T>
T* FourierPlan<T>::Run(T* x, T* work) const {
  if (convolution_ == nullptr) return RunPasses(x, work);
  const int64_t room = convolution_->n_;
  MultiplyLanes(chirp_.data(), n_, x);
  std::fill(x + 2 * kLanes<T> * n_, x + 2 * kLanes<T> * room, T(0));
  T* const y = convolution_->RunPasses(x, work);
  T* const other = y == x ? work : x;
  MultiplyLanes(chirp_spectrum_.data(), room, y);
  SwapParts(room, T(1), y);
  T* const z = convolution_->RunPasses(y, other);
  SwapParts(n_, T(1), z);
  MultiplyLanes(chirp_.data(), n_, z);
  return z;
}

template <typename T>
double FourierPlan<T>::operations() const {
  if (convolution_ != nullptr) return 2 * convolution_->operations() + 12.0 * room();
  double sum = 0;
  for (const FourierPass<T>& pass : passes_) {
    const double radix = pass.radix == 4 ? 4 : pass.radix + 2.0;
    sum += static_cast<double>(n_) * (radix + 4);
  }
  return sum;
}

template std::vector<float> RootsOfUnity<float>(int64_t, int64_t);
template std::vector<double> RootsOfUnity<double>(int64_t, int64_t);
template class FourierPlan<float>;
template class FourierPlan<double>;

}  // namespace tektite::cpu
