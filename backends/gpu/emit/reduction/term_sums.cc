#include "backends/gpu/emit/reduction/term_sums.h"

#include <algorithm>
#include <utility>

#include "backends/gpu/emit/names.h"
#include "jit/llvm/emit/long_sum.h"

namespace tektite::gpu {
namespace {

using loop::LongSum;
using Values = std::vector<Value>;
using Reductions = std::vector<GroupReduction>;

// Trips of a block of a long sum.
constexpr int64_t kBlockTrips = 128;

class TermSums {
 public:
  TermSums(loop::Builder& b, const Reductions& reductions, int lanes, const TermRange& range,
           absl::FunctionRef<Values(Value)> term)
      : b_(b),
        reductions_(reductions),
        lanes_(lanes),
        range_(range),
        term_(term),
        stride_(range.step * range.together) {}

  Values Run() {
    // A trip takes `together` terms; the last ones, which may be fewer, come behind.
    const int64_t ahead = stride_ - range_.step;
    const Value main_end = b_.Sub(range_.end, b_.Index(ahead));
    const bool has_trips = range_.most.value_or(stride_) > ahead;
    Values state = has_trips ? Trips(main_end) : Identities();
    const bool whole = range_.full && Mod(range_.most, stride_) == Dim(0);
    if (ahead == 0 || whole) return state;
    Value at = range_.begin;
    if (has_trips) {
      const Value left = b_.Max(b_.Sub(b_.Add(main_end, b_.Index(stride_ - 1)), at), b_.Index(0));
      at = b_.Add(at, b_.Mul(b_.Div(left, b_.Index(stride_)), b_.Index(stride_)));
    }
    return b_.IfElse(
        b_.Compare("lt", at, range_.end), [&] { return Rest(at, state); }, [&] { return state; });
  }

 private:
  Values Identities() const {
    Values all;
    for (const GroupReduction& r : reductions_) all.push_back(r.Identity(lanes_));
    return all;
  }

  Values Combined(absl::Span<const Value> x, absl::Span<const Value> y) const {
    Values all;
    for (size_t r = 0; r < reductions_.size(); ++r) {
      all.push_back(reductions_[r].Combine(x[r], y[r]));
    }
    return all;
  }

  Values Term(Value at) const {
    Values all = term_(at);
    for (size_t r = 0; r < all.size(); ++r) all[r] = reductions_[r].Widen(all[r]);
    return all;
  }

  // Neighbours first.
  Values InPairs(std::vector<Values> terms) const {
    while (terms.size() > 1) {
      std::vector<Values> next;
      for (size_t i = 0; i + 1 < terms.size(); i += 2) {
        next.push_back(Combined(terms[i], terms[i + 1]));
      }
      if (terms.size() % 2 == 1) next.push_back(terms.back());
      terms = std::move(next);
    }
    return terms[0];
  }

  Values Trips(Value end) {
    if ((CeilDiv(range_.most, stride_) - Dim(kBlockTrips)).value_or(1) <= 0) {
      return Walk(range_.begin, end, Identities());
    }
    Values state = Identities();
    for (const GroupReduction& r : reductions_) {  // what rounding has taken away
      if (r.is_float_sum()) state.push_back(r.Identity(lanes_));
    }
    state = b_.For(range_.begin, end, kBlockTrips * stride_, std::move(state),
                   [&](Value first, absl::Span<const Value> carried) {
                     const Value last = b_.Add(first, b_.Index(kBlockTrips * stride_));
                     return Block(first, b_.Min(last, end), carried);
                   });
    size_t low = reductions_.size();
    for (size_t r = 0; r < reductions_.size(); ++r) {
      if (reductions_[r].is_float_sum()) state[r] = Total(b_, LongSum{state[r], state[low++]});
    }
    state.resize(reductions_.size());
    return state;
  }

