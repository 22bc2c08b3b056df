// fft, real_fft, inverse_real_fft: a chunk is as many lines as a vector has elements.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "backends/cpu/library/fourier_plan.h"
#include "backends/cpu/library/library_kernel.h"
#include "jit/base/rounding.h"

namespace tektite::cpu {
namespace {

using backend::KernelFrame;
using ir::Attr;
using ir::Op;

template <typename T>
class SpectrumKernel : public LibraryKernel {
 public:
  SpectrumKernel(Buffers buffers, const SizedOp& op)
      : LibraryKernel(std::move(buffers)),
        in_(op.operand_shape(0).sizes()[op.Int(Attr::dimension)]),
        out_(op.shape().sizes()[op.Int(Attr::dimension)]),
        step_(StridesOf(op.shape().sizes())[op.Int(Attr::dimension)]),
        lines_(out_ == 0 ? 0 : ProductOf(op.shape().sizes()) / out_),
        is_packed_(op.op() != Op::kFft && LengthOf(op) % 2 == 0 && LengthOf(op) > 0),
        plan_of_line_(std::max<int64_t>(1, is_packed_ ? LengthOf(op) / 2 : LengthOf(op))) {
    // A half spectrum has one number more than the line that it comes from.
    room_ = std::max({plan_of_line_.room(), in_, out_}) + 1;
    config_.num_chunks = CeilDiv(lines_, kLanes<T>);
    config_.scratch_bytes = 2 * BufferElements() * static_cast<int64_t>(sizeof(T));
    config_.cost_ns = static_cast<double>(lines_) * 0.5 / kLanes<T> *
                      (plan_of_line_.operations() + 8.0 * static_cast<double>(in_ + out_));
  }

  void Run(const KernelFrame& frame, int64_t begin, int64_t end) const override {
    T* const x = static_cast<T*>(frame.scratch);
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const int64_t line = chunk * kLanes<T>;
      RunLines(frame, line, std::min<int64_t>(kLanes<T>, lines_ - line), x, x + BufferElements());
    }
  }

 protected:
  static int64_t LengthOf(const SizedOp& op) {
    const SizedShape& line = op.op() == Op::kInverseRealFft ? op.shape() : op.operand_shape(0);
    return line.sizes()[op.Int(Attr::dimension)];
  }

  // Transforms `count` lines; `x` and `work` have room for all their numbers.
  virtual void RunLines(const KernelFrame& frame, int64_t line, int64_t count, T* x,
                        T* work) const = 0;

  int64_t BufferElements() const { return 2 * kLanes<T> * room_; }

  // A part of an operand's lines into every second vector.
  void Load(const KernelFrame& frame, int operand, int64_t line, int64_t count, int64_t stride,
            T* x) const {
    const std::array<int64_t, kLanes<T>> first = FirstOf(line, count, in_);
    LoadLanes<T>({Operand<T>(frame, operand), first.data(), count, in_, step_}, stride, x);
  }
  void Store(const KernelFrame& frame, int result, int64_t line, int64_t count, int64_t stride,
             const T* x) const {
    T* const to = Result<T>(frame, result);
    if (to == nullptr) return;
    const std::array<int64_t, kLanes<T>> first = FirstOf(line, count, out_);
    StoreLanes<T>(x, stride, {to, first.data(), count, out_, step_});
  }
  // The imaginary parts behind the real ones.
  static T* Imaginary(T* x) { return x + kLanes<T>; }

  const int64_t in_, out_, step_, lines_;
  const bool is_packed_;  // a real line of an even length is a complex one of half of it
  const FourierPlan<T> plan_of_line_;

 private:
  std::array<int64_t, kLanes<T>> FirstOf(int64_t line, int64_t count, int64_t n) const {
    std::array<int64_t, kLanes<T>> first{};
    for (int64_t v = 0; v < count; ++v) {
      first[v] = (line + v) / step_ * step_ * n + (line + v) % step_;
    }
    return first;
  }

  int64_t room_;
};

template <typename T>
class Fft : public SpectrumKernel<T> {
 public:
  Fft(Buffers buffers, const SizedOp& op)
      : SpectrumKernel<T>(std::move(buffers), op), is_inverse_(op.Bool(Attr::inverse)) {}

