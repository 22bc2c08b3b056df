#include "backends/gpu/emit/attention/online_softmax.h"

#include <limits>

#include "backends/gpu/emit/attention/weight_exp.h"
#include "backends/gpu/emit/names.h"

namespace tektite::gpu {

namespace {

// Threads that share a row.
constexpr int kRowThreads = 4;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Value OfRows(Builder& b, double v) { return b.Splat(b.Float(DType::kF32, v), kThreadRows); }

// Of each row over all its threads, in every one of them.
Value OverThreads(Builder& b, Value v, Op op) {
  for (int mask = 1; mask < kRowThreads; mask *= 2) v = b.Binary(op, v, b.WarpXor(v, mask));
  return v;
}

// Of each row over the thread's elements.
Value OverTiles(Builder& b, absl::Span<const Value> tiles, Op op) {
  Value all;
  for (int row = 0; row < kThreadRows; ++row) {
    Value pair = RowOf(b, tiles[0], row);
    for (const Value& tile : tiles.subspan(1)) pair = b.Binary(op, pair, RowOf(b, tile, row));
    const Value own = b.Binary(op, b.ExtractLane(pair, 0), b.ExtractLane(pair, 1));
    all = all ? b.InsertLane(all, own, row) : b.Splat(own, kThreadRows);
  }
  return all;
}

}  // namespace

Value RowOf(Builder& b, Value tile, int row) { return b.Shuffle(tile, {}, {2 * row, 2 * row + 1}); }

Value SpreadRows(Builder& b, Value rows) { return b.Shuffle(rows, {}, {0, 0, 1, 1}); }

OnlineSoftmax OnlineSoftmax::Empty(Builder& b) { return {OfRows(b, -kInfinity), OfRows(b, 0)}; }

Value OnlineSoftmax::TakeLogits(Builder& b, absl::Span<Value> tiles) {
  const Value most = b.Max(largest, OverThreads(b, OverTiles(b, tiles, Op::kMax), Op::kMax));
  // Where every logit is -inf so far, each weight is 0, and their sum.
  const Value base = b.Select(b.Compare("eq", most, OfRows(b, -kInfinity)), OfRows(b, 0), most);
  const Value factor = WeightExp(b, b.Sub(largest, base));
  for (Value& tile : tiles) tile = WeightExp(b, b.Sub(tile, SpreadRows(b, base)));
  largest = most;
  sum = b.Fma(sum, factor, OverTiles(b, tiles, Op::kAdd));
  return factor;
}

Value OnlineSoftmax::SumOfWeights(Builder& b) const { return OverThreads(b, sum, Op::kAdd); }

}  // namespace tektite::gpu
