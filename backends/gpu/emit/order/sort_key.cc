#include "backends/gpu/emit/order/sort_key.h"

#include "backends/gpu/emit/names.h"

#include <limits>

namespace tektite::gpu {

namespace {

constexpr int64_t kIndices = int64_t{1} << 32;  // of a key's entries
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kMostIndex = std::numeric_limits<int32_t>::max();
constexpr int64_t kSignBit = std::numeric_limits<int64_t>::min();

}  // namespace

// A signed integer of 32 or 64 bits, as s64.
Value SortKey::Ordered(Builder& b, Value x) const {
  if (!ir::IsFloat(dtype_)) {
    const Value v = b.Convert(x, DType::kS64);
    if (dtype_ == DType::kU32) return b.Add(v, b.Index(std::numeric_limits<int32_t>::min()));
    return dtype_ == DType::kU64 ? b.Binary(Op::kXor, v, b.Index(kSignBit)) : v;
  }
  const DType wide = is_wide() ? DType::kF64 : DType::kF32;
  const DType bits = is_wide() ? DType::kS64 : DType::kS32;
  const int64_t most = is_wide() ? kMost : kMostIndex;
  x = b.Add(b.Convert(x, wide), b.Float(wide, 0));  // -0 becomes 0
  const Value v = b.Bitcast(x, bits);
  Value key =
      b.Select(b.Compare("lt", v, b.Int(bits, 0)), b.Binary(Op::kXor, v, b.Int(bits, most)), v);
  key = b.Select(b.Compare("eq", x, x), key, b.Int(bits, most));
  return b.Convert(key, DType::kS64);
}

SortKey::Values SortKey::Entry(Builder& b, Value x, Value index) const {
  Value key = Ordered(b, x);
  if (descending_) key = b.Binary(Op::kXor, key, b.Index(-1));
  if (is_wide()) return {key, b.Convert(index, DType::kS32)};
  return {b.Add(b.Mul(key, b.Index(kIndices)), index)};
}

Value SortKey::Index(Builder& b, const Values& entry) const {
  if (is_wide()) return b.Convert(entry[1], DType::kS64);
  return b.And(entry[0], b.Index(kIndices - 1));
}

Value SortKey::SameKey(Builder& b, const Values& x, const Values& y) const {
  if (is_wide()) return b.Compare("eq", x[0], y[0]);
  return b.Compare("eq", FirstOf(b, x)[0], FirstOf(b, y)[0]);
}

SortKey::Values SortKey::FirstOf(Builder& b, const Values& entry) const {
  if (is_wide()) return {entry[0], b.Int(DType::kS32, -1)};
  return {b.And(entry[0], b.Index(-kIndices))};
}

SortKey::Values SortKey::LastOf(Builder& b, const Values& entry) const {
  if (is_wide()) return {entry[0], b.Int(DType::kS32, kMostIndex)};
  return {b.Or(entry[0], b.Index(kIndices - 1))};
}

std::vector<DType> SortKey::parts() const {
  return is_wide() ? std::vector<DType>{DType::kS64, DType::kS32} : std::vector<DType>{DType::kS64};
}

SortKey::Values SortKey::End(Builder& b) const {
  if (is_wide()) return {b.Index(kMost), b.Int(DType::kS32, kMostIndex)};
  return {b.Index(kMost)};
}

Value SortKey::Before(Builder& b, const Values& x, const Values& y) const {
  const Value less = b.Compare("lt", x[0], y[0]);
  if (!is_wide()) return less;
  return b.Or(less, b.And(b.Compare("eq", x[0], y[0]), b.Compare("lt", x[1], y[1])));
}

}  // namespace tektite::gpu
