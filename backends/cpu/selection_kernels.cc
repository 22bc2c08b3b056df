// compact, nonzero, unique: each is one pass over its operand, and one chunk, since where a row
// goes depends on all that come before it.
#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/cpu/library_kernel.h"
#include "jit/base/status.h"

namespace tektite::cpu {
namespace {

using backend::KernelFrame;
using ir::Node;
using ir::Op;

// Bools that are looked at together.
constexpr int64_t kWord = 8;

uint64_t LoadWord(const bool* mask) {
  uint64_t word;
  std::memcpy(&word, mask, sizeof(word));
  return word;
}

// Calls visit(i) for every true mask[i], in order.  Eight at a time: what is mostly false costs
// next to nothing.
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

// Calls visit(i, at) for every i of a word that is not all false, `at` being the number of trues
// before it: what it does for a false one is done again for the next.  Returns the number of trues.
template <typename Visit>
int64_t Overwrite(const bool* mask, int64_t n, Visit&& visit) {
  int64_t at = 0, i = 0;
  for (; i + kWord <= n; i += kWord) {
    if (LoadWord(mask + i) == 0) continue;
    for (int64_t k = i; k < i + kWord; ++k) {
      visit(k, at);
      at += mask[k] ? 1 : 0;
    }
  }
  for (; i < n; ++i) {
    visit(i, at);
    at += mask[i] ? 1 : 0;
  }
  return at;
}

class Compact : public LibraryKernel {
 public:
  Compact(Buffers buffers, const Node& op)
      : LibraryKernel(std::move(buffers)),
        n_(op.operand_shape(0).num_elements()),
        row_bytes_(n_ == 0 ? 0 : op.operand_shape(1).num_bytes() / n_) {
    plan_.cost_ns = static_cast<double>(n_) * (0.5 + 0.02 * static_cast<double>(row_bytes_));
  }

  void Run(const KernelFrame& frame, int64_t, int64_t) const override {
    const bool* const mask = Operand<bool>(frame, 0);
    const auto* const x = Operand<char>(frame, 1);
    int64_t count = 0;
    if (auto* const rows = Result<char>(frame, 0); rows == nullptr || row_bytes_ == 0) {
      count = std::count(mask, mask + n_, true);
    } else {
      count = Copy(mask, x, rows);
    }
    if (auto* const result = Result<int64_t>(frame, 1)) *result = count;
  }

 private:
  template <typename T>
  int64_t CopyElements(const bool* mask, const char* x, char* rows) const {
    const T* const from = reinterpret_cast<const T*>(x);
    T* const to = reinterpret_cast<T*>(rows);
    return Overwrite(mask, n_, [&](int64_t i, int64_t at) { to[at] = from[i]; });
  }

  int64_t Copy(const bool* mask, const char* x, char* rows) const {
    switch (row_bytes_) {
      case 1:
        return CopyElements<uint8_t>(mask, x, rows);
      case 2:
        return CopyElements<uint16_t>(mask, x, rows);
      case 4:
        return CopyElements<uint32_t>(mask, x, rows);
      case 8:
        return CopyElements<uint64_t>(mask, x, rows);
      default:
        break;
    }
    int64_t count = 0;
    ForEachTrue(mask, n_, [&](int64_t i) {
      std::memcpy(rows + count++ * row_bytes_, x + i * row_bytes_, row_bytes_);
    });
    return count;
  }

  const int64_t n_, row_bytes_;
};

class Nonzero : public LibraryKernel {
 public:
  Nonzero(Buffers buffers, const Node& op)
      : LibraryKernel(std::move(buffers)), sizes_(op.operand_shape(0).sizes()) {
    n_ = ir::Product(sizes_);
    plan_.cost_ns = 0.7 * static_cast<double>(n_) * static_cast<double>(1 + sizes_.size());
  }

  void Run(const KernelFrame& frame, int64_t, int64_t) const override {
    const bool* const mask = Operand<bool>(frame, 0);
    auto* const places = Result<int64_t>(frame, 0);
    int64_t count = 0;
    if (places == nullptr || sizes_.empty()) {
      count = std::count(mask, mask + n_, true);
    } else if (sizes_.size() == 1) {
      count = Overwrite(mask, n_, [&](int64_t i, int64_t at) { places[at] = i; });
    } else if (n_ > 0) {
      count = FindPlaces(mask, places);
    }
    if (auto* const result = Result<int64_t>(frame, 1)) *result = count;
  }

 private:
  // Along the last dimension only the last coordinate changes.
  int64_t FindPlaces(const bool* mask, int64_t* places) const {
    const size_t rank = sizes_.size();
    const int64_t length = sizes_.back();
    std::vector<int64_t> place(rank, 0);
    int64_t* next = places;
    for (int64_t line = 0; line < n_; line += length) {
      if (rank == 2) {
        ForEachTrue(mask + line, length, [&](int64_t i) {
          *next++ = place[0];
          *next++ = i;
        });
      } else {
        ForEachTrue(mask + line, length, [&](int64_t i) {
          next = std::copy_n(place.data(), rank - 1, next);
          *next++ = i;
        });
      }
      for (size_t d = rank - 1; d-- > 0;) {
        if (++place[d] < sizes_[d]) break;
        place[d] = 0;
      }
    }
    return (next - places) / static_cast<int64_t>(rank);
  }

