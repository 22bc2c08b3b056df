#include "backends/gpu/emit/order/line_sorter.h"

#include <algorithm>
#include <utility>

#include "backends/gpu/emit/names.h"
#include "backends/gpu/emit/root_epilogue.h"

namespace tektite::gpu {

namespace {

constexpr int64_t kMostInTile = loop::kMostThreads;
// Of lines of unknown length, most of which are short.
constexpr int64_t kUsualTile = 256;
// Threads of a block, at least: small tiles share one.
constexpr int64_t kThreads = 256;
// Of a block that merges a whole line.
constexpr int kMergeThreads = loop::kMostThreads;
// Passes and steps of searches that serve every length.
constexpr int64_t kAllPasses = 23, kAllSteps = 32;

int64_t CeilLog2(int64_t n) {
  int64_t log = 0;
  while (int64_t{1} << log < n) ++log;
  return log;
}

}  // namespace

Value CountBefore(Builder& b, const EntryOrder& order, const Dim& most, Value count,
                  const EntryOrder::Values& entry,
                  const std::function<EntryOrder::Values(Value)>& load) {
  const int64_t steps = most.is_constant() ? CeilLog2(most.value() + 1) : kAllSteps;
  // What is sought is in [begin, end].
  return b.For(b.Index(0), b.Index(steps), 1, {b.Index(0), count},
               [&](Value, absl::Span<const Value> carried) {
                 const Value begin = carried[0], end = carried[1];
                 return b.IfElse(
                     b.Compare("lt", begin, end),
                     [&] {
                       const Value middle = b.Div(b.Add(begin, end), b.Index(2));
                       const Value before = order.Before(b, load(middle), entry);
                       return EntryOrder::Values{b.Select(before, b.Add(middle, b.Index(1)), begin),
                                                 b.Select(before, end, middle)};
                     },
                     [&] {
                       return EntryOrder::Values{begin, end};
                     });
               })[0];
}

LineSorter::LineSorter(Phases* phases, const EntryOrder& order, Lines lines)
    : phases_(*phases), order_(order), lines_(std::move(lines)) {
  const int64_t length = lines_.length.value_or(kUsualTile);
  tile_ = std::clamp<int64_t>(int64_t{1} << CeilLog2(std::max<int64_t>(length, 1)), kWarpThreads,
                              kMostInTile);
  if (is_one_tile()) return;
  for (DType dtype : order.parts()) {
    scratch_.push_back(phases_.AddScratch(dtype, lines_.count * lines_.length * Dim(2)));
  }
}

void LineSorter::AddPhases(const Source& source, const Sink& sink) {
  phases_.Add([&](Builder& b) { SortTiles(b, source, sink); });
  if (is_one_tile()) return;
  if (!lines_.length.is_constant()) {
    phases_.Add([&](Builder& b) { MergeInBlocks(b, sink); });
    return;
  }
  const int64_t passes = CeilLog2((lines_.length.value() + tile_ - 1) / tile_);
  for (int pass = 0; pass < passes; ++pass) {
    phases_.Add([&](Builder& b) { Merge(b, pass, pass + 1 == passes ? sink : Sink()); });
  }
}

LineSorter::Values LineSorter::Load(Builder& b, Value line, Value at, Value half) const {
  const Value row = b.Add(b.Mul(half, b.Index(lines_.count)), line);
  const Value place = b.Add(b.Mul(row, b.Index(lines_.length)), at);
  Values entry;
  const std::vector<DType> parts = order_.parts();
  for (size_t i = 0; i < parts.size(); ++i) {
    entry.push_back(b.Load(phases_.Scratch(scratch_[i]), parts[i], place));
  }
  return entry;
}

void LineSorter::Store(Builder& b, Value line, Value at, Value half, const Values& entry) const {
  const Value row = b.Add(b.Mul(half, b.Index(lines_.count)), line);
  const Value place = b.Add(b.Mul(row, b.Index(lines_.length)), at);
  for (size_t i = 0; i < entry.size(); ++i) {
    b.Store(phases_.Scratch(scratch_[i]), place, entry[i]);
  }
}

// ---- tiles ----

void LineSorter::SortTiles(Builder& b, const Source& source, const Sink& sink) {
  // Places in a line are s32, and kAllPasses merges double a tile no further.
  phases_.Note(RequireNarrow(*b.kernel(), lines_.length));
  const int64_t in_block = std::max<int64_t>(kThreads / tile_, 1);
  const Dim tiles = is_one_tile() ? Dim(1) : CeilDiv(lines_.length, tile_);
  // Of length 0 there is nothing to do.
  const Dim units = lines_.count * tiles * Min(lines_.length, 1);
  b.kernel()->launch.threads = static_cast<int>(in_block * tile_);
  b.kernel()->launch.blocks = CeilDiv(units, in_block);
  const Value unit =
      b.Add(b.Mul(b.BlockIndex(), b.Index(in_block)), b.Div(b.ThreadIndex(), b.Index(tile_)));
  const Value place = b.Rem(b.ThreadIndex(), b.Index(tile_));
  const Value line = b.Div(unit, b.Index(tiles));
  const Value first = b.Mul(b.Sub(unit, b.Mul(line, b.Index(tiles))), b.Index(tile_));
  const Value at = b.Add(first, place);
  const Value exists =
      b.And(b.Compare("lt", unit, b.Index(units)), b.Compare("lt", at, b.Index(lines_.length)));
  const Values entry =
      Bitonic(b,
              b.IfElse(
                  exists, [&] { return source(b, line, at); }, [&] { return order_.End(b); }),
              place);
  b.If(b.And(exists, b.Compare("lt", place, b.Index(lines_.wanted))), [&] {
    if (is_one_tile()) {
      sink(b, line, at, entry);
    } else {
      Store(b, line, at, b.Index(0), entry);
    }
  });
}

// Of two entries that are `distance` apart, which of them this thread keeps.
LineSorter::Values LineSorter::Step(Builder& b, const Values& mine, const Values& other,
                                    Value place, Value size, Value distance) {
  const auto is_clear = [&](Value bit) { return b.Compare("eq", b.And(place, bit), b.Index(0)); };
  const Value takes_less = b.Compare("eq", b.Convert(is_clear(size), DType::kS32),
                                     b.Convert(is_clear(distance), DType::kS32));
  const Value other_is_less = order_.Before(b, other, mine);
  const Value takes = b.Select(takes_less, other_is_less, b.Unary(Op::kNot, other_is_less));
  Values next;
  for (size_t i = 0; i < mine.size(); ++i) next.push_back(b.Select(takes, other[i], mine[i]));
  return next;
}

LineSorter::Values LineSorter::Bitonic(Builder& b, Values entry, Value place) {
  const std::vector<DType> parts = order_.parts();
  const int64_t threads = b.kernel()->launch.threads;
  const int64_t stages = CeilLog2(tile_), in_warp = CeilLog2(kWarpThreads);
  // Two copies in turn, so that a step has one barrier.
  Values shared;
  for (size_t i = 0; i < parts.size() && tile_ > kWarpThreads; ++i) {
    shared.push_back(b.AllocateShared(parts[i], 2 * threads));
  }
  const auto between_warps = [&](Value size, Value distance, absl::Span<const Value> carried) {
    const Values mine(carried.begin(), carried.end() - 1);
    const Value copy = carried.back();
    Values other;
    for (size_t i = 0; i < mine.size(); ++i) {
      b.Store(shared[i], b.Add(copy, b.ThreadIndex()), mine[i]);
    }
    b.Barrier();
    const Value partner = b.Binary(Op::kXor, b.ThreadIndex(), distance);
    for (size_t i = 0; i < mine.size(); ++i) {
      other.push_back(b.Load(shared[i], parts[i], b.Add(copy, partner)));
    }
    Values next = Step(b, mine, other, place, size, distance);
    next.push_back(b.Sub(b.Index(threads), copy));
    return next;
  };
  entry.push_back(b.Index(0));  // where the next copy begins
  const auto stage = [&](Value s, absl::Span<const Value> carried) {
    const auto power = [&](Value exponent) {
      return b.Binary(Op::kShiftLeft, b.Index(1), exponent);
    };
    const Value size = power(s);
    Values state(carried.begin(), carried.end());
    if (tile_ > kWarpThreads) {
      state = b.For(b.Index(in_warp), s, 1, std::move(state),
                    [&](Value d, absl::Span<const Value> before) {
                      const Value exponent = b.Sub(b.Add(s, b.Index(in_warp - 1)), d);
                      return between_warps(size, power(exponent), before);
                    });
    }
    for (int distance = kWarpThreads / 2; distance > 0; distance /= 2) {
      const Values mine(state.begin(), state.end() - 1);
      Values other;
      for (Value v : mine) other.push_back(b.WarpXor(v, distance));
      const Values next = Step(b, mine, other, place, size, b.Index(distance));
      const Value is_part = b.Compare("lt", b.Index(distance), size);
      for (size_t i = 0; i < mine.size(); ++i) state[i] = b.Select(is_part, next[i], mine[i]);
    }
    return state;
  };
  entry = b.For(b.Index(1), b.Index(stages + 1), 1, std::move(entry), stage);
  entry.pop_back();
  return entry;
}

// ---- runs ----

// Passes on the entry at `at`, and where it is after its run of `run` entries and its neighbour
// have become one.
void LineSorter::Place(Builder& b, Value line, Value at, Value run, Value half,
                       const std::function<void(Value at, const Values& entry)>& sink) {
  const Value number = b.Div(at, run), own = b.Sub(at, b.Mul(number, run));
  const Value other = b.Mul(b.Binary(Op::kXor, number, b.Index(1)), run);
  const Value first = b.Min(b.Mul(number, run), other), wanted = b.Index(lines_.wanted);
  b.If(b.Compare("lt", own, wanted), [&] {
    const Values entry = Load(b, line, at, half);
    const Value there = b.Max(b.Min(b.Sub(b.Index(lines_.length), other), run), b.Index(0));
    const Value before = CountBefore(b, order_, lines_.length, b.Min(there, wanted), entry,
                                     [&](Value i) { return Load(b, line, b.Add(other, i), half); });
    const Value place = b.Add(own, before);
    b.If(b.Compare("lt", place, wanted), [&] { sink(b.Add(first, place), entry); });
  });
}

void LineSorter::Merge(Builder& b, int pass, const Sink& sink) {
  const Value half = b.Index(pass % 2), next = b.Index(1 - pass % 2);
  ForEachThread(b, lines_.count * lines_.length, [&](Value linear) {
    const Value line = b.Div(linear, b.Index(lines_.length));
    const Value at = b.Sub(linear, b.Mul(line, b.Index(lines_.length)));
    Place(b, line, at, b.Index(tile_ << pass), half, [&](Value to, const Values& entry) {
      if (sink) {
        sink(b, line, to, entry);
      } else {
        Store(b, line, to, next, entry);
      }
    });
  });
}

void LineSorter::MergeInBlocks(Builder& b, const Sink& sink) {
  b.kernel()->launch.threads = kMergeThreads;
  b.kernel()->launch.blocks = lines_.count;
  const Value line = b.BlockIndex(), length = b.Index(lines_.length);
  const Value half = b.For(
      b.Index(0), b.Index(kAllPasses), 1, {b.Index(0)},
      [&](Value pass, absl::Span<const Value> carried) {
        const Value run = b.Binary(Op::kShiftLeft, b.Index(tile_), pass);
        const Value next = b.Sub(b.Index(1), carried[0]);
        return b.IfElse(
            b.Compare("lt", run, length),
            [&] {
              b.For(b.ThreadIndex(), length, kMergeThreads, [&](Value at) {
                Place(b, line, at, run, carried[0],
                      [&](Value to, const Values& entry) { Store(b, line, to, next, entry); });
              });
              b.Barrier();
              return Values{next};
            },
            [&] { return Values{carried[0]}; });
      })[0];
  b.For(b.ThreadIndex(), b.Index(Min(lines_.length, lines_.wanted)), kMergeThreads,
        [&](Value at) { sink(b, line, at, Load(b, line, at, half)); });
}

}  // namespace tektite::gpu
