#include "backends/cpu/library/fourier_lanes.h"

namespace tektite::cpu {
namespace {

// Vectors as GCC and Clang have them for every machine.
template <typename T>
struct VectorOf;
template <>
struct VectorOf<float> {
  using Type = float __attribute__((vector_size(32)));
};
template <>
struct VectorOf<double> {
  using Type = double __attribute__((vector_size(32)));
};
template <typename T>
using Vector = typename VectorOf<T>::Type;

inline Vector<float> Broadcast(float x) { return Vector<float>{x, x, x, x, x, x, x, x}; }
inline Vector<double> Broadcast(double x) { return Vector<double>{x, x, x, x}; }
template <typename T>
Vector<T> Load(const T* p) {
  Vector<T> x;
  __builtin_memcpy(&x, p, sizeof(x));
  return x;
}
template <typename V, typename T>
void Store(V x, T* p) {
  __builtin_memcpy(p, &x, sizeof(x));
}

template <typename T>
struct Complex {
  Vector<T> re, im;
  friend Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  friend Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
};

// Complex number j of all lines.
template <typename T>
Complex<T> At(const T* x, int64_t j) {
  const T* const p = x + 2 * kLanes<T> * j;
  return {Load(p), Load(p + kLanes<T>)};
}
template <typename T>
void Put(Complex<T> value, T* x, int64_t j) {
  T* const p = x + 2 * kLanes<T> * j;
  Store(value.re, p);
  Store(value.im, p + kLanes<T>);
}

template <typename T>
Complex<T> Times(Complex<T> x, const T* factor) {
  const Vector<T> re = Broadcast(factor[0]), im = Broadcast(factor[1]);
  return {x.re * re - x.im * im, x.re * im + x.im * re};
}

// Number `i` of `k`'s results j >= 1 are turned by their twiddle; those of i = 0 have none.
template <typename T>
struct Writer {
  const FourierPass<T>& pass;
  T* out;
  void operator()(Complex<T> value, int64_t i, int64_t k, int64_t j) const {
    if (i > 0 && j > 0) value = Times(value, pass.twiddles + 2 * ((j - 1) * pass.ido + i));
    Put(value, out, i + pass.ido * (k + pass.l1 * j));
  }
};

template <typename T>
void Radix2(const FourierPass<T>& pass, const T* in, T* out) {
  const Writer<T> write{pass, out};
  for (int64_t k = 0; k < pass.l1; ++k) {
    for (int64_t i = 0; i < pass.ido; ++i) {
      const Complex<T> a = At(in, i + pass.ido * 2 * k), b = At(in, i + pass.ido * (2 * k + 1));
      write(a + b, i, k, 0);
      write(a - b, i, k, 1);
    }
  }
}

template <typename T>
void Radix4(const FourierPass<T>& pass, const T* in, T* out) {
  const Writer<T> write{pass, out};
  for (int64_t k = 0; k < pass.l1; ++k) {
    for (int64_t i = 0; i < pass.ido; ++i) {
      const auto number = [&](int64_t j) { return At(in, i + pass.ido * (4 * k + j)); };
      const Complex<T> a = number(0), b = number(1), c = number(2), d = number(3);
      const Complex<T> ac = a + c, bd = b + d, a_c = a - c, b_d = b - d;
      write(ac + bd, i, k, 0);
      write({a_c.re + b_d.im, a_c.im - b_d.re}, i, k, 1);
      write(ac - bd, i, k, 2);
      write({a_c.re - b_d.im, a_c.im + b_d.re}, i, k, 3);
    }
  }
}

// Any odd factor: numbers j and radix - j have the same cosine, and sines of opposite signs. kRadix
// 0: it is not known when this is compiled.
template <int kRadix, typename T>
void RadixOdd(const FourierPass<T>& pass, const T* in, T* out) {
  constexpr int64_t kMostHalf = kRadix > 0 ? kRadix / 2 : kMostRadix / 2;
  const int64_t radix = kRadix > 0 ? kRadix : pass.radix, half = radix / 2;
  const Writer<T> write{pass, out};
  Complex<T> sums[kMostHalf + 1], differences[kMostHalf + 1];
  for (int64_t k = 0; k < pass.l1; ++k) {
    for (int64_t i = 0; i < pass.ido; ++i) {
      const auto number = [&](int64_t j) { return At(in, i + pass.ido * (radix * k + j)); };
      const Complex<T> first = number(0);
      Complex<T> total = first;
      for (int64_t j = 1; j <= half; ++j) {
        const Complex<T> a = number(j), b = number(radix - j);
        sums[j] = a + b;
        differences[j] = a - b;
        total = total + sums[j];
      }
      write(total, i, k, 0);
      for (int64_t q = 1; q <= half; ++q) {
        Complex<T> even = first, odd{Broadcast(T(0)), Broadcast(T(0))};
        for (int64_t j = 1, at = q; j <= half; ++j) {
          const Vector<T> cosine = Broadcast(pass.roots[2 * at]);
          const Vector<T> sine = Broadcast(pass.roots[2 * at + 1]);
          even = {even.re + sums[j].re * cosine, even.im + sums[j].im * cosine};
          odd = {odd.re + differences[j].re * sine, odd.im + differences[j].im * sine};
          at = at + q >= radix ? at + q - radix : at + q;
        }
        write({even.re + odd.im, even.im - odd.re}, i, k, q);
        write({even.re - odd.im, even.im + odd.re}, i, k, radix - q);
      }
    }
  }
}

// Rows of as many elements to columns.
inline void Transpose(const float* const rows[8], Vector<float> columns[8]) {
  Vector<float> r[8], t[8];
  for (int i = 0; i < 8; ++i) r[i] = Load(rows[i]);
  for (int i = 0; i < 8; i += 2) {
    t[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    t[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int i = 0; i < 8; i += 4) {
    for (int j = 0; j < 2; ++j) {
      const Vector<float> a = t[i + j], b = t[i + j + 2];
      r[i + 2 * j] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
      r[i + 2 * j + 1] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  for (int i = 0; i < 4; ++i) {
    columns[i] = __builtin_shufflevector(r[i], r[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    columns[i + 4] = __builtin_shufflevector(r[i], r[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}
inline void Transpose(const double* const rows[4], Vector<double> columns[4]) {
  Vector<double> r[4], t[4];
  for (int i = 0; i < 4; ++i) r[i] = Load(rows[i]);
  for (int i = 0; i < 4; i += 2) {
    t[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 4, 2, 6);
    t[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 1, 5, 3, 7);
  }
  for (int i = 0; i < 2; ++i) {
    columns[i] = __builtin_shufflevector(t[i], t[i + 2], 0, 1, 4, 5);
    columns[i + 2] = __builtin_shufflevector(t[i], t[i + 2], 2, 3, 6, 7);
  }
}

template <typename T>
bool LieTogether(const Lines<T>& lines) {
  if (lines.count < kLanes<T>) return false;
  for (int v = 1; v < kLanes<T>; ++v) {
    if (lines.first[v] != lines.first[0] + v) return false;
  }
  return true;
}

}  // namespace

template <typename T>
void RunPass(const FourierPass<T>& pass, const T* in, T* out) {
  switch (pass.radix) {
    case 2:
      return Radix2(pass, in, out);
    case 3:
      return RadixOdd<3>(pass, in, out);
    case 4:
      return Radix4(pass, in, out);
    case 5:
      return RadixOdd<5>(pass, in, out);
    case 7:
      return RadixOdd<7>(pass, in, out);
    default:
      return RadixOdd<0>(pass, in, out);
  }
}

template <typename T>
void MultiplyLanes(const T* factors, int64_t n, T* x) {
  for (int64_t j = 0; j < n; ++j) Put(Times(At(x, j), factors + 2 * j), x, j);
}

template <typename T>
void SwapParts(int64_t n, T scale, T* x) {
  const Vector<T> factor = Broadcast(scale);
  for (int64_t j = 0; j < n; ++j) {
    const Complex<T> value = At(x, j);
    Put<T>({value.im * factor, value.re * factor}, x, j);
  }
}

// With a = x[k], b = x[m-k]: the even elements' spectrum is e = (a + conj b) / 2, that of the odd
// ones o = (a - conj b) / 2i, and together they are y[k] = e + root o, y[m-k] = conj(e - root o).
template <typename T>
void SplitSpectrum(const T* roots, int64_t m, const T* x, T* y) {
  const Vector<T> half = Broadcast(T(0.5)), zero = Broadcast(T(0));
  const Complex<T> first = At(x, 0);
  Put<T>({first.re + first.im, zero}, y, 0);
  Put<T>({first.re - first.im, zero}, y, m);
  for (int64_t k = 1; 2 * k <= m; ++k) {
    const Complex<T> a = At(x, k), b = At(x, m - k);
    const Complex<T> e{(a.re + b.re) * half, (a.im - b.im) * half};
    const Complex<T> o = Times<T>({(a.im + b.im) * half, (b.re - a.re) * half}, roots + 2 * k);
    Put<T>({e.re - o.re, o.im - e.im}, y, m - k);
    Put(e + o, y, k);
  }
}

// With a = y[k], b = y[m-k]: x[k] = e + i o, x[m-k] = conj(e) + i conj(o), where e = a + conj b and
// o = (a - conj b) / root.
template <typename T>
void JoinSpectrum(const T* roots, int64_t m, const T* y, T* x) {
  const Vector<T> first = At(y, 0).re, last = At(y, m).re;
  Put<T>({first + last, first - last}, x, 0);
  for (int64_t k = 1; 2 * k <= m; ++k) {
    const Complex<T> a = At(y, k), b = At(y, m - k);
    const T inverse[] = {roots[2 * k], -roots[2 * k + 1]};
    const Complex<T> e{a.re + b.re, a.im - b.im};
    const Complex<T> o = Times<T>({a.re - b.re, a.im + b.im}, inverse);
    Put<T>({e.re + o.im, o.re - e.im}, x, m - k);
    Put<T>({e.re - o.im, e.im + o.re}, x, k);
  }
}

template <typename T>
void TurnLanes(const Lines<const T>& real, const T* imaginary, T* x) {
  const bool together = LieTogether(real);
  for (int64_t j = 0; j < real.n; ++j) {
    const int64_t from = real.first[0] + j * real.step;
    T* const to = x + 2 * kLanes<T> * j;
    if (together) {
      const Complex<T> value = At(x, j);
      const Vector<T> re = Load(real.data + from), im = Load(imaginary + from);
      Put<T>({value.re * re - value.im * im, value.re * im + value.im * re}, x, j);
      continue;
    }
    for (int64_t v = 0; v < real.count; ++v) {
      const int64_t at = real.first[v] + j * real.step;
      const T re = to[v], im = to[kLanes<T> + v];
      to[v] = re * real.data[at] - im * imaginary[at];
      to[kLanes<T> + v] = re * imaginary[at] + im * real.data[at];
    }
  }
}

template <typename T>
void LoadLanes(const Lines<const T>& lines, int64_t stride, T* x) {
  const int64_t step = lines.step;
  T* const end = x + lines.n * stride * kLanes<T>;
  if (LieTogether(lines)) {
    const T* from = lines.data + lines.first[0];
    for (T* to = x; to < end; to += stride * kLanes<T>, from += step) Store(Load(from), to);
    return;
  }
  int64_t j = 0;
  const T* rows[kLanes<T>];
  for (int v = 0; v < kLanes<T>; ++v) rows[v] = lines.data + lines.first[v < lines.count ? v : 0];
  if (step == 1) {
    Vector<T> columns[kLanes<T>];
    for (; j + kLanes<T> <= lines.n; j += kLanes<T>) {
      Transpose(rows, columns);
      for (int i = 0; i < kLanes<T>; ++i) Store(columns[i], x + (j + i) * stride * kLanes<T>);
      for (const T*& row : rows) row += kLanes<T>;
    }
  }
  for (; j < lines.n; ++j) {
    for (int v = 0; v < kLanes<T>; ++v) x[j * stride * kLanes<T> + v] = *rows[v];
    for (const T*& row : rows) row += step;
  }
}

template <typename T>
void StoreLanes(const T* x, int64_t stride, const Lines<T>& lines) {
  const int64_t step = lines.step, apart = stride * kLanes<T>;
  if (LieTogether(lines)) {
    T* to = lines.data + lines.first[0];
    for (int64_t j = 0; j < lines.n; ++j, to += step) Store(Load(x + j * apart), to);
    return;
  }
  int64_t j = 0;
  if (step == 1) {
    Vector<T> columns[kLanes<T>];
    const T* rows[kLanes<T>];
    for (; j + kLanes<T> <= lines.n; j += kLanes<T>) {
      for (int i = 0; i < kLanes<T>; ++i) rows[i] = x + (j + i) * apart;
      Transpose(rows, columns);
      for (int v = 0; v < lines.count; ++v) Store(columns[v], lines.data + lines.first[v] + j);
    }
  }
  for (; j < lines.n; ++j) {
    for (int v = 0; v < lines.count; ++v) lines.data[lines.first[v] + j * step] = x[j * apart + v];
  }
}

#define TEKTITE_INSTANTIATE(T)                                     \
  template void RunPass<T>(const FourierPass<T>&, const T*, T*);   \
  template void MultiplyLanes<T>(const T*, int64_t, T*);           \
  template void SwapParts<T>(int64_t, T, T*);                      \
  template void SplitSpectrum<T>(const T*, int64_t, const T*, T*); \
  template void JoinSpectrum<T>(const T*, int64_t, const T*, T*);  \
  template void TurnLanes<T>(const Lines<const T>&, const T*, T*); \
  template void LoadLanes<T>(const Lines<const T>&, int64_t, T*);  \
  template void StoreLanes<T>(const T*, int64_t, const Lines<T>&);
TEKTITE_INSTANTIATE(float)
TEKTITE_INSTANTIATE(double)
#undef TEKTITE_INSTANTIATE

}  // namespace tektite::cpu
