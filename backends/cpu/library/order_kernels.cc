// sort and top_k. Every element becomes an integer: its value's place in the order of all values
// above, its index below. No two of them are equal, so every algorithm that puts them in order, in
// any pieces, returns the same result.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/cpu/library/library_kernel.h"
#include "jit/base/rounding.h"

namespace tektite::cpu {
namespace {

using backend::KernelFrame;
using ir::Attr;
using ir::Op;

__extension__ using Uint128 = unsigned __int128;

constexpr int kIndexBits = 32;
static_assert(kMostOrdered == int64_t{1} << kIndexBits);
// Below this many a comparison sort is done sooner than the counters of a radix sort are cleared.
constexpr int64_t kFewEntries = 512;
constexpr int kDigitBits = 11;  // the counters of a digit fit L1
// A line this long is sorted in pieces. Each reads the whole line, so they are few.
constexpr int64_t kLongLine = int64_t{1} << 16;
constexpr int64_t kPieces = 4;
constexpr int64_t kSamplesPerPiece = 64;
// Elements that are compared with the least of the best at once.
constexpr int64_t kBlock = 32;

// Unsigned integers in the order of the values. NaN is greater than all numbers, -0 is 0.
template <typename T>
auto Ordered(T value) {
  if constexpr (std::is_same_v<T, ir::Half> || std::is_same_v<T, ir::BFloat16>) {
    return Ordered(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr Bits kSign = Bits{1} << (8 * sizeof(T) - 1);
    value += T(0);
    Bits bits;
    std::memcpy(&bits, &value, sizeof(bits));
    bits ^= (bits & kSign) != 0 ? ~Bits{0} : kSign;
    return value != value ? ~Bits{0} : bits;
  } else {
    using Bits = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>;
    constexpr Bits kSign = std::is_signed_v<T> ? Bits{1} << (8 * sizeof(Bits) - 1) : 0;
    return static_cast<Bits>(static_cast<Bits>(value) ^ kSign);
  }
}

template <typename T>
using Key = decltype(Ordered(T()));
template <typename T>
using Entry = std::conditional_t<sizeof(Key<T>) == 4, uint64_t, Uint128>;

template <typename T>
Entry<T> EntryOf(T value, int64_t index, bool descending) {
  const Key<T> key = Ordered(value);
  const auto place = static_cast<Key<T>>(descending ? ~key : key);
  return (static_cast<Entry<T>>(place) << kIndexBits) | static_cast<Entry<T>>(index);
}

template <typename E>
int64_t IndexOf(E entry) {
  return static_cast<uint32_t>(entry);
}

// Puts entries in order whose indices are in order already: digit by digit of their keys, from the
// last. The result is in one of the two.
template <typename E>
E* SortEntries(E* entries, E* spare, int64_t n) {
  if (n < kFewEntries) {
    std::sort(entries, entries + n);
    return entries;
  }
  constexpr int kKeyBits = 8 * sizeof(E) == 64 ? 32 : 64;
  constexpr int kDigits = (kKeyBits + kDigitBits - 1) / kDigitBits;
  constexpr uint32_t kValues = 1 << kDigitBits;
  const auto digit = [](E entry, int d) {
    return static_cast<uint32_t>(entry >> (kIndexBits + d * kDigitBits)) & (kValues - 1);
  };
  std::vector<uint32_t> counts(kDigits * kValues, 0);
  for (int64_t i = 0; i < n; ++i) {
    for (int d = 0; d < kDigits; ++d) ++counts[d * kValues + digit(entries[i], d)];
  }
  for (int d = 0; d < kDigits; ++d) {
    uint32_t* const count = counts.data() + d * kValues;
    if (count[digit(entries[0], d)] == n) continue;
    uint32_t before = 0;
    for (uint32_t v = 0; v < kValues; ++v) before += std::exchange(count[v], before);
    for (int64_t i = 0; i < n; ++i) spare[count[digit(entries[i], d)]++] = entries[i];
    std::swap(entries, spare);
  }
  return entries;
}

// A line's elements from number `first` of the order on.
template <typename E>
struct Ranked {
  const E* entries;
  int64_t first, count;
};

// `lines` runs of `length` elements, `step` apart, each put in order on its own.
template <typename T>
class LineKernel : public LibraryKernel {
 public:
  using E = Entry<T>;

  struct Lines {
    int64_t count, length, step;
    bool descending;
    int64_t wanted;  // of each line's order
  };

  LineKernel(Buffers buffers, const Lines& lines)
      : LibraryKernel(std::move(buffers)),
        lines_(lines),
        whole_(4 * lines.wanted > lines.length),
        pieces_(whole_ && lines.length >= kLongLine ? kPieces : 1),
        lines_per_chunk_(std::clamp<int64_t>(4096 / std::max<int64_t>(lines.length, 1), 1, 64)) {
    config_.num_chunks =
        pieces_ > 1 ? lines.count * pieces_ : CeilDiv(lines.count, lines_per_chunk_);
    const auto n = static_cast<double>(lines.length);
    config_.cost_ns = static_cast<double>(lines.count) * n *
                      (!whole_                   ? 1.5
                       : n < double{kFewEntries} ? 3 * std::log2(n + 2)
                                                 : 12);
    kept_ = std::min(lines.length, std::max<int64_t>(4 * lines.wanted, 1024));
    config_.scratch_bytes = static_cast<int64_t>(sizeof(E)) * (whole_ ? 2 * lines.length : kept_);
  }

  void Run(const KernelFrame& frame, int64_t begin, int64_t end) const override {
    if (pieces_ == 1) {
      const int64_t last = std::min(end * lines_per_chunk_, lines_.count);
      for (int64_t line = begin * lines_per_chunk_; line < last; ++line) {
        RunLine(frame, line, 0, 1);
      }
      return;
    }
    while (begin < end) {
      const int64_t line = begin / pieces_, first = begin % pieces_;
      const int64_t count = std::min(pieces_ - first, end - begin);
      RunLine(frame, line, first, first + count);
      begin += count;
    }
  }

 protected:
  virtual void Write(const KernelFrame& frame, int64_t line, const Ranked<E>& ranked) const = 0;

  // Where the line begins.
  int64_t BaseOf(int64_t line) const {
    return line / lines_.step * lines_.step * lines_.length + line % lines_.step;
  }

  const Lines lines_;

 private:
  void RunLine(const KernelFrame& frame, int64_t line, int64_t begin, int64_t end) const {
    if (lines_.wanted == 0) return;
    const T* const x = Operand<T>(frame, 0) + BaseOf(line);
    E* const entries = static_cast<E*>(frame.scratch);
    if (!whole_) return Write(frame, line, Best(x, entries));
    E* const spare = entries + lines_.length;
    Ranked<E> ranked{entries, 0, 0};
    if (begin == 0 && end == pieces_) {
      for (int64_t i = 0; i < lines_.length; ++i) entries[i] = At(x, i);
      ranked.count = lines_.length;
    } else {
      ranked = Between(x, begin, end, entries);
    }
    ranked.entries = SortEntries(entries, spare, ranked.count);
    ranked.count = std::min(ranked.count, lines_.wanted - ranked.first);
    if (ranked.count > 0) Write(frame, line, ranked);
  }

  E At(const T* x, int64_t i) const { return EntryOf(x[i * lines_.step], i, lines_.descending); }

  // Those of pieces [begin, end), which a sample of the line tells apart.
  Ranked<E> Between(const T* x, int64_t begin, int64_t end, E* entries) const {
    E samples[kPieces * kSamplesPerPiece];
    const int64_t n = pieces_ * kSamplesPerPiece;
    for (int64_t s = 0; s < n; ++s) samples[s] = At(x, s * lines_.length / n);
    std::sort(samples, samples + n);
    const bool is_last = end == pieces_;
    const E from = begin == 0 ? E{0} : samples[begin * kSamplesPerPiece];
    const E to = is_last ? ~E{0} : samples[end * kSamplesPerPiece];
    int64_t before = 0, count = 0;
    for (int64_t i = 0; i < lines_.length; ++i) {
      const E entry = At(x, i);
      entries[count] = entry;  // count <= i
      before += entry < from ? 1 : 0;
      count += entry >= from && entry < to ? 1 : 0;
    }
    return {entries, before, count};
  }

  // The first `wanted` of the order, of a line's many: who is behind the last of the best so far is
  // passed over in blocks.
  Ranked<E> Best(const T* x, E* entries) const {
    const int64_t wanted = lines_.wanted, length = lines_.length;
    const auto finish = [&](int64_t count) {
      if (wanted == 1) {
        std::swap(entries[0], *std::min_element(entries, entries + count));
      } else if (count > wanted) {
        std::nth_element(entries, entries + (wanted - 1), entries + count);
      }
      return entries[wanted - 1];
    };
    int64_t count = kept_;
    for (int64_t i = 0; i < count; ++i) entries[i] = At(x, i);
    E worst = finish(count);
    count = wanted;
    for (int64_t i = kept_; i < length; i += kBlock) {
      const int64_t stop = std::min(i + kBlock, length);
      if (lines_.step == 1 && stop == i + kBlock && !AnyAhead(x + i, x[IndexOf(worst)])) continue;
      for (int64_t k = i; k < stop; ++k) {
        const E entry = At(x, k);
        if (entry > worst) continue;
        entries[count++] = entry;
        if (count < kept_) continue;
        worst = finish(count);
        count = wanted;
      }
    }
    finish(count);
    std::sort(entries, entries + wanted);
    return {entries, 0, wanted};
  }

  // Whether any of a block may come before `worst`; NaN may.
  bool AnyAhead(const T* x, T worst) const {
    if constexpr (std::is_arithmetic_v<T>) {
      int ahead = 0;
      if (lines_.descending) {
        for (int64_t i = 0; i < kBlock; ++i) ahead |= x[i] <= worst ? 0 : 1;
      } else {
        for (int64_t i = 0; i < kBlock; ++i) ahead |= x[i] >= worst ? 0 : 1;
      }
      return ahead != 0;
    } else {
      return true;
    }
  }

  const bool whole_;  // whether lines are sorted rather than searched
  const int64_t pieces_, lines_per_chunk_;
  int64_t kept_;
};

// to[(first + i) * step] = from[index of entry i * step]
template <typename T, typename E>
void Collect(const T* from, const Ranked<E>& ranked, int64_t step, T* to) {
  for (int64_t i = 0; i < ranked.count; ++i) {
    to[(ranked.first + i) * step] = from[IndexOf(ranked.entries[i]) * step];
  }
}

// Lines lie along the sorted dimension.
template <typename T>
class Sort : public LineKernel<T> {
 public:
  using E = Entry<T>;

  Sort(Buffers buffers, const SizedOp& op) : LineKernel<T>(std::move(buffers), LinesOf(op)) {
    for (int i = 0; i < op.num_operands(); ++i) {
      bytes_.push_back(ir::DTypeBytes(op.operand_shape(i).dtype()));
    }
  }

 private:
  static typename LineKernel<T>::Lines LinesOf(const SizedOp& op) {
    const std::vector<int64_t> sizes = op.operand_shape(0).sizes();
    const int64_t d = op.Int(Attr::dimension), length = sizes[d];
    return {length == 0 ? 0 : ProductOf(sizes) / length, length, StridesOf(sizes)[d],
            op.Bool(Attr::descending), length};
  }

  void Write(const KernelFrame& frame, int64_t line, const Ranked<E>& ranked) const override {
    const int64_t base = this->BaseOf(line);
    for (size_t i = 0; i < bytes_.size(); ++i) {
      if (bytes_[i] == 1) Move<uint8_t>(frame, i, base, ranked);
      if (bytes_[i] == 2) Move<uint16_t>(frame, i, base, ranked);
      if (bytes_[i] == 4) Move<uint32_t>(frame, i, base, ranked);
      if (bytes_[i] == 8) Move<uint64_t>(frame, i, base, ranked);
    }
  }

  template <typename U>
  void Move(const KernelFrame& frame, size_t i, int64_t base, const Ranked<E>& ranked) const {
    U* const to = this->template Result<U>(frame, i);
    if (to == nullptr) return;
    Collect(this->template Operand<U>(frame, i) + base, ranked, this->lines_.step, to + base);
  }

  std::vector<int> bytes_;  // of an element, by operand
};

// Lines are rows.
template <typename T>
class TopK : public LineKernel<T> {
 public:
  using E = Entry<T>;

  TopK(Buffers buffers, const SizedOp& op) : LineKernel<T>(std::move(buffers), LinesOf(op)) {}

 private:
  static typename LineKernel<T>::Lines LinesOf(const SizedOp& op) {
    const int64_t k = op.Int(Attr::k);
    return {k == 0 ? 0 : ProductOf(op.shape(0).sizes()) / k, op.operand_shape(0).sizes().back(), 1,
            /*descending=*/true, k};
  }

  void Write(const KernelFrame& frame, int64_t row, const Ranked<E>& ranked) const override {
    const int64_t k = this->lines_.wanted;
    if (T* const values = this->template Result<T>(frame, 0)) {
      const T* const x = this->template Operand<T>(frame, 0) + row * this->lines_.length;
      Collect(x, ranked, 1, values + row * k);
    }
    if (auto* const indices = this->template Result<int32_t>(frame, 1)) {
      int32_t* const to = indices + row * k + ranked.first;
      for (int64_t i = 0; i < ranked.count; ++i) {
        to[i] = static_cast<int32_t>(IndexOf(ranked.entries[i]));
      }
    }
  }
};

// Whether the order of results is a heap's: one result, or all of them, are in descending order.
bool IsHeap(const SizedOp& op) {
  if (op.op() != Op::kTopK || !op.Bool(Attr::heap) || op.shape(0).num_elements() == 0) {
    return false;
  }
  const int64_t k = op.Int(Attr::k);
  return k > 1 && k < op.operand_shape(0).sizes().back();
}

}  // namespace

KernelPtr MakeOrderKernel(const SizedOp& op, Buffers buffers) {
  if (IsHeap(op)) return MakeHeapTopK(op, std::move(buffers));
  KernelPtr kernel;
  ir::DispatchDType(op.operand_shape(0).dtype(), [&](auto zero) {
    using T = decltype(zero);
    if (op.op() == Op::kSort) {
      kernel = std::make_shared<Sort<T>>(buffers, op);
    } else {
      kernel = std::make_shared<TopK<T>>(buffers, op);
    }
  });
  return kernel;
}

}  // namespace tektite::cpu
