// compact and nonzero. A row's place depends on how many rows come before it; a thread that begins
// in the middle counts them first, which costs a fraction of moving them.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "backends/cpu/library/compress.h"
#include "backends/cpu/library/library_kernel.h"
#include "jit/base/rounding.h"

namespace tektite::cpu {
namespace {

using backend::KernelFrame;
using ir::Op;

// Bools that are looked at together.
constexpr int64_t kWord = 8;
// Elements of a piece, at least, and pieces, at most: each piece counts the rows before it.
constexpr int64_t kPiece = int64_t{1} << 15;
constexpr int64_t kMostPieces = 8;
// Places that are found before they become coordinates.
constexpr int64_t kPositionsInBlock = 512;

uint64_t LoadWord(const bool* mask) {
  uint64_t word;
  std::memcpy(&word, mask, sizeof(word));
  return word;
}

// Calls visit(i) for every true mask[i], in order.  Eight at a time: a mask that is mostly false
// costs next to nothing.
template <typename Visit>
void ForEachTrue(const bool* mask, int64_t n, Visit&& visit) {
  int64_t i = 0;
  for (; i + kWord <= n; i += kWord) {
    for (uint64_t word = LoadWord(mask + i); word != 0; word &= word - 1) {
      visit(i + __builtin_ctzll(word) / 8);
    }
  }
  for (; i < n; ++i) {
    if (mask[i]) visit(i);
  }
}

// The last result is how many of the mask's `n` elements are true.
class MaskKernel : public LibraryKernel {
 public:
  MaskKernel(Buffers buffers, int64_t n, double ns_each)
      : LibraryKernel(std::move(buffers)),
        n_(n),
        piece_(std::max(kPiece, (n + kMostPieces - 1) / kMostPieces)) {
    config_.num_chunks = std::max<int64_t>(1, CeilDiv(n, piece_));
    config_.cost_ns = ns_each * static_cast<double>(n);
  }

  void Run(const KernelFrame& frame, int64_t begin, int64_t end) const override {
    const bool* const mask = Operand<bool>(frame, 0);
    const int64_t first = begin * piece_, last = std::min(end * piece_, n_);
    const int64_t before = CountTrue(mask, first);
    const int64_t count = CountTrue(mask + first, last - first);
    if (last == n_) {
      if (auto* const result = Result<int64_t>(frame, 1)) *result = before + count;
    }
    if (count > 0 && Result<char>(frame, 0) != nullptr) {
      Select(frame, {mask, first, last, before, count});
    }
  }

 protected:
  struct Part {
    const bool* mask;
    int64_t first, last;    // of the mask's elements
    int64_t before, count;  // true ones
  };
  virtual void Select(const KernelFrame& frame, const Part& part) const = 0;

 private:
  const int64_t n_, piece_;
};

class Compact : public MaskKernel {
 public:
  Compact(Buffers buffers, const SizedOp& op)
      : MaskKernel(std::move(buffers), op.operand_shape(0).num_elements(),
                   0.4 + 0.05 * static_cast<double>(RowBytes(op))),
        row_bytes_(RowBytes(op)) {}

 private:
  static int64_t RowBytes(const SizedOp& op) {
    const int64_t n = op.operand_shape(0).num_elements();
    return n == 0 ? 0 : op.operand_shape(1).num_bytes() / n;
  }

  template <typename T>
  void SelectElements(const KernelFrame& frame, const Part& p) const {
    const T* const from = Operand<T>(frame, 1) + p.first;
    T* const to = Result<T>(frame, 0) + p.before;
    if constexpr (sizeof(T) >= 4) {
      CompressElements(p.mask + p.first, p.last - p.first, from, to, p.count);
    } else {
      // A value that is written for a false element is overwritten for the next true one.
      int64_t at = 0;
      for (int64_t i = 0; at < p.count; ++i) {
        to[at] = from[i];
        at += p.mask[p.first + i] ? 1 : 0;
      }
    }
  }

  void Select(const KernelFrame& frame, const Part& p) const override {
    switch (row_bytes_) {
      case 1:
        return SelectElements<uint8_t>(frame, p);
      case 2:
        return SelectElements<uint16_t>(frame, p);
      case 4:
        return SelectElements<uint32_t>(frame, p);
      case 8:
        return SelectElements<uint64_t>(frame, p);
      default:
        break;
    }
    const char* const x = Operand<char>(frame, 1) + p.first * row_bytes_;
    char* to = Result<char>(frame, 0) + p.before * row_bytes_;
    ForEachTrue(p.mask + p.first, p.last - p.first, [&](int64_t i) {
      std::memcpy(to, x + i * row_bytes_, row_bytes_);
      to += row_bytes_;
    });
  }

  const int64_t row_bytes_;
};

class Nonzero : public MaskKernel {
 public:
  Nonzero(Buffers buffers, const SizedOp& op)
      : MaskKernel(std::move(buffers), op.operand_shape(0).num_elements(),
                   0.4 + 0.4 * op.operand_shape(0).rank()),
        sizes_(op.operand_shape(0).sizes()) {}

 private:
  void Select(const KernelFrame& frame, const Part& p) const override {
    const auto rank = static_cast<int64_t>(sizes_.size());
    int64_t* to = Result<int64_t>(frame, 0) + p.before * rank;
    if (rank == 1) {
      CompressPlaces(p.mask + p.first, p.last - p.first, p.first, to, p.count);
    } else if (rank > 1) {
      SelectCoordinates(p, to);
    }
  }

  // Along the last dimension only the last coordinate changes.
  void SelectCoordinates(const Part& p, int64_t* to) const {
    const size_t rank = sizes_.size();
    const int64_t length = sizes_.back();
    std::vector<int64_t> place(rank, 0);
    int64_t line = p.first / length * length;  // the line's first element
    for (int64_t d = static_cast<int64_t>(rank) - 2, rest = p.first / length; d >= 0; --d) {
      place[d] = rest % sizes_[d];
      rest /= sizes_[d];
    }
    std::array<int64_t, kPositionsInBlock> found;
    for (int64_t i = p.first; i < p.last; i += kPositionsInBlock) {
      const int64_t size = std::min(kPositionsInBlock, p.last - i);
      const int64_t count = CountTrue(p.mask + i, size);
      CompressPlaces(p.mask + i, size, i, found.data(), kPositionsInBlock);
      for (int64_t k = 0; k < count; ++k) {
        for (; found[k] >= line + length; line += length) Advance(place);
        if (rank == 2) {
          *to++ = place[0];
        } else {
          to = std::copy_n(place.data(), rank - 1, to);
        }
        *to++ = found[k] - line;
      }
    }
  }

  void Advance(std::vector<int64_t>& place) const {
    for (size_t d = sizes_.size() - 1; d-- > 0;) {
      if (++place[d] < sizes_[d]) return;
      place[d] = 0;
    }
  }

  const std::vector<int64_t> sizes_;
};

}  // namespace

KernelPtr MakeSelectionKernel(const SizedOp& op, Buffers buffers) {
  switch (op.op()) {
    case Op::kCompact:
      return std::make_shared<Compact>(std::move(buffers), op);
    case Op::kNonzero:
      return std::make_shared<Nonzero>(std::move(buffers), op);
    case Op::kNonMaxSuppression:
      return MakeNonMaxSuppression(op, std::move(buffers));
    default:
      return MakeLookup(op, std::move(buffers));
  }
}

}  // namespace tektite::cpu
