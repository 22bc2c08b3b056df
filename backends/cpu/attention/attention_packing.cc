#include "backends/cpu/attention/attention_packing.h"

#include <algorithm>

#include "backends/cpu/contraction/packing/panel_packing.h"
#include "backends/cpu/emit/elements.h"
#include "backends/cpu/emit/emitter.h"
#include "backends/cpu/emit/names.h"
#include "jit/base/rounding.h"

namespace tektite::cpu {
namespace {

// `lanes` elements a stride apart, the first at `at`.
Value LoadStrided(loop::Builder& b, Value from, Value at, const Dim& stride, int lanes,
                  Value mask) {
  if (stride == Dim(1)) return b.Load(from, DType::kF32, at, lanes, mask);
  Value lane = b.Mul(b.Iota(DType::kS64, lanes), b.Splat(b.Index(stride), lanes));
  return b.Gather(b.Offset(from, DType::kF32, at), DType::kF32, lane, mask);
}

// A vector of keys' panel is `lanes` keys; squares of lanes x lanes are transposed in registers.
void PackKeySquares(loop::Builder& b, const AttentionTiling& plan, Value key, Value first, Value to,
                    int panel_width, bool ragged) {
  const int lanes = plan.lanes;
  std::vector<Value> pointers;
  for (int j = 0; j < lanes; ++j) {
    Value k = b.Add(first, b.Index(j));
    // Keys that do not exist repeat the last one; their scores are masked.
    if (ragged) k = b.Min(k, b.Index(plan.keys - Dim(1)));
    pointers.push_back(b.Offset(key, DType::kF32, b.Mul(k, b.Index(plan.key_stride))));
  }
  ForEachVector(b, plan.width, lanes, [&](Value at, Value mask) {
    std::vector<Value> square;
    for (Value pointer : pointers) square.push_back(b.Load(pointer, DType::kF32, at, lanes, mask));
    square = TransposeSquare(b, std::move(square));
    // Rows beyond the width go where the next vector's rows will be, or into room at the end.
    for (int i = 0; i < lanes; ++i) {
      b.Store(to, b.Mul(b.Add(at, b.Index(i)), b.Index(panel_width)), square[i]);
    }
  });
}

// A line of the cache, in elements.
constexpr int64_t kLine = 16;

void FetchShareOfRows(loop::Builder& b, Value from, int64_t rows, const Dim& stride,
                      int64_t elements, Value share, int64_t shares) {
  const int64_t lines = CeilDiv(elements, kLine);
  const int64_t each = CeilDiv(rows * lines, shares);
  for (int64_t i = 0; i < each; ++i) {
    Value at = b.Add(b.Mul(share, b.Index(each)), b.Index(i));
    // The last shares ask for the last row again.
    Value row = b.Min(b.Div(at, b.Index(lines)), b.Index(rows - 1));
    Value line = b.Rem(at, b.Index(lines));
    b.Prefetch(from, DType::kF32, b.Add(b.Mul(row, b.Index(stride)), b.Mul(line, b.Index(kLine))));
  }
}

// Share `share` of `shares` of a unit's operands, those of them that lie in rows.
void FetchShare(loop::Builder& b, const AttentionTiling& plan, const AttentionOperands& operands,
                Value share, int64_t shares) {
  const int64_t keys = plan.keys.value();
  if (plan.queries_in_place) {
    FetchShareOfRows(b, operands.query, std::min(plan.rows.value(), plan.most_rows),
                     plan.row_loops[0].query_stride, plan.width, share, shares);
  }
  if (plan.key_width_stride == Dim(1)) {
    FetchShareOfRows(b, operands.key, keys, plan.key_stride, plan.width, share, shares);
  }
  if (plan.value_column_stride == Dim(1)) {
    FetchShareOfRows(b, operands.value, keys, plan.value_stride, plan.columns, share, shares);
  }
}

}  // namespace

AttentionUnit UnitAt(loop::Builder& b, const AttentionTiling& plan, Value unit) {
  Value blocks = b.Index(plan.row_blocks());
  Value batch = b.Div(unit, blocks);
  Value row_block = b.Sub(unit, b.Mul(batch, blocks));
  ir::Dims sizes;
  for (const AttentionLoop& loop : plan.batch_loops) sizes.push_back(loop.trips);
  return {Delinearize(b, batch, sizes), b.Mul(row_block, b.Index(plan.block_rows))};
}

AttentionOperands OperandsOf(loop::Builder& b, const AttentionTiling& plan,
                             const AttentionUnit& unit) {
  Value query = b.Index(0), key = b.Index(0), value = b.Index(0);
  for (size_t i = 0; i < unit.batch.size(); ++i) {
    const AttentionLoop& loop = plan.batch_loops[i];
    query = b.Add(query, b.Mul(unit.batch[i], b.Index(loop.query_stride)));
    key = b.Add(key, b.Mul(unit.batch[i], b.Index(loop.key_stride)));
    value = b.Add(value, b.Mul(unit.batch[i], b.Index(loop.value_stride)));
  }
  if (plan.queries_in_place) {
    query = b.Add(query, b.Mul(unit.first_row, b.Index(plan.row_loops[0].query_stride)));
  }
  return {b.Offset(b.Buffer(plan.query), DType::kF32, query),
          b.Offset(b.Buffer(plan.key), DType::kF32, key),
          b.Offset(b.Buffer(plan.value), DType::kF32, value)};
}

std::function<void(Value)> FetchDuring(loop::Builder& b, const AttentionTiling& plan,
                                       const AttentionOperands& next, Value panel, Value row,
                                       int64_t unroll) {
  if (!plan.fetch_next || plan.width < unroll) return nullptr;
  const int64_t steps = plan.width / unroll;
  const int64_t tiles = plan.most_rows / plan.tile_rows;
  const int64_t panels = plan.key_block / plan.panel();
  Value tile = b.Div(row, b.Index(plan.tile_rows));
  Value first = b.Mul(b.Add(b.Mul(panel, b.Index(tiles)), tile), b.Index(steps));
  return [&b, &plan, &next, first, unroll, shares = panels * tiles * steps](Value k) {
    FetchShare(b, plan, next, b.Add(first, b.Div(k, b.Index(unroll))), shares);
  };
}

int64_t QueryStride(const AttentionTiling& plan) {
  return RoundUp(plan.width, plan.lanes) + plan.lanes;
}

int64_t PackedKeyElements(const AttentionTiling& plan) {
  const int64_t keys = plan.one_strip() ? plan.panel() : plan.key_block;
  return keys * plan.width + plan.lanes * plan.panel();
}

int64_t PackedValueElements(const AttentionTiling& plan) {
  return plan.key_block * RoundUp(plan.columns, plan.lanes);
}

void ForEachPanel(loop::Builder& b, const AttentionTiling& plan, Value count,
                  const PanelBody& body) {
  Value panel = b.Index(plan.panel());
  Value whole = b.Div(count, panel), left = b.Rem(count, panel);
  b.For(b.Index(0), whole, 1, [&](Value p) { body(p, plan.vectors, false); });
  int vectors = plan.vectors;
  if (left.IsConstantIndex()) {
    vectors = static_cast<int>(CeilDiv(left.constant_index(), plan.lanes));
  }
  b.If(b.Compare("gt", left, b.Index(0)), [&] { body(whole, vectors, true); });
}

void PackQueries(loop::Builder& b, const AttentionTiling& plan, Value query, Value first,
                 Value count, Value to) {
  ir::Dims sizes;
  for (const AttentionLoop& loop : plan.row_loops) sizes.push_back(loop.trips);
  b.For(b.Index(0), count, 1, [&](Value r) {
    Value row = b.Min(b.Add(first, r), b.Index(plan.rows - Dim(1)));
    Value offset = b.Index(0);
    const std::vector<Value> index = Delinearize(b, row, sizes);
    for (size_t i = 0; i < index.size(); ++i) {
      offset = b.Add(offset, b.Mul(index[i], b.Index(plan.row_loops[i].query_stride)));
    }
    Value from = b.Offset(query, DType::kF32, offset);
    Value line = b.Offset(to, DType::kF32, b.Mul(r, b.Index(QueryStride(plan))));
    ForEachVector(b, plan.width, plan.lanes, [&](Value at, Value mask) {
      b.Store(line, at,
              LoadStrided(b, from, b.Mul(at, b.Index(plan.query_width_stride)),
                          plan.query_width_stride, plan.lanes, mask));
    });
  });
}

void PackKeyPanel(loop::Builder& b, const AttentionTiling& plan, Value key, Value first,
                  Value count, Value at, int vectors, bool ragged, Value to) {
  const int panel_width = vectors * plan.lanes;
  for (int v = 0; v < vectors; ++v) {
    Value before = b.Add(at, b.Index(int64_t{v} * plan.lanes));
    Value vector_to = b.Offset(to, DType::kF32, b.Index(int64_t{v} * plan.lanes));
    Value key_at = b.Add(first, before);
    if (plan.key_width_stride == Dim(1) && plan.width > 1) {
      PackKeySquares(b, plan, key, key_at, vector_to, panel_width, ragged);
      continue;
    }
    Value mask;
    if (ragged) mask = b.MaskUpTo(b.Sub(count, before), plan.lanes);
    Value from = b.Mul(key_at, b.Index(plan.key_stride));
    b.For(b.Index(0), b.Index(plan.width), 1, [&](Value k) {
      Value element = b.Add(from, b.Mul(k, b.Index(plan.key_width_stride)));
      b.Store(vector_to, b.Mul(k, b.Index(panel_width)),
              LoadStrided(b, key, element, plan.key_stride, plan.lanes, mask));
    });
  }
}

void PackValues(loop::Builder& b, const AttentionTiling& plan, Value value, Value first,
                Value count, Value to) {
  b.For(b.Index(0), count, 1, [&](Value k) {
    Value from = b.Mul(b.Add(first, k), b.Index(plan.value_stride));
    ForEachPanel(b, plan, b.Index(plan.columns), [&](Value panel, int vectors, bool ragged) {
      const int64_t panel_width = int64_t{vectors} * plan.lanes;
      Value column = b.Mul(panel, b.Index(plan.panel()));
      Value panel_to = b.Offset(to, DType::kF32, b.Mul(column, b.Index(plan.key_block)));
      for (int v = 0; v < vectors; ++v) {
        Value c = b.Add(column, b.Index(int64_t{v} * plan.lanes));
        Value mask;
        if (ragged) mask = b.MaskUpTo(b.Sub(b.Index(plan.columns), c), plan.lanes);
        Value element = b.Add(from, b.Mul(c, b.Index(plan.value_column_stride)));
        b.Store(panel_to, b.Add(b.Mul(k, b.Index(panel_width)), b.Index(int64_t{v} * plan.lanes)),
                LoadStrided(b, value, element, plan.value_column_stride, plan.lanes, mask));
      }
    });
  });
}

}  // namespace tektite::cpu
