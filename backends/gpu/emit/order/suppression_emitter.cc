// non_max_suppression: one block takes box after box, since each depends on those before.
//
// jit/ops/non_max_suppression.h says what is computed.  A thread owns every so-manieth candidate
// and knows the best of its own; the best of all is the greatest of these.  It is compared with the
// boxes taken so far that it has not seen, a box a thread.  With `sigma` its score is the product
// of their factors in order, from the last one on, so that it is rounded as TensorFlow's kernel
// rounds it; without, what matters is whether any of them overlaps it too much.  Then its owner
// notes what has become of it.
//
// Limits: no epilogue; one multiprocessor; fewer than 2^31 boxes.
#include <limits>

#include "backends/gpu/emit/emitter.h"
#include "backends/gpu/emit/names.h"
#include "backends/gpu/emit/order/sort_key.h"
#include "backends/gpu/emit/phases.h"
#include "backends/gpu/emit/reduction/group_reduction.h"
#include "jit/base/status.h"

namespace tektite::gpu {
namespace {

using Values = std::vector<Value>;

constexpr int64_t kThreads = 128, kWarps = kThreads / kWarpThreads;
// Factors that are multiplied at once.
constexpr int kAtOnce = 8;
// Of a key, below the score: the last candidate, so that the first of equal ones is the greatest.
constexpr int64_t kIndices = int64_t{1} << 32, kLastIndex = (int64_t{1} << 31) - 1;
constexpr int64_t kNone = std::numeric_limits<int64_t>::min();
// Of a candidate that is out, or was taken.
constexpr int64_t kGone = -1;

struct Box {
  Value y_min, x_min, y_max, x_max, area;
};

class SuppressionEmitter {
 public:
  SuppressionEmitter(const Node& root, Phases* phases)
      : root_(root),
        phases_(*phases),
        n_(root.operand_shape(1).dim(0)),
        room_(root.shape(0).dim(0)),
        score_(phases->AddScratch(DType::kF32, n_)),
        seen_(phases->AddScratch(DType::kS64, n_)),
        taken_(phases->AddScratch(DType::kF32, n_ * Dim(5))) {}

  void Run() {
    phases_.Add([&](Builder& b) {
      b.kernel()->launch.threads = static_cast<int>(kThreads);
      b.kernel()->launch.blocks = 1;
      Emit(b);
    });
  }

 private:
  Value Scalar(Builder& b, int operand) { return phases_.Read(b, root_.operand(operand), {}); }
  Value F32(Builder& b, double v) const { return b.Float(DType::kF32, v); }
  Value Bool(Builder& b, bool v) const { return b.Int(DType::kBool, v ? 1 : 0); }

  void Emit(Builder& b) {
    most_ = b.Min(b.Convert(Scalar(b, 2), DType::kS64), b.Index(room_));
    limit_ = Scalar(b, 3);
    least_ = Scalar(b, 4);
    const Value sigma = Scalar(b, 5);
    is_soft_ = b.Compare("gt", sigma, F32(b, 0));
    scale_ = b.Select(is_soft_, b.Div(F32(b, -0.5), sigma), F32(b, 0));
    keys_ = b.AllocateShared(DType::kS64, kWarps);
    factors_ = b.AllocateShared(DType::kF32, kThreads);
    events_ = b.AllocateShared(DType::kS32, kWarps);
    product_ = b.AllocateShared(DType::kF32, 1);

    b.For(b.ThreadIndex(), b.Index(n_), kThreads, [&](Value i) {
      const Value score = phases_.Read(b, root_.operand(1), {loop::At(i)});
      b.Store(phases_.Scratch(score_), i, score);
      b.Store(phases_.Scratch(seen_), i,
              b.Select(b.Compare("gt", score, least_), b.Index(0), b.Index(kGone)));
    });
    // A candidate comes up once, and once more for each change of its score, before each of which
    // a box was taken.  Two loops, since there is none that ends early: the inner one is left out
    // once nothing is left to do.
    const Values state = {b.Index(0), Bool(b, false), BestOwn(b)};
    const auto step = [&](Value, absl::Span<const Value> carried) {
      return b.IfElse(
          carried[1], [&] { return Values(carried.begin(), carried.end()); },
          [&] { return Take(b, carried[0], carried[2]); });
    };
    const Value steps = b.Index(n_ + Dim(1));
    const Values end =
        b.For(b.Index(0), steps, 1, state, [&](Value, absl::Span<const Value> carried) {
          const Value left = b.Select(carried[1], b.Index(0), steps);
          return b.For(b.Index(0), left, 1, {carried.begin(), carried.end()}, step);
        });
    if (const Value count = phases_.Result(b, root_, 2)) {
      b.If(IsFirst(b), [&] { b.Store(count, b.Index(0), end[0]); });
    }
  }

