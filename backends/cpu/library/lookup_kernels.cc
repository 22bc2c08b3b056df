// unique and is_member: values, or rows of them, are looked up by their hash.
#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/cpu/library/comparable.h"
#include "backends/cpu/library/library_kernel.h"

namespace tektite::cpu {
namespace {

using backend::KernelFrame;
using ir::Op;

template <typename T>
uint64_t HashOf(T x) {
  uint64_t bits = 0;
  if (Comparable(x) != Comparable(T(0))) std::memcpy(&bits, &x, sizeof(x));  // -0 is 0
  bits *= 0x9e3779b97f4a7c15;                                                // 2^64 / golden ratio
  return bits ^ (bits >> 32);
}

// The keys of a lookup: single values, or rows of several.  A key that holds NaN equals none,
// itself included.
template <typename T>
struct ValueKeys {
  using Key = T;
  static bool Equal(Key a, Key b) { return Comparable(a) == Comparable(b); }
  static uint64_t Hash(Key x) { return HashOf(x); }
};

template <typename T>
struct RowKeys {
  using Key = const T*;
  int64_t width;
  bool Equal(Key a, Key b) const {
    for (int64_t i = 0; i < width; ++i) {
      if (!(Comparable(a[i]) == Comparable(b[i]))) return false;
    }
    return true;
  }
  uint64_t Hash(Key x) const {
    uint64_t hash = 0;
    for (int64_t i = 0; i < width; ++i) hash = (hash ^ HashOf(x[i])) * 0x9e3779b97f4a7c15;
    return hash ^ (hash >> 32);
  }
};

// Different keys, numbered in the order in which they came: open addressing, a power of two of
// places, at most half of them taken.
template <typename Keys>
class KeyTable {
 public:
  using Key = typename Keys::Key;
  explicit KeyTable(Keys keys) : keys_(keys), places_(64, kFree) {}

  // The key's number; a key that is new gets the next.
  int64_t Number(Key x) {
    const auto count = static_cast<int64_t>(values_.size());
    if (keys_.Equal(x, x)) {
      if (2 * used_ >= static_cast<int64_t>(places_.size())) Grow();
      const size_t at = Place(x);
      if (places_[at] != kFree) return places_[at];
      places_[at] = count;
      ++used_;
    }
    values_.push_back(x);
    return count;
  }

  bool Has(Key x) const { return keys_.Equal(x, x) && places_[Place(x)] != kFree; }
  const std::vector<Key>& values() const { return values_; }

 private:
  static constexpr int64_t kFree = -1;

  // Where the key is, or would be.
  size_t Place(Key x) const {
    size_t at = keys_.Hash(x) & (places_.size() - 1);
    while (places_[at] != kFree && !keys_.Equal(values_[places_[at]], x)) {
      at = (at + 1) & (places_.size() - 1);
    }
    return at;
  }

  void Grow() {
    std::vector<int64_t> old(4 * places_.size(), kFree);
    old.swap(places_);
    for (int64_t number : old) {
      if (number == kFree) continue;
      size_t at = keys_.Hash(values_[number]) & (places_.size() - 1);
      while (places_[at] != kFree) at = (at + 1) & (places_.size() - 1);
      places_[at] = number;
    }
  }

  const Keys keys_;
  std::vector<Key> values_;
  std::vector<int64_t> places_;
  int64_t used_ = 0;
};

template <typename T, typename Number>
class Unique : public LibraryKernel {
 public:
  Unique(Buffers buffers, const SizedOp& op)
      : LibraryKernel(std::move(buffers)),
        n_(op.operand_shape(0).sizes().front()),
        width_(n_ == 0 ? 1 : op.operand_shape(0).num_elements() / n_) {
    config_.cost_ns = static_cast<double>(n_) * static_cast<double>(4 + width_);
  }

  void Run(const KernelFrame& frame, int64_t, int64_t) const override {
    const T* const x = Operand<T>(frame, 0);
    if (width_ == 1) {
      Find(frame, KeyTable<ValueKeys<T>>({}), [x](int64_t i) { return x[i]; });
    } else {
      Find(frame, KeyTable<RowKeys<T>>({width_}), [&](int64_t i) { return x + i * width_; });
    }
  }

 private:
  template <typename Table, typename KeyAt>
  void Find(const KernelFrame& frame, Table table, const KeyAt& key_at) const {
    auto* const numbers = Result<Number>(frame, 1);
    std::vector<Number> counts;
    for (int64_t i = 0; i < n_; ++i) {
      const int64_t number = table.Number(key_at(i));
      if (number == static_cast<int64_t>(counts.size())) counts.push_back(0);
      ++counts[number];
      if (numbers != nullptr) numbers[i] = static_cast<Number>(number);
    }
    if (auto* result = Result<T>(frame, 0)) {
      for (const auto& value : table.values()) result = Write(value, result);
    }
    if (auto* const result = Result<Number>(frame, 2)) {
      std::copy(counts.begin(), counts.end(), result);
    }
    if (auto* const result = Result<int64_t>(frame, 3)) {
      *result = static_cast<int64_t>(counts.size());
    }
  }

  T* Write(T value, T* to) const {
    *to = value;
    return to + 1;
  }
  T* Write(const T* row, T* to) const { return std::copy_n(row, width_, to); }

  const int64_t n_, width_;
};

template <typename T>
class IsMember : public LibraryKernel {
 public:
  IsMember(Buffers buffers, const SizedOp& op)
      : LibraryKernel(std::move(buffers)),
        n_(op.operand_shape(0).num_elements()),
        members_(op.operand_shape(1).num_elements()) {
    config_.cost_ns = 4 * static_cast<double>(n_ + members_);
  }

  void Run(const KernelFrame& frame, int64_t, int64_t) const override {
    const T* const x = Operand<T>(frame, 0);
    const T* const members = Operand<T>(frame, 1);
    bool* const result = Result<bool>(frame, 0);
    KeyTable<ValueKeys<T>> table({});
    for (int64_t i = 0; i < members_; ++i) table.Number(members[i]);
    for (int64_t i = 0; i < n_; ++i) result[i] = table.Has(x[i]);
  }

 private:
  const int64_t n_, members_;
};

}  // namespace

KernelPtr MakeLookup(const SizedOp& op, Buffers buffers) {
  const bool narrow = op.Int(ir::Attr::dtype) == static_cast<int64_t>(ir::DType::kS32);
  KernelPtr kernel;
  ir::DispatchDType(op.operand_shape(0).dtype(), [&](auto zero) {
    using T = decltype(zero);
    // std::vector<bool> is no array.
    using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
    if (op.op() == Op::kIsMember) {
      kernel = std::make_shared<IsMember<Stored>>(std::move(buffers), op);
    } else if (narrow) {
      kernel = std::make_shared<Unique<Stored, int32_t>>(std::move(buffers), op);
    } else {
      kernel = std::make_shared<Unique<Stored, int64_t>>(std::move(buffers), op);
    }
  });
  return kernel;
}

}  // namespace tektite::cpu
