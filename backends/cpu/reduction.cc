#include "backends/cpu/reduction.h"

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

// One sweep along the last dimension with the outer index fixed; updates the accumulators, of which
// each reduction has `copies`, one after the other.
std::vector<Value> Sweep(loop::Builder& b, const Dim& size, int lanes, int copies,
                         const std::vector<Reduction>& reductions, const std::vector<Value>& outer,
                         std::vector<Value> state, const Visit& visit) {
  auto at = [&](Value inner) {
    std::vector<Value> index = outer;
    index.push_back(inner);
    return index;
  };
  const int64_t step = static_cast<int64_t>(lanes) * copies;
  const Dim left = Mod(size, lanes), whole = size - left, unrolled = size - Mod(size, step);
  auto one = [&](Value inner, Value mask, int copy, std::vector<Value>& s) {
    std::vector<Value> taken = visit(at(inner), mask);
    for (size_t r = 0; r < reductions.size(); ++r) {
      Value& acc = s[r * copies + copy];
      acc = reductions[r].Combine(acc, taken[r], mask);
    }
  };
  state = b.For(b.Index(0), b.Index(unrolled), step, state,
                [&](Value inner, absl::Span<const Value> carried) {
                  std::vector<Value> s(carried.begin(), carried.end());
                  for (int c = 0; c < copies; ++c) {
                    one(b.Add(inner, b.Index(static_cast<int64_t>(c) * lanes)), {}, c, s);
                  }
                  return s;
                });
  if (copies > 1) {
    state = b.For(b.Index(unrolled), b.Index(whole), lanes, state,
                  [&](Value inner, absl::Span<const Value> carried) {
                    std::vector<Value> s(carried.begin(), carried.end());
                    one(inner, {}, 0, s);
                    return s;
                  });
  }
  return b.IfElse(
      b.Compare("gt", b.Index(left), b.Index(0)),
      [&] {
        std::vector<Value> s = state;
        one(b.Index(whole), b.MaskUpTo(b.Index(left), lanes), 0, s);
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

Value Reduction::Merge(Value a, Value b) const { return b_->Binary(op_, a, b); }

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
  std::vector<Value> state;
  for (const Reduction& r : reductions) {
    for (int c = 0; c < copies; ++c) state.push_back(r.Identity(lanes));
  }
  auto trimmed = [&](const std::vector<Value>& index, Value mask) {
    return visit(sizes.empty() ? std::vector<Value>{} : index, mask);
  };
  state = Nest(b, all, 0, lanes, copies, reductions, {}, std::move(state), trimmed);
  std::vector<Value> totals;
  for (size_t r = 0; r < reductions.size(); ++r) {
    std::vector<Value> parts(state.begin() + static_cast<int64_t>(r) * copies,
                             state.begin() + static_cast<int64_t>(r + 1) * copies);
    for (size_t n = parts.size(); n > 1; n = (n + 1) / 2) {
      for (size_t i = 0; i < n / 2; ++i) parts[i] = reductions[r].Merge(parts[i], parts[n - 1 - i]);
    }
    totals.push_back(reductions[r].Finish(parts[0]));
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
