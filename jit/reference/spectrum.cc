// fft, real_fft and inverse_real_fft by their definition, in double.
#include <cmath>
#include <complex>

#include "jit/reference/eval.h"

namespace tektite::reference {

using ir::Attr;
using ir::Literal;
using ir::Op;

namespace {

using Complex = std::complex<double>;
using Line = std::vector<Complex>;

// The sums of n terms for the first `count` frequencies.
Line Transform(const Line& x, int64_t count, bool inverse) {
  const auto n = static_cast<int64_t>(x.size());
  const double pi = std::acos(-1.0);
  Line roots(n), sums(count);
  for (int64_t i = 0; i < n; ++i) {
    const double angle = 2 * pi * static_cast<double>(i) / static_cast<double>(n);
    roots[i] = {std::cos(angle), inverse ? std::sin(angle) : -std::sin(angle)};
  }
  for (int64_t k = 0; k < count; ++k) {
    for (int64_t j = 0, at = 0; j < n; ++j, at = (at + k) % n) sums[k] += x[j] * roots[at];
    if (inverse) sums[k] /= static_cast<double>(n);
  }
  return sums;
}

// A real tensor's whole spectrum out of its first half.
Line Mirrored(Line half, int64_t n) {
  half.resize(n);
  if (n > 0) half[0] = half[0].real();
  if (n > 0 && n % 2 == 0) half[n / 2] = half[n / 2].real();
  for (int64_t k = n / 2 + 1; k < n; ++k) half[k] = std::conj(half[n - k]);
  return half;
}

template <typename T>
Literals Spectrum(const EvalContext& c) {
  const int64_t d = c.node.Int(Attr::dimension);
  const bool is_complex = c.op() != Op::kRealFft;
  const std::vector<int64_t>& in = c.operand(0).sizes();
  const std::vector<int64_t> out = c.result_sizes(), in_strides = ir::RowMajorStrides(in),
                             out_strides = ir::RowMajorStrides(out);
  Literals results;
  for (int i = 0; i < c.node.num_results(); ++i) results.push_back(c.AllocateResult(i));
  std::vector<int64_t> lines = in;
  lines[d] = 1;
  ForEachIndex(lines, [&](const std::vector<int64_t>& index) {
    const int64_t from = Dot(index, in_strides), to = Dot(index, out_strides);
    Line x(in[d]);
    for (int64_t j = 0; j < in[d]; ++j) {
      const int64_t at = from + j * in_strides[d];
      x[j] = {c.operand(0).data<T>()[at], is_complex ? c.operand(1).data<T>()[at] : T(0)};
    }
    if (c.op() == Op::kInverseRealFft) x = Mirrored(std::move(x), out[d]);
    const bool inverse = c.op() == Op::kInverseRealFft || c.node.Bool(Attr::inverse);
    Line y = Transform(x, out[d], inverse);
    if (!is_complex) y[0] = y[0].real();  // sums of real numbers
    if (!is_complex && in[d] % 2 == 0 && in[d] > 0) y[in[d] / 2] = y[in[d] / 2].real();
    for (int64_t k = 0; k < out[d]; ++k) {
      const int64_t at = to + k * out_strides[d];
      results[0].mutable_data<T>()[at] = static_cast<T>(y[k].real());
      if (results.size() > 1) results[1].mutable_data<T>()[at] = static_cast<T>(y[k].imag());
    }
  });
  return results;
}

}  // namespace

absl::StatusOr<Literals> EvalSpectrum(const EvalContext& c) {
  return c.operand(0).dtype() == ir::DType::kF32 ? Spectrum<float>(c) : Spectrum<double>(c);
}

}  // namespace tektite::reference
