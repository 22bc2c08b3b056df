#include "backends/cpu/library/long_line.h"

#include <algorithm>

namespace tektite::cpu {

// The divisor that is nearest to the root from below.
template <typename T>
int64_t LongLine<T>::RowsOf(int64_t n) {
  int64_t rows = 0;
  for (int64_t d = kLanes<T>; d * d <= n; ++d) {
    if (n % d == 0 && HasPasses(d) && HasPasses(n / d)) rows = d;
  }
  return rows;
}

template <typename T>
LongLine<T>::LongLine(int64_t n)
    : rows_(RowsOf(n)), columns_(n / rows_), over_rows_(rows_), over_columns_(columns_) {
  const std::vector<T> roots = RootsOfUnity<T>(n, n);
  turns_.resize(2 * n);
  for (int64_t k = 0; k < rows_; ++k) {
    for (int64_t j = 0; j < columns_; ++j) {
      turns_[k * columns_ + j] = roots[2 * (k * j)];
      turns_[n + k * columns_ + j] = roots[2 * (k * j) + 1];
    }
  }
}

template <typename T>
int64_t LongLine<T>::scratch_elements() const {
  return 2 * rows_ * columns_ + 4 * kLanes<T> * std::max(rows_, columns_);
}

template <typename T>
void LongLine<T>::Run(const T* re, const T* im, T* y_re, T* y_im, T* scratch) const {
  const int64_t n = rows_ * columns_;
  T *const turned_re = scratch, *const turned_im = scratch + n;
  T *const x = scratch + 2 * n, *const work = x + 2 * kLanes<T> * std::max(rows_, columns_);
  int64_t first[kLanes<T>];
  for (int64_t column = 0; column < columns_; column += kLanes<T>) {
    const int64_t count = std::min<int64_t>(kLanes<T>, columns_ - column);
    for (int v = 0; v < kLanes<T>; ++v) first[v] = column + v;
    LoadLanes<T>({re, first, count, rows_, columns_}, 2, x);
    LoadLanes<T>({im, first, count, rows_, columns_}, 2, x + kLanes<T>);
    T* const y = over_rows_.Run(x, work);
    TurnLanes<T>({turns_.data(), first, count, rows_, columns_}, turns_.data() + n, y);
    StoreLanes<T>(y, 2, {turned_re, first, count, rows_, columns_});
    StoreLanes<T>(y + kLanes<T>, 2, {turned_im, first, count, rows_, columns_});
  }
  int64_t to[kLanes<T>];
  for (int64_t row = 0; row < rows_; row += kLanes<T>) {
    const int64_t count = std::min<int64_t>(kLanes<T>, rows_ - row);
    for (int v = 0; v < kLanes<T>; ++v) {
      first[v] = (row + v) * columns_;
      to[v] = row + v;
    }
    LoadLanes<T>({turned_re, first, count, columns_, 1}, 2, x);
    LoadLanes<T>({turned_im, first, count, columns_, 1}, 2, x + kLanes<T>);
    const T* const y = over_columns_.Run(x, work);
    StoreLanes<T>(y, 2, {y_re, to, count, columns_, rows_});
    StoreLanes<T>(y + kLanes<T>, 2, {y_im, to, count, columns_, rows_});
  }
}

template class LongLine<float>;
template class LongLine<double>;

}  // namespace tektite::cpu
