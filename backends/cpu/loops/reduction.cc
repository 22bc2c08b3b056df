#include "backends/cpu/loops/reduction.h"

#include <algorithm>
#include <cmath>

#include "backends/cpu/emit/names.h"
#include "backends/cpu/loops/long_sum.h"
#include "jit/llvm/emit/reducer.h"
#include "jit/ops/ops.h"

namespace tektite::cpu {
namespace {

// Vectors of partial results: four hide the latency of an addition.
constexpr int kAccumulators = 4;
// Additions into a vector of partial results before a block ends: rows of 8192 elements in vectors
// of 16 are one block, at no extra cost.  Half of the size of TensorFlow's blocks.
constexpr int64_t kBlockSteps = 128;

using Visit = std::function<std::vector<Value>(const std::vector<Value>&, Value)>;

// The accumulators of several reductions, one after the other.
using State = std::vector<Value>;

// Trips of a loop of a nest: none of the outermost where an inner one has none, so that no loop
// counts to 2^40 over f32[2^40,0].
Dim OuterTrips(const Dims& sizes, size_t depth) {
  return depth > 0 ? sizes[depth] : Min(sizes[0], ir::Product(sizes));
}

// Element c of `taken` (one vector per reduction) goes into copy c of the accumulators.
void TakeIn(const std::vector<Reduction>& reductions, int copies,
            const std::vector<std::vector<Value>>& taken, Value mask, State* state) {
  size_t first = 0;
  for (size_t r = 0; r < reductions.size(); ++r) {
    const size_t size = reductions[r].num_accumulators(copies);
    std::vector<Value> x;
    for (const std::vector<Value>& t : taken) x.push_back(t[r]);
    reductions[r].TakeIn(x, mask, absl::MakeSpan(*state).subspan(first, size));
    first += size;
  }
}

// Additions into the same accumulator along the last dimension, at most.
Dim StepsAlong(const Dim& size, int lanes, int copies) {
  return FloorDiv(size, int64_t{lanes} * copies) + Dim(copies);
}

// Any of the loops ends a block before it ends; none if that never happens.
Value EndsBlock(loop::Builder& b, const Dims& trips, const std::vector<Dim>& blocks) {
  Value ends;
  for (size_t d = 0; d < trips.size(); ++d) {
    if (NeverEndsBlock(trips[d], blocks[d])) continue;
    const Value more = b.Compare("gt", b.Index(trips[d]), b.Index(blocks[d]));
    ends = ends ? b.Or(ends, more) : more;
  }
  return ends;
}

class Sweeper {
 public:
  Sweeper(loop::Builder& b, const Dims& sizes, int lanes, int copies,
          const std::vector<Reduction>& reductions, const Visit& visit)
      : b_(b),
        sizes_(sizes),
        lanes_(lanes),
        copies_(copies),
        step_(int64_t{lanes} * copies),
        reductions_(reductions),
        visit_(visit) {
    // From the last loop outwards.
    Dim steps = StepsAlong(sizes.back(), lanes, copies);
    blocks_.push_back(Dim(kBlockSteps * step_));
    for (size_t d = sizes.size() - 1; d-- > 0;) {
      blocks_.insert(blocks_.begin(), BlockTrips(steps, kBlockSteps));
      steps = steps * sizes[d];
    }
    for (const Reduction& r : reductions) sums_ |= r.IsSumOfFloats();
  }