 private:
  // The inverse is the forward transform of the exchanged parts, exchanged.
  void RunLines(const KernelFrame& frame, int64_t line, int64_t count, T* x,
                T* work) const override {
    this->Load(frame, is_inverse_ ? 1 : 0, line, count, 2, x);
    this->Load(frame, is_inverse_ ? 0 : 1, line, count, 2, this->Imaginary(x));
    T* y = this->plan_of_line_.Run(x, work);
    if (is_inverse_) SwapParts(this->out_, T(1) / static_cast<T>(this->out_), y);
    this->Store(frame, 0, line, count, 2, y);
    this->Store(frame, 1, line, count, 2, this->Imaginary(y));
  }

  const bool is_inverse_;
};

template <typename T>
class RealFft : public SpectrumKernel<T> {
 public:
  RealFft(Buffers buffers, const SizedOp& op)
      : SpectrumKernel<T>(std::move(buffers), op),
        roots_(RootsOfUnity<T>(std::max<int64_t>(1, this->in_), this->in_ / 4 + 1)) {}

 private:
  void RunLines(const KernelFrame& frame, int64_t line, int64_t count, T* x,
                T* work) const override {
    T* y;
    if (this->is_packed_) {
      this->Load(frame, 0, line, count, 1, x);
      T* const z = this->plan_of_line_.Run(x, work);
      y = z == x ? work : x;
      SplitSpectrum(roots_.data(), this->in_ / 2, z, y);
    } else {
      std::fill_n(x, this->BufferElements(), T(0));
      this->Load(frame, 0, line, count, 2, x);
      y = this->plan_of_line_.Run(x, work);
      std::fill_n(this->Imaginary(y), kLanes<T>, T(0));  // a sum of real numbers
    }
    this->Store(frame, 0, line, count, 2, y);
    this->Store(frame, 1, line, count, 2, this->Imaginary(y));
  }

  const std::vector<T> roots_;
};

template <typename T>
class InverseRealFft : public SpectrumKernel<T> {
 public:
  InverseRealFft(Buffers buffers, const SizedOp& op)
      : SpectrumKernel<T>(std::move(buffers), op),
        roots_(RootsOfUnity<T>(std::max<int64_t>(1, this->out_), this->out_ / 4 + 1)) {}

 private:
  void RunLines(const KernelFrame& frame, int64_t line, int64_t count, T* x,
                T* work) const override {
    const int64_t n = this->out_;
    const T scale = T(1) / static_cast<T>(n);
    this->Load(frame, 0, line, count, 2, x);
    this->Load(frame, 1, line, count, 2, this->Imaginary(x));
    if (this->is_packed_) {
      JoinSpectrum(roots_.data(), n / 2, x, work);
      SwapParts(n / 2, scale, work);
      T* const y = this->plan_of_line_.Run(work, x);
      SwapParts(n / 2, T(1), y);
      this->Store(frame, 0, line, count, 1, y);
      return;
    }
    Mirror(x);
    SwapParts(n, scale, x);
    this->Store(frame, 0, line, count, 2, this->Imaginary(this->plan_of_line_.Run(x, work)));
  }

  // The numbers behind the first half, of an odd length.
  void Mirror(T* x) const {
    std::fill_n(this->Imaginary(x), kLanes<T>, T(0));
    for (int64_t k = this->in_; k < this->out_; ++k) {
      T* const to = x + 2 * kLanes<T> * k;
      const T* const from = x + 2 * kLanes<T> * (this->out_ - k);
      for (int v = 0; v < kLanes<T>; ++v) {
        to[v] = from[v];
        to[kLanes<T> + v] = -from[kLanes<T> + v];
      }
    }
  }

  const std::vector<T> roots_;
};

template <typename T>
KernelPtr MakeSpectrum(const SizedOp& op, Buffers buffers) {
  switch (op.op()) {
    case Op::kFft:
      return std::make_shared<Fft<T>>(std::move(buffers), op);
    case Op::kRealFft:
      return std::make_shared<RealFft<T>>(std::move(buffers), op);
    default:
      return std::make_shared<InverseRealFft<T>>(std::move(buffers), op);
  }
}

}  // namespace

KernelPtr MakeSpectrumKernel(const SizedOp& op, Buffers buffers) {
  if (KernelPtr kernel = MakeLongSpectrum(op, buffers)) return kernel;
  const bool is_float = op.operand_shape(0).dtype() == ir::DType::kF32;
  return is_float ? MakeSpectrum<float>(op, std::move(buffers))
                  : MakeSpectrum<double>(op, std::move(buffers));
}

}  // namespace tektite::cpu
