// The inner loops of Fourier transforms: as many transforms at once as a vector has elements.
//
//   LoadLanes(lines, 1, x);                   // x[j] is element j of kLanes<T> lines
//   RunPass(pass, x, y);                      // one factor of the length (fourier_plan.h)
//   StoreLanes(y, 2, lines);
//
// Why: a butterfly works on equal places of all lines, so no element ever crosses a lane inside of
// a transform, whatever its length.  A complex number of all lines is two vectors in a row, the
// real parts and the imaginary parts.  Limits: on x86, this file's source is compiled for AVX2 and
// FMA; it must include nothing whose inline functions others use, too.
#ifndef TEKTITE_BACKENDS_CPU_LIBRARY_FOURIER_LANES_H_
#define TEKTITE_BACKENDS_CPU_LIBRARY_FOURIER_LANES_H_

#include <cstdint>

namespace tektite::cpu {

template <typename T>
inline constexpr int kLanes = 32 / sizeof(T);

// The largest factor that has a pass.
inline constexpr int64_t kMostRadix = 47;

// From [ido][radix][l1] to [ido][l1][radix] complex numbers, the leftmost index running fastest.
template <typename T>
struct FourierPass {
  int64_t radix, ido, l1;
  const T* twiddles;  // [radix - 1][ido] complex numbers
  const T* roots;     // cosine and sine of j / radix turns
};

template <typename T>
void RunPass(const FourierPass<T>& pass, const T* in, T* out);

// x[j] *= factors[j], complex numbers.
template <typename T>
void MultiplyLanes(const T* factors, int64_t n, T* x);
// x[j] = { the imaginary part, the real part } * scale: a forward transform between two of these is
// the inverse one.
template <typename T>
void SwapParts(int64_t n, T scale, T* x);

// A real line of 2 m numbers was transformed as m complex ones.  Its spectrum's numbers 0 to m, out
// of `x` into `y`; `roots`: exp(-pi i k / m), k to m / 2.
template <typename T>
void SplitSpectrum(const T* roots, int64_t m, const T* x, T* y);
// The way back, times 2 m.
template <typename T>
void JoinSpectrum(const T* roots, int64_t m, const T* y, T* x);

// `count` lines of n elements, `step` apart.
template <typename T>
struct Lines {
  T* data;
  const int64_t* first;  // where each line begins, kLanes of them
  int64_t count, n, step;
};

// x[j] *= { element j of the lines, the same element of lines in `imaginary` }.
template <typename T>
void TurnLanes(const Lines<const T>& real, const T* imaginary, T* x);

// Element j of all lines to vector `x + stride * j` (in vectors), and back.
template <typename T>
void LoadLanes(const Lines<const T>& lines, int64_t stride, T* x);
template <typename T>
void StoreLanes(const T* x, int64_t stride, const Lines<T>& lines);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_LIBRARY_FOURIER_LANES_H_