  std::vector<Value> Run() {
    Dims trips;
    for (size_t d = 0; d < sizes_.size(); ++d) trips.push_back(Trips(d));
    const Value ended = sums_ ? EndsBlock(b_, trips, blocks_) : Value();
    State state;
    for (const Reduction& r : reductions_) Append(r.Begin(copies_), &state);
    if (ended) {
      for (const Reduction& r : reductions_) Append(r.BeginBlocks(), &state);
    }
    state = Nest(0, {}, std::move(state));
    size_t first = 0, blocks = NumAccumulators();
    std::vector<Value> totals;
    for (const Reduction& r : reductions_) {
      const size_t size = r.num_accumulators(copies_);
      auto accumulators = absl::MakeConstSpan(state).subspan(first, size);
      first += size;
      if (!ended || !r.IsSumOfFloats()) {
        totals.push_back(r.Total(accumulators));
        continue;
      }
      const LongSum before{state[blocks], state[blocks + 1]};
      blocks += 2;
      const Value last = r.Folded(accumulators);
      totals.push_back(r.Finish(b_.IfElse(
          ended, [&] { return std::vector<Value>{loop::Total(b_, Plus(b_, before, last))}; },
          [&] { return std::vector<Value>{last}; })[0]));
    }
    return totals;
  }

 private:
  static void Append(const std::vector<Value>& values, State* state) {
    state->insert(state->end(), values.begin(), values.end());
  }

  size_t NumAccumulators() const {
    size_t size = 0;
    for (const Reduction& r : reductions_) size += r.num_accumulators(copies_);
    return size;
  }

  // The trips that are cut into blocks: of the last loop, the part that takes all copies along.
  Dim Trips(size_t depth) const {
    const Dim& size = sizes_[depth];
    return depth + 1 == sizes_.size() ? size - Mod(size, step_) : OuterTrips(sizes_, depth);
  }

  State EndBlock(State state) const {
    size_t first = 0, blocks = NumAccumulators();
    for (const Reduction& r : reductions_) {
      const size_t size = r.num_accumulators(copies_);
      auto accumulators = absl::MakeSpan(state).subspan(first, size);
      first += size;
      if (!r.IsSumOfFloats()) continue;
      const LongSum sum = Plus(b_, {state[blocks], state[blocks + 1]}, r.Folded(accumulators));
      const std::vector<Value> fresh = r.Begin(copies_);
      std::copy(fresh.begin(), fresh.end(), accumulators.begin());
      state[blocks++] = sum.high;
      state[blocks++] = sum.low;
    }
    return state;
  }

  State InBlocks(size_t depth, State state,
                 const std::function<State(Value, Value, State)>& body) const {
    if (!sums_) return body(b_.Index(0), b_.Index(Trips(depth)), std::move(state));
    return ForInBlocks(b_, Trips(depth), blocks_[depth], std::move(state), body,
                       [&](State s) { return EndBlock(std::move(s)); });
  }

  State Nest(size_t depth, const std::vector<Value>& outer, State state) const {
    if (depth + 1 == sizes_.size()) return Sweep(outer, std::move(state));
    return InBlocks(depth, std::move(state), [&](Value begin, Value end, State s) {
      return b_.For(begin, end, 1, std::move(s), [&](Value i, absl::Span<const Value> carried) {
        std::vector<Value> index = outer;
        index.push_back(i);
        return Nest(depth + 1, index, State(carried.begin(), carried.end()));
      });
    });
  }

  // One sweep along the last dimension with the outer index fixed.
  State Sweep(const std::vector<Value>& outer, State state) const {
    loop::Builder& b = b_;
    auto at = [&](Value inner) {
      std::vector<Value> index = outer;
      index.push_back(inner);
      return index;
    };
    const Dim &size = sizes_.back(), unrolled = Trips(sizes_.size() - 1);
    const Dim left = Mod(size, lanes_), whole = size - left;
    auto vectors = [&](Value inner, int count, absl::Span<const Value> carried) {
      State s(carried.begin(), carried.end());
      std::vector<std::vector<Value>> taken;
      for (int c = 0; c < count; ++c) {
        taken.push_back(visit_(at(b.Add(inner, b.Index(static_cast<int64_t>(c) * lanes_))), {}));
      }
      TakeIn(reductions_, copies_, taken, {}, &s);
      return s;
    };
    state = InBlocks(sizes_.size() - 1, std::move(state), [&](Value begin, Value end, State s) {
      return b.For(begin, end, step_, std::move(s),
                   [&](Value inner, absl::Span<const Value> carried) {
                     return vectors(inner, copies_, carried);
                   });
    });
    if (copies_ > 1) {
      state = b.For(
          b.Index(unrolled), b.Index(whole), lanes_, std::move(state),
          [&](Value inner, absl::Span<const Value> carried) { return vectors(inner, 1, carried); });
    }
    return b.IfElse(
        b.Compare("gt", b.Index(left), b.Index(0)),
        [&] {
          State s = state;
          const Value mask = b.MaskUpTo(b.Index(left), lanes_);
          TakeIn(reductions_, copies_, {visit_(at(b.Index(whole)), mask)}, mask, &s);
          return s;
        },
        [&] { return state; });
  }