  Values Block(Value begin, Value end, absl::Span<const Value> carried) {
    Values start;
    for (size_t r = 0; r < reductions_.size(); ++r) {
      start.push_back(reductions_[r].is_float_sum() ? reductions_[r].Identity(lanes_) : carried[r]);
    }
    Values next = Walk(begin, end, std::move(start)), lows;
    size_t low = reductions_.size();
    for (size_t r = 0; r < reductions_.size(); ++r) {
      if (!reductions_[r].is_float_sum()) continue;
      const LongSum sum = Plus(b_, LongSum{carried[r], carried[low++]}, next[r]);
      next[r] = sum.high;
      lows.push_back(sum.low);
    }
    next.insert(next.end(), lows.begin(), lows.end());
    return next;
  }

  Values Walk(Value begin, Value end, Values state) {
    return b_.For(begin, end, stride_, std::move(state),
                  [&](Value at, absl::Span<const Value> carried) {
                    std::vector<Values> terms;
                    for (int64_t i = 0; i < range_.together; ++i) {
                      terms.push_back(Term(b_.Add(at, b_.Index(i * range_.step))));
                    }
                    return Combined(carried, InPairs(std::move(terms)));
                  });
  }

  // Terms from `at` on, fewer than a trip's.  Those behind the end are read at `at` and left out,
  // so that no load waits for a condition.
  Values Rest(Value at, const Values& state) {
    int64_t count = range_.together - 1;
    if (range_.most.is_constant()) {
      count = std::min(count, CeilDiv(range_.most, range_.step).value());
    }
    if (count == 0) return state;
    std::vector<Values> terms;
    for (int64_t i = 0; i < count; ++i) {
      const Value place = b_.Add(at, b_.Index(i * range_.step));
      const Value exists =
          i == 0 ? b_.Int(ir::DType::kBool, 1) : b_.Compare("lt", place, range_.end);
      Values term = Term(b_.Select(exists, place, at));
      for (size_t r = 0; r < term.size(); ++r) {
        term[r] = b_.Select(exists, term[r], reductions_[r].Identity(lanes_));
      }
      terms.push_back(std::move(term));
    }
    return Combined(state, InPairs(std::move(terms)));
  }

  loop::Builder& b_;
  const Reductions& reductions_;
  const int lanes_;
  const TermRange range_;
  const absl::FunctionRef<Values(Value)> term_;
  const int64_t stride_;
};

}  // namespace

Values ReduceTerms(loop::Builder& b, const Reductions& reductions, int lanes,
                   const TermRange& range, absl::FunctionRef<Values(Value)> term) {
  return TermSums(b, reductions, lanes, range, term).Run();
}

Values SumSlices(loop::Builder& b, const Reductions& reductions, Values parts, Value slice,
                 int64_t slices) {
  if (slices == 1) return parts;
  const int lanes = parts[0].lanes(), threads = b.kernel()->launch.threads;
  const int64_t across = threads / slices;
  Values shared;
  for (const GroupReduction& r : reductions) {
    shared.push_back(b.AllocateShared(r.accumulator(), int64_t{threads} * lanes));
  }
  const auto place = [&](int64_t further) {
    return b.Mul(b.Add(b.ThreadIndex(), b.Index(further * across)), b.Index(lanes));
  };
  for (int64_t half = slices / 2; half > 0; half /= 2) {
    const Value is_lower = b.Compare("lt", slice, b.Index(half));
    b.If(b.And(b.Compare("ge", slice, b.Index(half)), b.Compare("lt", slice, b.Index(2 * half))),
         [&] {
           for (size_t r = 0; r < parts.size(); ++r) b.Store(shared[r], place(0), parts[r]);
         });
    b.Barrier();
    parts = b.IfElse(
        is_lower,
        [&] {
          Values next;
          for (size_t r = 0; r < parts.size(); ++r) {
            const Value other = b.Load(shared[r], reductions[r].accumulator(), place(half), lanes);
            next.push_back(reductions[r].Combine(parts[r], other));
          }
          return next;
        },
        [&] { return parts; });
  }
  return parts;
}

}  // namespace tektite::gpu