  const std::vector<int64_t> sizes_;
  int64_t n_ = 0;
};

// ---- unique -------------------------------------------------------------------

template <typename T>
constexpr bool kIsNarrowFloat = std::is_same_v<T, ir::Half> || std::is_same_v<T, ir::BFloat16>;

template <typename T>
auto Comparable(T value) {
  if constexpr (kIsNarrowFloat<T>) {
    return static_cast<float>(value);
  } else {
    return value;
  }
}

// Values by their hash: open addressing, a power of two of places, at most half of them taken.
template <typename T>
class ValueTable {
 public:
  // `values[i]` is value number i, which the caller adds when Find says so.
  explicit ValueTable(const std::vector<T>& values) : values_(values), places_(64, kFree) {}

  // The number of the value that equals x, or values.size(): then it is to be added.
  int64_t Find(T x) {
    const auto count = static_cast<int64_t>(values_.size());
    const auto key = Comparable(x);
    if (key != key) return count;  // NaN: nobody will ever find it
    if (2 * used_ >= static_cast<int64_t>(places_.size())) Grow();
    size_t at = Hash(x) & (places_.size() - 1);
    for (; places_[at] != kFree; at = (at + 1) & (places_.size() - 1)) {
      if (Comparable(values_[places_[at]]) == key) return places_[at];
    }
    places_[at] = count;
    ++used_;
    return count;
  }

 private:
  static constexpr int64_t kFree = -1;

  static size_t Hash(T x) {
    uint64_t bits = 0;
    if (Comparable(x) != Comparable(T(0))) std::memcpy(&bits, &x, sizeof(x));  // -0 is 0
    bits *= 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
    return bits ^ (bits >> 32);
  }

  void Grow() {
    std::vector<int64_t> old(4 * places_.size(), kFree);
    old.swap(places_);
    for (int64_t number : old) {
      if (number == kFree) continue;
      size_t at = Hash(values_[number]) & (places_.size() - 1);
      while (places_[at] != kFree) at = (at + 1) & (places_.size() - 1);
      places_[at] = number;
    }
  }

  const std::vector<T>& values_;
  std::vector<int64_t> places_;
  int64_t used_ = 0;
};

template <typename T, typename Number>
class Unique : public LibraryKernel {
 public:
  Unique(Buffers buffers, int64_t n) : LibraryKernel(std::move(buffers)), n_(n) {
    plan_.cost_ns = 5 * static_cast<double>(n);
  }

  void Run(const KernelFrame& frame, int64_t, int64_t) const override {
    const T* const x = Operand<T>(frame, 0);
    auto* const numbers = Result<Number>(frame, 1);
    std::vector<T> values;
    std::vector<Number> counts;
    ValueTable<T> table(values);
    for (int64_t i = 0; i < n_; ++i) {
      const int64_t number = table.Find(x[i]);
      if (number == static_cast<int64_t>(values.size())) {
        values.push_back(x[i]);
        counts.push_back(0);
      }
      ++counts[number];
      if (numbers != nullptr) numbers[i] = static_cast<Number>(number);
    }
    if (auto* const result = Result<T>(frame, 0)) {
      std::copy(values.begin(), values.end(), result);
    }
    if (auto* const result = Result<Number>(frame, 2)) {
      std::copy(counts.begin(), counts.end(), result);
    }
    if (auto* const result = Result<int64_t>(frame, 3)) {
      *result = static_cast<int64_t>(values.size());
    }
  }

 private:
  const int64_t n_;
};

KernelPtr MakeUnique(const Node& op, Buffers buffers) {
  const int64_t n = op.operand_shape(0).num_elements();
  const bool narrow = op.attrs().GetDType(ir::Attr::dtype) == ir::DType::kS32;
  KernelPtr kernel;
  ir::DispatchDType(op.operand_shape(0).dtype(), [&](auto zero) {
    using T = decltype(zero);
    // std::vector<bool> is no array.
    using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
    if (narrow) {
      kernel = std::make_shared<Unique<Stored, int32_t>>(std::move(buffers), n);
    } else {
      kernel = std::make_shared<Unique<Stored, int64_t>>(std::move(buffers), n);
    }
  });
  return kernel;
}

}  // namespace

absl::StatusOr<KernelPtr> MakeSelectionKernel(const Node& op, Buffers buffers) {
  switch (op.op()) {
    case Op::kCompact:
      return std::make_shared<Compact>(std::move(buffers), op);
    case Op::kNonzero:
      return std::make_shared<Nonzero>(std::move(buffers), op);
    case Op::kUnique:
      return MakeUnique(op, std::move(buffers));
    default:
      return Unimplemented("no selection kernel for ", op.Describe());
  }
}

}  // namespace tektite::cpu