  loop::Builder& b_;
  const Dims& sizes_;
  const int lanes_, copies_;
  const int64_t step_;
  const std::vector<Reduction>& reductions_;
  const Visit& visit_;
  std::vector<Dim> blocks_;  // trips of each loop in a block
  bool sums_ = false;        // of floats are among the reductions
};

std::vector<Value> NestOf(
    loop::Builder& b, const Dims& sizes, const std::vector<Value>& outer, std::vector<Value> state,
    const std::function<std::vector<Value>(const std::vector<Value>&, std::vector<Value>)>& body,
    const std::vector<Dim>& blocks,
    const std::function<std::vector<Value>(std::vector<Value>)>& end_block) {
  const size_t depth = outer.size();
  if (depth == sizes.size()) return body(outer, std::move(state));
  const auto loop = [&](Value begin, Value end, std::vector<Value> s) {
    return b.For(begin, end, 1, std::move(s), [&](Value i, absl::Span<const Value> carried) {
      std::vector<Value> index = outer;
      index.push_back(i);
      return NestOf(b, sizes, index, std::vector<Value>(carried.begin(), carried.end()), body,
                    blocks, end_block);
    });
  };
  if (blocks.empty()) return loop(b.Index(0), b.Index(OuterTrips(sizes, depth)), std::move(state));
  return ForInBlocks(b, OuterTrips(sizes, depth), blocks[depth], std::move(state), loop, end_block);
}

}  // namespace

Reduction::Reduction(loop::Builder* builder, const std::string& reducer, DType dtype, int lanes)
    : b_(builder),
      op_(ops::ReducerOp(reducer)),
      reducer_(reducer),
      dtype_(dtype),
      accumulator_(loop::AccumulatorOf(dtype)),
      lanes_(lanes) {}

Value Reduction::Identity(int lanes) const {
  return loop::ReducerIdentity(*b_, reducer_, accumulator_, lanes);
}

Value Reduction::Combine(Value accumulator, Value x, Value mask) const {
  if (x.dtype() != accumulator_) x = b_->Convert(x, accumulator_);
  if (mask) x = b_->Select(mask, x, Identity(x.lanes()));
  return b_->Binary(op_, accumulator, x);
}

Value Reduction::CombineNumbers(Value accumulator, Value x) const {
  if (!WatchesForNan()) return Combine(accumulator, x, {});
  return Beyond(x.dtype() == accumulator_ ? x : b_->Convert(x, accumulator_), accumulator);
}

bool Reduction::WatchesForNan() const {
  return ir::IsFloat(accumulator_) && (op_ == ir::Op::kMax || op_ == ir::Op::kMin);
}

int Reduction::num_accumulators(int copies) const { return copies + (WatchesForNan() ? 1 : 0); }

std::vector<Value> Reduction::Begin(int copies) const {
  std::vector<Value> state(copies, Identity(lanes_));
  if (WatchesForNan()) state.push_back(b_->Splat(b_->Float(accumulator_, 0), lanes_));
  return state;
}

void Reduction::TakeIn(std::vector<Value> x, Value mask, absl::Span<Value> state) const {
  if (!WatchesForNan()) {
    for (size_t i = 0; i < x.size(); ++i) state[i] = Combine(state[i], x[i], mask);
    return;
  }
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i].dtype() != accumulator_) x[i] = b_->Convert(x[i], accumulator_);
    if (mask) x[i] = b_->Select(mask, x[i], Identity(lanes_));
    state[i] = Beyond(x[i], state[i]);
  }
  // One comparison looks at two vectors.
  const Value nan = b_->Splat(b_->Float(accumulator_, std::nan("")), lanes_);
  Value& seen = state.back();
  for (size_t i = 0; i < x.size(); i += 2) {
    Value any = b_->Compare("ne", x[i], x[i]);
    if (i + 1 < x.size()) any = b_->Or(any, b_->Compare("ne", x[i + 1], x[i + 1]));
    seen = b_->Select(any, nan, seen);
  }
}

