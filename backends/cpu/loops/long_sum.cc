#include "backends/cpu/loops/long_sum.h"

#include "backends/cpu/emit/names.h"

#include <utility>

namespace tektite::cpu {

using Values = std::vector<Value>;

Dim BlockTrips(const Dim& inner, int64_t steps) {
  return Max(FloorDiv(Dim(steps), Max(inner, 1)), 1);
}

bool NeverEndsBlock(const Dim& trips, const Dim& block) { return (trips - block).value_or(1) <= 0; }

Values ForInBlocks(loop::Builder& b, const Dim& trips, const Dim& block, Values state,
                   const std::function<Values(Value, Value, Values)>& body,
                   const std::function<Values(Values)>& end_block) {
  if (NeverEndsBlock(trips, block)) {
    return body(b.Index(0), b.Index(trips), std::move(state));
  }
  const Value size = b.Index(block), all = b.Index(trips);
  return b.For(b.Index(0), b.Index(CeilDiv(trips, block)), 1, std::move(state),
               [&](Value n, absl::Span<const Value> carried) {
                 const Value begin = b.Mul(n, size), end = b.Min(b.Add(begin, size), all);
                 Values s = body(begin, end, Values(carried.begin(), carried.end()));
                 return b.IfElse(
                     b.Compare("lt", end, all), [&] { return end_block(s); }, [&] { return s; });
               });
}

SumCascade::SumCascade(loop::Builder* b, DType dtype, int lanes, int64_t vectors, const Dim& blocks)
    : b_(b), dtype_(dtype), lanes_(lanes), blocks_(blocks) {
  if (blocks_ == Dim(1)) return;
  lower_ = b->AllocateScratch(dtype, vectors * lanes);
  if (HasUpperLevel()) upper_ = b->AllocateScratch(dtype, vectors * lanes);
}

Values SumCascade::EndBlock(Value n, Values sums) const {
  if (blocks_ == Dim(1)) return sums;
  loop::Builder& b = *b_;
  const Value zero = b.Splat(b.Float(dtype_, 0), lanes_);
  auto at = [&](size_t i) { return b.Index(static_cast<int64_t>(i) * lanes_); };
  // Adds `values` to the stored sums, or stores them the first time.
  auto add = [&](Value to, Values* values, Value is_first) {
    for (size_t i = 0; i < values->size(); ++i) {
      Value& sum = (*values)[i];
      sum = b.Add(b.Select(is_first, zero, b.Load(to, dtype_, at(i), lanes_)), sum);
      b.Store(to, at(i), sum);
    }
  };
  return b.IfElse(
      b.Compare("lt", n, b.Index(blocks_ - Dim(1))),
      [&] {
        Values values = sums;
        const Value place = HasUpperLevel() ? b.Rem(n, b.Index(kFanIn)) : n;
        add(lower_, &values, b.Compare("eq", place, b.Index(0)));
        if (HasUpperLevel()) {
          b.If(b.Compare("eq", place, b.Index(kFanIn - 1)),
               [&] { add(upper_, &values, b.Compare("lt", n, b.Index(kFanIn))); });
        }
        return Values(sums.size(), zero);
      },
      [&] { return sums; });
}

Values SumCascade::Total(Values sums) const {
  if (blocks_ == Dim(1)) return sums;
  loop::Builder& b = *b_;
  const Value ended = b.Index(blocks_ - Dim(1));
  auto plus = [&](Value from, Value is_some) {
    sums = b.IfElse(
        is_some,
        [&] {
          Values all;
          for (size_t i = 0; i < sums.size(); ++i) {
            const Value at = b.Index(static_cast<int64_t>(i) * lanes_);
            all.push_back(b.Add(sums[i], b.Load(from, dtype_, at, lanes_)));
          }
          return all;
        },
        [&] { return sums; });
  };
  if (!HasUpperLevel()) {
    plus(lower_, b.Compare("gt", ended, b.Index(0)));
    return sums;
  }
  plus(lower_, b.Compare("gt", b.Rem(ended, b.Index(kFanIn)), b.Index(0)));
  plus(upper_, b.Compare("ge", ended, b.Index(kFanIn)));
  return sums;
}

}  // namespace tektite::cpu
