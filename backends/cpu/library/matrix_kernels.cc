// Factorizations and solvers: a chunk is one matrix, or several small ones.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "backends/cpu/library/library_kernel.h"
#include "backends/cpu/library/matrix_solvers.h"
#include "jit/base/rounding.h"

namespace tektite::cpu {
namespace {

using backend::KernelFrame;
using ir::Attr;
using ir::Op;

// Work of less is not worth a chunk of its own.
constexpr double kLeastChunkNs = 20000;

// Gauss's elimination of three diagonals; with pivots a row changes places with the next where that
// one's number is larger, and the diagonal above the upper one fills.
template <typename T>
bool SolveTridiagonal(const T* diagonals, const T* b, int64_t n, int64_t k, bool pivots, T* x) {
  std::vector<T> upper(diagonals, diagonals + n), main(diagonals + n, diagonals + 2 * n);
  const T* const lower = diagonals + 2 * n;
  std::vector<T> second(n, T(0)), values(b, b + n * k);
  for (int64_t i = 0; i + 1 < n; ++i) {
    T* const row = values.data() + i * k;
    T below = lower[i + 1];
    if (pivots && std::abs(below) > std::abs(main[i])) {
      std::swap(main[i], below);
      std::swap(upper[i], main[i + 1]);
      if (i + 2 < n) std::swap(second[i], upper[i + 1]);
      std::swap_ranges(row, row + k, row + k);
    }
    if (main[i] == 0) return false;
    const T factor = below / main[i];
    main[i + 1] -= factor * upper[i];
    if (i + 2 < n) upper[i + 1] -= factor * second[i];
    for (int64_t c = 0; c < k; ++c) row[k + c] -= factor * row[c];
  }
  if (n > 0 && main[n - 1] == 0) return false;
  for (int64_t i = n - 1; i >= 0; --i) {
    T* const row = values.data() + i * k;
    for (int64_t c = 0; c < k; ++c) {
      if (i + 1 < n) row[c] -= upper[i] * row[k + c];
      if (i + 2 < n) row[c] -= second[i] * row[2 * k + c];
      row[c] /= main[i];
    }
  }
  if (x != nullptr) std::copy(values.begin(), values.end(), x);
  return true;
}

template <typename T>
class MatrixKernel : public LibraryKernel {
 public:
  MatrixKernel(Buffers buffers, const SizedOp& op)
      : LibraryKernel(std::move(buffers)),
        op_(op.op()),
        triangle_{op.Bool(Attr::lower), op.Bool(Attr::transpose_a)},
        svd_{op.Bool(Attr::vectors), op.Bool(Attr::full)},
        pivots_(op.Bool(Attr::pivots)),
        matrices_(op.shape(op.num_results() - 1).num_elements()) {
    const std::vector<int64_t> a = op.operand_shape(0).sizes();
    rows_ = a[a.size() - 2];
    columns_ = a.back();
    if (op.num_operands() > 1) sides_ = op.operand_shape(1).sizes().back();
    for (const SizedShape& shape : op.operand_shapes()) in_.push_back(ElementsOf(shape));
    for (const SizedShape& shape : op.shapes()) out_.push_back(ElementsOf(shape));
    const double cost = CostOfOne();
    per_chunk_ = std::clamp<int64_t>(static_cast<int64_t>(kLeastChunkNs / cost), 1, 1024);
    config_.num_chunks = CeilDiv(matrices_, per_chunk_);
    config_.cost_ns = cost * static_cast<double>(matrices_);
  }

  void Run(const KernelFrame& frame, int64_t begin, int64_t end) const override {
    const int64_t last = std::min(end * per_chunk_, matrices_);
    for (int64_t i = begin * per_chunk_; i < last; ++i) {
      const bool ok = rows_ == 0 || columns_ == 0 || RunOne(frame, i);
      if (bool* const answers = Result<bool>(frame, out_.size() - 1)) answers[i] = ok;
    }
  }

 private:
  int64_t ElementsOf(const SizedShape& shape) const {
    return matrices_ == 0 ? 0 : shape.num_elements() / matrices_;
  }

  // Nanoseconds for a matrix: operations per n^3 at 4 a nanosecond, and what a call takes.
  double CostOfOne() const {
    const auto m = static_cast<double>(rows_), n = static_cast<double>(columns_);
    const auto k = static_cast<double>(sides_);
    switch (op_) {
      case Op::kCholesky:
        return 100 + n * n * n / 12;
      case Op::kEigh:
        return 300 + 3 * n * n * n;
      case Op::kQr:
        return 200 + m * n * std::min(m, n);
      case Op::kSolve:
        return 200 + n * n * (n / 6 + k / 2);
      case Op::kSvd:
        return 500 + 6 * m * n * std::min(m, n);
      case Op::kTriangularSolve:
        return 100 + n * n * k / 4;
      default:
        return 100 + 4 * n * k;
    }
  }

  const T* In(const KernelFrame& frame, size_t operand, int64_t i) const {
    return Operand<T>(frame, operand) + i * in_[operand];
  }
  T* Out(const KernelFrame& frame, size_t result, int64_t i) const {
    T* const first = Result<T>(frame, result);
    return first == nullptr ? nullptr : first + i * out_[result];
  }

  bool RunOne(const KernelFrame& frame, int64_t i) const {
    const T* const a = In(frame, 0, i);
    const T* const b = in_.size() > 1 ? In(frame, 1, i) : nullptr;
    T* const x = Out(frame, 0, i);
    switch (op_) {
      case Op::kCholesky:
        return CholeskyOf(a, rows_, x);
      case Op::kEigh:
        return EigenvaluesOf(a, rows_, x, svd_.vectors ? Out(frame, 1, i) : nullptr);
      case Op::kQr:
        QrOf(a, rows_, columns_, svd_.full, x, Out(frame, 1, i));
        return true;
      case Op::kSolve:
        return SolveByLu(a, b, rows_, sides_, x);
      case Op::kSvd:
        if (!svd_.vectors) return SvdOf<T>(a, rows_, columns_, svd_, x, nullptr, nullptr);
        return SvdOf(a, rows_, columns_, svd_, x, Out(frame, 1, i), Out(frame, 2, i));
      case Op::kTriangularSolve:
        return SolveTriangle(a, b, rows_, sides_, triangle_, x);
      default:
        return SolveTridiagonal(a, b, columns_, sides_, pivots_, x);
    }
  }

  const Op op_;
  const Triangle triangle_;
  const SvdRequest svd_;
  const bool pivots_;
  const int64_t matrices_;
  int64_t rows_ = 0, columns_ = 0, sides_ = 0, per_chunk_ = 1;
  std::vector<int64_t> in_, out_;  // elements of a matrix, by operand and by result
};

}  // namespace

KernelPtr MakeMatrixKernel(const SizedOp& op, Buffers buffers) {
  if (op.operand_shape(0).dtype() == ir::DType::kF32) {
    return std::make_shared<MatrixKernel<float>>(std::move(buffers), op);
  }
  return std::make_shared<MatrixKernel<double>>(std::move(buffers), op);
}

}  // namespace tektite::cpu