Value Reduction::Beyond(Value x, Value accumulator) const {
  return b_->Select(b_->Compare(op_ == ir::Op::kMax ? "gt" : "lt", x, accumulator), x, accumulator);
}

bool Reduction::IsSumOfFloats() const { return op_ == ir::Op::kAdd && ir::IsFloat(accumulator_); }

std::vector<Value> Reduction::BeginBlocks() const {
  if (!IsSumOfFloats()) return {};
  const LongSum none = EmptySum(*b_, accumulator_, lanes_);
  return {none.high, none.low};
}

Value Reduction::Total(absl::Span<const Value> state) const { return Finish(Folded(state)); }

Value Reduction::Folded(absl::Span<const Value> state) const {
  std::vector<Value> parts(state.begin(), state.end());
  Value seen;
  if (WatchesForNan()) {
    seen = parts.back();
    parts.pop_back();
  }
  for (size_t n = parts.size(); n > 1; n = (n + 1) / 2) {
    for (size_t i = 0; i < n / 2; ++i) {
      Value& a = parts[i];
      const Value b = parts[n - 1 - i];
      a = seen ? Beyond(a, b) : b_->Binary(op_, a, b);
    }
  }
  if (seen) parts[0] = b_->Select(b_->Compare("ne", seen, seen), seen, parts[0]);
  return parts[0];
}

Value Reduction::Narrow(Value accumulator) const {
  return accumulator_ == dtype_ ? accumulator : b_->Convert(accumulator, dtype_);
}

Value Reduction::Finish(Value accumulator) const {
  return Narrow(accumulator.lanes() == 1 ? accumulator : b_->ReduceLanes(op_, accumulator));
}

std::vector<Value> ReduceOverInner(loop::Builder& b, const Dims& sizes, int lanes,
                                   const std::vector<Reduction>& reductions, const Visit& visit) {
  const Dims all = sizes.empty() ? Dims{1} : sizes;
  const int64_t enough = int64_t{2} * kAccumulators * lanes;
  const int copies =
      !reductions.empty() && all.back().value_or(enough) >= enough ? kAccumulators : 1;
  const Visit trimmed = [&](const std::vector<Value>& index, Value mask) {
    return visit(sizes.empty() ? std::vector<Value>{} : index, mask);
  };
  return Sweeper(b, all, lanes, copies, reductions, trimmed).Run();
}

std::vector<Value> NestLoops(
    loop::Builder& b, const Dims& sizes, std::vector<Value> state,
    const std::function<std::vector<Value>(const std::vector<Value>&, std::vector<Value>)>& body) {
  return NestOf(b, sizes, {}, std::move(state), body, {}, {});
}

std::vector<Value> NestLoopsInBlocks(
    loop::Builder& b, const Dims& sizes, int64_t block_steps, std::vector<Value> state,
    const std::function<std::vector<Value>(const std::vector<Value>&, std::vector<Value>)>& body,
    const std::function<std::vector<Value>(std::vector<Value>)>& end_block, Value* ended) {
  std::vector<Dim> blocks(sizes.size());
  Dim steps(1);
  for (size_t d = sizes.size(); d-- > 0;) {
    blocks[d] = BlockTrips(steps, block_steps);
    steps = steps * sizes[d];
  }
  *ended = EndsBlock(b, sizes, blocks);
  return NestOf(b, sizes, {}, std::move(state), body, blocks, end_block);
}

}  // namespace tektite::cpu
