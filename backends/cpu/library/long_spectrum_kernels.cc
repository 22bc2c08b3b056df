// fft, real_fft, inverse_real_fft of a few long lines: a chunk is a line (long_line.h).
#include <algorithm>
#include <utility>
#include <vector>

#include "backends/cpu/library/library_kernel.h"
#include "backends/cpu/library/long_line.h"

namespace tektite::cpu {
namespace {

using backend::KernelFrame;
using ir::Attr;
using ir::Op;

// Shorter ones are transformed in the time that it takes to load and store them.
constexpr int64_t kLeastLength = 256;

int64_t LengthOf(const SizedOp& op) {
  const SizedShape& line = op.op() == Op::kInverseRealFft ? op.shape() : op.operand_shape(0);
  return line.sizes()[op.Int(Attr::dimension)];
}

// A real line of an even length is a complex one of half of it.
bool IsPacked(const SizedOp& op) { return op.op() != Op::kFft && LengthOf(op) % 2 == 0; }

template <typename T>
class LongSpectrum : public LibraryKernel {
 public:
  LongSpectrum(Buffers buffers, const SizedOp& op)
      : LibraryKernel(std::move(buffers)),
        op_(op.op()),
        is_inverse_(op.op() == Op::kInverseRealFft || op.Bool(Attr::inverse)),
        is_packed_(IsPacked(op)),
        n_(LengthOf(op)),
        in_(op.operand_shape(0).sizes().back()),
        out_(op.shape().sizes().back()),
        line_(is_packed_ ? n_ / 2 : n_) {
    if (is_packed_) roots_ = RootsOfUnity<T>(n_, n_ / 4 + 1);
    config_.num_chunks = ProductOf(op.shape().sizes()) / out_;
    config_.scratch_bytes =
        (2 * Room() + line_.scratch_elements()) * static_cast<int64_t>(sizeof(T));
    config_.cost_ns = static_cast<double>(config_.num_chunks) * 0.5 / kLanes<T> *
                      (line_.operations() + 24.0 * static_cast<double>(in_ + out_));
  }

  void Run(const KernelFrame& frame, int64_t begin, int64_t end) const override {
    T *const re = static_cast<T*>(frame.scratch), *const im = re + Room();
    for (int64_t line = begin; line < end; ++line) {
      const T* const x = Operand<T>(frame, 0) + line * in_;
      const T* const x_im = op_ == Op::kRealFft ? nullptr : Operand<T>(frame, 1) + line * in_;
      Gather(x, x_im, re, im);
      T* const scratch = im + Room();
      // The inverse is the forward transform of the exchanged parts, exchanged.
      if (is_inverse_) {
        line_.Run(im, re, im, re, scratch);
      } else {
        line_.Run(re, im, re, im, scratch);
      }
      T* const y = LineOf(frame, 0, line);
      Scatter(re, im, y, op_ == Op::kInverseRealFft ? nullptr : LineOf(frame, 1, line));
    }
  }

 private:
  int64_t Room() const { return std::max(in_, out_) + 1; }
  T* LineOf(const KernelFrame& frame, size_t result, int64_t line) const {
    T* const first = Result<T>(frame, result);
    return first == nullptr ? nullptr : first + line * out_;
  }

  // What is to be transformed, scaled where it is the inverse.
  void Gather(const T* x, const T* x_im, T* re, T* im) const {
    const T scale = is_inverse_ ? T(1) / static_cast<T>(n_) : T(1);
    if (op_ == Op::kInverseRealFft)
      return is_packed_ ? Join(x, x_im, scale, re, im) : Mirror(x, x_im, scale, re, im);
    const int64_t n = is_packed_ ? n_ / 2 : n_;
    for (int64_t j = 0; j < n; ++j) {
      re[j] = scale * (is_packed_ ? x[2 * j] : x[j]);
      im[j] = is_packed_ ? x[2 * j + 1] : x_im == nullptr ? T(0) : scale * x_im[j];
    }
  }

