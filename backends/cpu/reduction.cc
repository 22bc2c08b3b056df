#include "backends/cpu/reduction.h"

#include <cmath>

#include "jit/ops/ops.h"

namespace tektite::cpu {
namespace {

using ir::Dim;
using ir::Dims;
using ir::DType;
using loop::Value;

// Vectors of partial results: four hide the latency of an addition.
constexpr int kAccumulators = 4;

using Visit = std::function<std::vector<Value>(const std::vector<Value>&, Value)>;

// The accumulators of several reductions, one after the other.
using State = std::vector<Value>;

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

// One sweep along the last dimension with the outer index fixed; updates the accumulators, of which
// each reduction has `copies`.
State Sweep(loop::Builder& b, const Dim& size, int lanes, int copies,
            const std::vector<Reduction>& reductions, const std::vector<Value>& outer, State state,
            const Visit& visit) {
  auto at = [&](Value inner) {
    std::vector<Value> index = outer;
    index.push_back(inner);
    return index;
  };
  const int64_t step = static_cast<int64_t>(lanes) * copies;
  const Dim left = Mod(size, lanes), whole = size - left, unrolled = size - Mod(size, step);
  auto vectors = [&](Value inner, int count, absl::Span<const Value> carried) {
    State s(carried.begin(), carried.end());
    std::vector<std::vector<Value>> taken;
    for (int c = 0; c < count; ++c) {
      taken.push_back(visit(at(b.Add(inner, b.Index(static_cast<int64_t>(c) * lanes))), {}));
    }
    TakeIn(reductions, copies, taken, {}, &s);
    return s;
  };
  state = b.For(b.Index(0), b.Index(unrolled), step, std::move(state),
                [&](Value inner, absl::Span<const Value> carried) {
                  return vectors(inner, copies, carried);
                });
  if (copies > 1) {
    state = b.For(
        b.Index(unrolled), b.Index(whole), lanes, std::move(state),
        [&](Value inner, absl::Span<const Value> carried) { return vectors(inner, 1, carried); });
  }
  return b.IfElse(
      b.Compare("gt", b.Index(left), b.Index(0)),
      [&] {
        State s = state;
        const Value mask = b.MaskUpTo(b.Index(left), lanes);
        TakeIn(reductions, copies, {visit(at(b.Index(whole)), mask)}, mask, &s);
        return s;
      },
      [&] { return state; });
}

std::vector<Value> Nest(loop::Builder& b, const Dims& sizes, size_t depth, int lanes, int copies,
                        const std::vector<Reduction>& reductions, const std::vector<Value>& outer,
                        std::vector<Value> state, const Visit& visit) {
  if (depth + 1 == sizes.size()) {
    return Sweep(b, sizes[depth], lanes, copies, reductions, outer, std::move(state), visit);
  }
  return b.For(b.Index(0), b.Index(sizes[depth]), 1, std::move(state),
               [&](Value i, absl::Span<const Value> carried) {
                 std::vector<Value> index = outer;
                 index.push_back(i);
                 return Nest(b, sizes, depth + 1, lanes, copies, reductions, index,
                             std::vector<Value>(carried.begin(), carried.end()), visit);
               });
}

}  // namespace

Reduction::Reduction(loop::Builder* builder, const std::string& reducer, DType dtype, int lanes)
    : b_(builder),
      op_(ops::ReducerOp(reducer)),
      reducer_(reducer),
      dtype_(dtype),
      accumulator_(dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32 : dtype),
      lanes_(lanes) {}

Value Reduction::Identity(int lanes) const {
  ir::Literal identity = ops::ReducerIdentity(reducer_, accumulator_);
  Value v = ir::IsFloat(accumulator_) ? b_->Float(accumulator_, identity.AsDouble(0))
                                      : b_->Int(accumulator_, identity.AsInt(0));
  return b_->Splat(v, lanes);
}

Value Reduction::Combine(Value accumulator, Value x, Value mask) const {
  if (x.dtype() != accumulator_) x = b_->Convert(x, accumulator_);
  if (mask) x = b_->Select(mask, x, Identity(x.lanes()));
  return b_->Binary(op_, accumulator, x);
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

Value Reduction::Total(absl::Span<const Value> state) const {
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
  return Finish(parts[0]);
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
  State state;
  for (const Reduction& r : reductions) {
    for (Value v : r.Begin(copies)) state.push_back(v);
  }
  auto trimmed = [&](const std::vector<Value>& index, Value mask) {
    return visit(sizes.empty() ? std::vector<Value>{} : index, mask);
  };
  state = Nest(b, all, 0, lanes, copies, reductions, {}, std::move(state), trimmed);
  std::vector<Value> totals;
  size_t first = 0;
  for (const Reduction& r : reductions) {
    const size_t size = r.num_accumulators(copies);
    totals.push_back(r.Total(absl::MakeConstSpan(state).subspan(first, size)));
    first += size;
  }
  return totals;
}

std::vector<Value> NestLoops(
    loop::Builder& b, const Dims& sizes, std::vector<Value> state,
    const std::function<std::vector<Value>(const std::vector<Value>&, std::vector<Value>)>& body) {
  std::function<std::vector<Value>(std::vector<Value>, std::vector<Value>)> nest =
      [&](std::vector<Value> index, std::vector<Value> s) {
        if (index.size() == sizes.size()) return body(index, std::move(s));
        return b.For(b.Index(0), b.Index(sizes[index.size()]), 1, std::move(s),
                     [&](Value i, absl::Span<const Value> carried) {
                       std::vector<Value> next = index;
                       next.push_back(i);
                       return nest(next, std::vector<Value>(carried.begin(), carried.end()));
                     });
      };
  return nest({}, std::move(state));
}

}  // namespace tektite::cpu