  Value IsFirst(Builder& b) const { return b.Compare("eq", b.ThreadIndex(), b.Index(0)); }
  Value Score(Builder& b, Value i) const { return b.Load(phases_.Scratch(score_), DType::kF32, i); }

  // The greatest key of this thread's candidates.
  Value BestOwn(Builder& b) const {
    const SortKey order(DType::kF32, /*descending=*/false);
    return b.For(b.ThreadIndex(), b.Index(n_), kThreads, {b.Index(kNone)},
                 [&](Value i, absl::Span<const Value> carried) {
                   const Value seen = b.Load(phases_.Scratch(seen_), DType::kS64, i);
                   const Value high = b.Mul(order.Ordered(b, Score(b, i)), b.Index(kIndices));
                   const Value key = b.Add(high, b.Sub(b.Index(kLastIndex), i));
                   return Values{b.Select(b.Compare("ge", seen, b.Index(0)), b.Max(carried[0], key),
                                          carried[0])};
                 })[0];
  }

  // The greatest of all threads.
  Value BestOfAll(Builder& b, Value key) const {
    const Value lane = b.Rem(b.ThreadIndex(), b.Index(kWarpThreads));
    const Value warp = b.Div(b.ThreadIndex(), b.Index(kWarpThreads));
    const auto of_warp = [&](Value v) {
      for (int mask = kWarpThreads / 2; mask > 0; mask /= 2) v = b.Max(v, b.WarpXor(v, mask));
      return v;
    };
    key = of_warp(key);
    b.If(b.Compare("eq", lane, b.Index(0)), [&] { b.Store(keys_, warp, key); });
    b.Barrier();
    return of_warp(b.Load(keys_, DType::kS64, b.Rem(lane, b.Index(kWarps))));
  }

  Value Least(Builder& b, Value x, Value y) const { return b.Select(b.Compare("lt", y, x), y, x); }
  Value Greatest(Builder& b, Value x, Value y) const {
    return b.Select(b.Compare("lt", x, y), y, x);
  }

  Box BoxAt(Builder& b, Value i) {
    Values corner;
    for (int64_t c = 0; c < 4; ++c) {
      corner.push_back(phases_.Read(b, root_.operand(0), {loop::At(i), loop::At(b.Index(c))}));
    }
    Box box{Least(b, corner[0], corner[2]),
            Least(b, corner[1], corner[3]),
            Greatest(b, corner[0], corner[2]),
            Greatest(b, corner[1], corner[3]),
            {}};
    box.area = b.Mul(b.Sub(box.y_max, box.y_min), b.Sub(box.x_max, box.x_min));
    return box;
  }

  Value TakenAt(Builder& b, int64_t part, Value k) const {
    return b.Add(b.Mul(b.Index(n_), b.Index(part)), k);
  }
  Box TakenBox(Builder& b, Value k) const {
    const auto part = [&](int64_t p) {
      return b.Load(phases_.Scratch(taken_), DType::kF32, TakenAt(b, p, k));
    };
    return {part(0), part(1), part(2), part(3), part(4)};
  }

