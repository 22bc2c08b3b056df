// compact, nonzero, non_max_suppression, unique; is_member. Rows that do not count are zero here.
#include <algorithm>
#include <map>

#include "jit/ops/non_max_suppression.h"
#include "jit/reference/eval.h"
#include "jit/reference/scalar_ops.h"

namespace tektite::reference {

using ir::Literal;

namespace {

Literal Zeros(const EvalContext& c, int result) {
  Literal literal = c.AllocateResult(result);
  std::fill_n(literal.mutable_data<char>(), literal.num_bytes(), 0);
  return literal;
}

Literal CountOf(int64_t count) { return Literal::FromVector<int64_t>({}, {count}); }

Literals Compact(const EvalContext& c) {
  const Literal &mask = c.operand(0), &x = c.operand(1);
  Literal rows = Zeros(c, 0);
  const int64_t n = mask.num_elements(), width = n == 0 ? 0 : x.num_elements() / n;
  int64_t count = 0;
  DispatchBytes(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < n; ++i) {
      if (!mask.data<bool>()[i]) continue;
      std::copy_n(x.data<T>() + i * width, width, rows.mutable_data<T>() + count++ * width);
    }
  });
  return {rows, CountOf(count)};
}

Literals Nonzero(const EvalContext& c) {
  const Literal& mask = c.operand(0);
  Literal places = Zeros(c, 0);
  int64_t count = 0, element = 0;
  ForEachIndex(mask.sizes(), [&](const std::vector<int64_t>& index) {
    if (!mask.data<bool>()[element++]) return;
    std::copy(index.begin(), index.end(), places.mutable_data<int64_t>() + count++ * mask.rank());
  });
  return {places, CountOf(count)};
}

Literals Unique(const EvalContext& c) {
  const Literal& x = c.operand(0);
  Literal values = Zeros(c, 0), numbers = Zeros(c, 1), counts = Zeros(c, 2);
  const auto set = [](Literal& literal, int64_t i, int64_t value) {
    if (literal.dtype() == ir::DType::kS32) {
      literal.mutable_data<int32_t>()[i] = static_cast<int32_t>(value);
    } else {
      literal.mutable_data<int64_t>()[i] = value;
    }
  };
  std::vector<int64_t> occurrences;
  const int64_t n = x.sizes()[0], width = n == 0 ? 0 : x.num_elements() / n;
  ir::DispatchDType(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::map<std::vector<Wide<T>>, int64_t> number_of;  // without NaN, which has no order
    for (int64_t i = 0; i < n; ++i) {
      const T* const row = x.data<T>() + i * width;
      std::vector<Wide<T>> value;
      for (int64_t k = 0; k < width; ++k) value.push_back(Widen(row[k]));
      const auto next = static_cast<int64_t>(occurrences.size());
      int64_t number = next;
      if (value == value) number = number_of.try_emplace(value, next).first->second;
      if (number == next) {
        std::copy_n(row, width, values.mutable_data<T>() + next * width);
        occurrences.push_back(0);
      }
      ++occurrences[number];
      set(numbers, i, number);
    }
  });
  const auto count = static_cast<int64_t>(occurrences.size());
  for (int64_t i = 0; i < count; ++i) set(counts, i, occurrences[i]);
  return {values, numbers, counts, CountOf(count)};
}

Literals IsMember(const EvalContext& c) {
  const Literal &x = c.operand(0), &y = c.operand(1);
  Literal result = Zeros(c, 0);
  ir::DispatchDType(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      result.mutable_data<bool>()[i] =
          std::any_of(y.data<T>(), y.data<T>() + y.num_elements(),
                      [&](T member) { return Widen(member) == Widen(x.data<T>()[i]); });
    }
  });
  return {result};
}

Literals NonMaxSuppression(const EvalContext& c) {
  Literal indices = Zeros(c, 0), scores = Zeros(c, 1);
  const auto scalar = [&](int i) { return *c.operand(i).data<float>(); };
  const ops::Suppression s{c.operand(0).data<float>(),
                           c.operand(1).data<float>(),
                           c.operand(1).num_elements(),
                           std::min(c.operand(2).AsInt(0), indices.num_elements()),
                           scalar(3),
                           scalar(4),
                           scalar(5)};
  const int64_t count =
      ops::SuppressNonMaxima(s, indices.mutable_data<int32_t>(), scores.mutable_data<float>());
  return {indices, scores, CountOf(count)};
}

}  // namespace

absl::StatusOr<Literals> EvalSelection(const EvalContext& c) {
  switch (c.op()) {
    case ir::Op::kCompact:
      return Compact(c);
    case ir::Op::kNonzero:
      return Nonzero(c);
    case ir::Op::kIsMember:
      return IsMember(c);
    case ir::Op::kNonMaxSuppression:
      return NonMaxSuppression(c);
    default:
      return Unique(c);
  }
}

}  // namespace tektite::reference
