// A transform of one long line, where there are too few lines to fill a vector with them.
//
//   if (LongLine<float>::Splits(n)) {
//     const LongLine<float> line(n);
//     line.Run(re, im, y_re, y_im, scratch);    // parts of n numbers each, forward, not scaled
//
// Method: the line is a matrix of n = rows x columns numbers.  Its columns are transformed, turned,
// and then its rows, each time as many at once as a vector has elements (Bailey's four steps).
#ifndef TEKTITE_BACKENDS_CPU_LIBRARY_LONG_LINE_H_
#define TEKTITE_BACKENDS_CPU_LIBRARY_LONG_LINE_H_

#include <cstdint>
#include <vector>

#include "backends/cpu/library/fourier_plan.h"

namespace tektite::cpu {

template <typename T>
class LongLine {
 public:
  // Whether n is a product of two lengths that fill vectors and have passes.
  static bool Splits(int64_t n) { return RowsOf(n) > 0; }
  explicit LongLine(int64_t n);

  int64_t scratch_elements() const;
  // Results may be the operands.
  void Run(const T* re, const T* im, T* y_re, T* y_im, T* scratch) const;
  double operations() const {
    return static_cast<double>(columns_) * over_rows_.operations() +
           static_cast<double>(rows_) * over_columns_.operations();
  }

 private:
  static int64_t RowsOf(int64_t n);

  const int64_t rows_, columns_;
  const FourierPlan<T> over_rows_, over_columns_;  // of rows_ numbers, of columns_
  std::vector<T> turns_;                           // [rows_][columns_] real parts, then imaginary
};

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_LIBRARY_LONG_LINE_H_