  Value Overlap(Builder& b, const Box& x, const Box& y) const {
    const Value zero = F32(b, 0);
    const Value height = b.Sub(Least(b, x.y_max, y.y_max), Greatest(b, x.y_min, y.y_min));
    const Value width = b.Sub(Least(b, x.x_max, y.x_max), Greatest(b, x.x_min, y.x_min));
    const Value common = b.Mul(Greatest(b, height, zero), Greatest(b, width, zero));
    const Value part = b.Div(common, b.Sub(b.Add(x.area, y.area), common));
    const Value is_empty = b.Or(b.Compare("le", x.area, zero), b.Compare("le", y.area, zero));
    return b.Select(is_empty, zero, part);
  }

  // What the taken boxes make of a candidate.
  struct Outcome {
    Value score, is_out;
  };

  // Of taken boxes first, first - 1, ... down to `seen`, a box for each thread.
  Outcome CompareWith(Builder& b, const Box& box, Value first, Value seen, Value score) {
    const Value k = b.Sub(first, b.ThreadIndex());
    const Values own = b.IfElse(
        b.Compare("ge", k, seen),
        [&] {
          const Value overlap = Overlap(b, box, TakenBox(b, k));
          const Value is_over =
              b.And(b.Unary(Op::kNot, is_soft_), b.Compare("gt", overlap, limit_));
          // exp is a single rounding of what f64 knows better.
          const Value power = b.Mul(b.Mul(scale_, overlap), overlap);
          const Value exp =
              b.Convert(b.Unary(Op::kExp, b.Convert(power, DType::kF64)), DType::kF32);
          const Value counts = b.Or(is_soft_, b.Compare("le", overlap, limit_));
          return Values{b.Select(counts, exp, F32(b, 0)), is_over};
        },
        [&] {
          return Values{F32(b, 1), Bool(b, false)};
        });
    const Value is_nan = b.Compare("ne", own[0], own[0]);
    const Value is_less = b.Compare("lt", own[0], F32(b, 1));
    b.Store(factors_, b.ThreadIndex(), own[0]);
    const Values any = AnyOf(b, {own[1], is_nan, is_less});
    const Value product = b.IfElse(
        b.And(is_soft_, any[2]), [&] { return Values{Product(b, first, seen, score)}; },
        [&] { return Values{b.Select(any[2], b.Mul(score, F32(b, 0)), score)}; })[0];
    const Value nan = F32(b, std::numeric_limits<double>::quiet_NaN());
    return {b.Select(any[1], nan, product), any[0]};
  }

  // Whether each holds in any thread of the block.
  Values AnyOf(Builder& b, const Values& conditions) const {
    const Value lane = b.Rem(b.ThreadIndex(), b.Index(kWarpThreads));
    const auto bit = [&](size_t i) { return b.Int(DType::kS32, int64_t{1} << i); };
    Value bits = b.Int(DType::kS32, 0);
    for (size_t i = 0; i < conditions.size(); ++i) {
      const Value none = b.Int(DType::kS32, 0);
      bits = b.Or(bits, b.Select(b.WarpAny(conditions[i]), bit(i), none));
    }
    b.If(b.Compare("eq", lane, b.Index(0)),
         [&] { b.Store(events_, b.Div(b.ThreadIndex(), b.Index(kWarpThreads)), bits); });
    b.Barrier();
    bits = b.Load(events_, DType::kS32, b.Rem(lane, b.Index(kWarps)));
    Values any;
    for (size_t i = 0; i < conditions.size(); ++i) {
      any.push_back(b.WarpAny(b.Compare("ne", b.And(bits, bit(i)), b.Int(DType::kS32, 0))));
    }
    b.Barrier();
    return any;
  }

  // The score times the factors, one after the other.
  Value Product(Builder& b, Value first, Value seen, Value score) const {
    const Value count = b.Min(b.Add(b.Sub(first, seen), b.Index(1)), b.Index(kThreads));
    b.If(IsFirst(b), [&] {
      const Value all = b.For(b.Index(0), count, kAtOnce, {score},
                              [&](Value at, absl::Span<const Value> carried) {
                                const Value some = b.Load(factors_, DType::kF32, at, kAtOnce);
                                Value next = carried[0];
                                for (int lane = 0; lane < kAtOnce; ++lane) {
                                  next = b.Mul(next, b.ExtractLane(some, lane));
                                }
                                return Values{next};
                              })[0];
      b.Store(product_, b.Index(0), all);
    });
    b.Barrier();
    return b.Load(product_, DType::kF32, b.Index(0));
  }