  void Scatter(const T* re, const T* im, T* y, T* y_im) const {
    if (op_ == Op::kRealFft && is_packed_) return Split(re, im, y, y_im);
    if (op_ == Op::kInverseRealFft && is_packed_) {
      for (int64_t j = 0; y != nullptr && j < n_ / 2; ++j) {
        y[2 * j] = re[j];
        y[2 * j + 1] = im[j];
      }
      return;
    }
    if (y != nullptr) std::copy_n(re, out_, y);
    if (y_im != nullptr) std::copy_n(im, out_, y_im);
    if (y_im != nullptr && op_ == Op::kRealFft) y_im[0] = 0;  // a sum of real numbers
  }

  // As SplitSpectrum and JoinSpectrum of fourier_lanes.h.
  void Split(const T* re, const T* im, T* y, T* y_im) const {
    const int64_t m = n_ / 2;
    const auto put = [&](int64_t k, T real, T imaginary) {
      if (y != nullptr) y[k] = real;
      if (y_im != nullptr) y_im[k] = imaginary;
    };
    put(0, re[0] + im[0], 0);
    put(m, re[0] - im[0], 0);
    for (int64_t k = 1; 2 * k <= m; ++k) {
      const T half = T(0.5), c = roots_[2 * k], s = roots_[2 * k + 1];
      const T e_re = half * (re[k] + re[m - k]), e_im = half * (im[k] - im[m - k]);
      const T d_re = half * (im[k] + im[m - k]), d_im = half * (re[m - k] - re[k]);
      const T o_re = d_re * c - d_im * s, o_im = d_re * s + d_im * c;
      put(m - k, e_re - o_re, o_im - e_im);
      put(k, e_re + o_re, e_im + o_im);
    }
  }

  void Join(const T* y, const T* y_im, T scale, T* re, T* im) const {
    const int64_t m = n_ / 2;
    re[0] = scale * (y[0] + y[m]);
    im[0] = scale * (y[0] - y[m]);
    for (int64_t k = 1; 2 * k <= m; ++k) {
      const T c = roots_[2 * k], s = -roots_[2 * k + 1];
      const T e_re = y[k] + y[m - k], e_im = y_im[k] - y_im[m - k];
      const T d_re = y[k] - y[m - k], d_im = y_im[k] + y_im[m - k];
      const T o_re = d_re * c - d_im * s, o_im = d_re * s + d_im * c;
      re[m - k] = scale * (e_re + o_im);
      im[m - k] = scale * (o_re - e_im);
      re[k] = scale * (e_re - o_im);
      im[k] = scale * (e_im + o_re);
    }
  }

  // A whole spectrum out of its first half, of an odd length.
  void Mirror(const T* y, const T* y_im, T scale, T* re, T* im) const {
    for (int64_t k = 0; k < n_; ++k) {
      const bool behind = k >= in_;
      const int64_t from = behind ? n_ - k : k;
      re[k] = scale * y[from];
      im[k] = k == 0 ? T(0) : scale * (behind ? -y_im[from] : y_im[from]);
    }
  }

  const Op op_;
  const bool is_inverse_, is_packed_;
  const int64_t n_, in_, out_;
  const LongLine<T> line_;
  std::vector<T> roots_;
};

template <typename T>
KernelPtr Make(const SizedOp& op, Buffers buffers) {
  const int64_t n = LengthOf(op), complex = IsPacked(op) ? n / 2 : n;
  const int64_t lines =
      ProductOf(op.shape().sizes()) / std::max<int64_t>(1, op.shape().sizes().back());
  // Passes over lines side by side take as long for one of them as for all.
  const bool is_long = n >= kLeastLength && 2 * lines <= kLanes<T> && LongLine<T>::Splits(complex);
  if (!is_long || op.Int(Attr::dimension) != op.shape().rank() - 1) return nullptr;
  return std::make_shared<LongSpectrum<T>>(std::move(buffers), op);
}

}  // namespace

KernelPtr MakeLongSpectrum(const SizedOp& op, Buffers buffers) {
  const bool is_float = op.operand_shape(0).dtype() == ir::DType::kF32;
  return is_float ? Make<float>(op, std::move(buffers)) : Make<double>(op, std::move(buffers));
}

}  // namespace tektite::cpu