  // One candidate; the new state: boxes taken, whether that is all, the best of this thread's.
  Values Take(Builder& b, Value count, Value own) {
    const Value key = BestOfAll(b, own);
    const Value goes_on =
        b.And(b.Compare("ne", key, b.Index(kNone)), b.Compare("lt", count, most_));
    return b.IfElse(
        goes_on, [&] { return TakeBest(b, key, count, own); },
        [&] {
          return Values{count, Bool(b, true), own};
        });
  }

  Values TakeBest(Builder& b, Value key, Value count, Value own) {
    const Value i = b.Sub(b.Index(kLastIndex), b.And(key, b.Index(kIndices - 1)));
    const Value before = Score(b, i), seen = b.Load(phases_.Scratch(seen_), DType::kS64, i);
    const Box box = BoxAt(b, i);
    const Values outcome = b.For(b.Index(0), b.Sub(count, seen), kThreads, {before, Bool(b, false)},
                                 [&](Value done, absl::Span<const Value> carried) {
                                   const Value first = b.Sub(b.Sub(count, b.Index(1)), done);
                                   const Outcome v = CompareWith(b, box, first, seen, carried[0]);
                                   return Values{v.score, b.Or(carried[1], v.is_out)};
                                 });
    const Value score = outcome[0], stays = b.Unary(Op::kNot, outcome[1]);
    const Value is_taken = b.And(stays, b.Compare("eq", score, before));
    const Value is_left =
        b.And(b.And(stays, b.Compare("gt", score, least_)), b.Unary(Op::kNot, is_taken));
    // All have read what the candidate's owner writes now.
    b.Barrier();
    b.If(b.And(is_taken, IsFirst(b)), [&] { Keep(b, i, count, score, box); });
    const Value is_own = b.Compare("eq", b.Rem(i, b.Index(kThreads)), b.ThreadIndex());
    const Value best = b.IfElse(
        is_own,
        [&] {
          b.Store(phases_.Scratch(score_), i, score);
          b.Store(phases_.Scratch(seen_), i, b.Select(is_left, count, b.Index(kGone)));
          return Values{BestOwn(b)};
        },
        [&] { return Values{own}; })[0];
    return {b.Add(count, b.Select(is_taken, b.Index(1), b.Index(0))), Bool(b, false), best};
  }

  void Keep(Builder& b, Value i, Value count, Value score, const Box& box) {
    int64_t part = 0;
    for (Value v : {box.y_min, box.x_min, box.y_max, box.x_max, box.area}) {
      b.Store(phases_.Scratch(taken_), TakenAt(b, part++, count), v);
    }
    if (const Value indices = phases_.Result(b, root_, 0)) {
      b.Store(indices, count, b.Convert(i, DType::kS32));
    }
    if (const Value scores = phases_.Result(b, root_, 1)) b.Store(scores, count, score);
  }

  const Node& root_;
  Phases& phases_;
  const Dim n_, room_;
  const int score_, seen_, taken_;
  Value most_, limit_, least_, is_soft_, scale_;
  Value keys_, factors_, events_, product_;  // in shared memory
};

}  // namespace

absl::StatusOr<EmittedKernel> EmitSuppression(const Node& fusion, const std::string& name) {
  TEKTITE_ASSIGN_OR_RETURN(const Node* root, RootOp(fusion.region()));
  if (root->op() != Op::kNonMaxSuppression) return Unimplemented("no non_max_suppression");
  Phases phases(fusion, name);
  SuppressionEmitter(*root, &phases).Run();
  return phases.Take();
}

}  // namespace tektite::gpu
