#include "backends/cpu/contraction/pairs/pair_packing.h"

#include <functional>
#include <vector>

#include "backends/cpu/contraction/packing/panel_packing.h"
#include "backends/cpu/contraction/row_addresses.h"
#include "backends/cpu/emit/names.h"

namespace tektite::cpu {
namespace {

// Visits the runs of k in order: body(offsets of the run on the left and right, its first word).
struct Run {
  Value lhs, rhs, word;
};
void ForEachRun(loop::Builder& b, const PairTiling& plan, size_t depth, const Run& at,
                const std::function<void(const Run&)>& body) {
  const std::vector<AddressLoop>& loops = plan.contraction.k_loops;
  if (depth + 1 == loops.size()) return body(at);
  Dim words = plan.run_words;  // of a trip
  for (size_t i = depth + 1; i + 1 < loops.size(); ++i) words = words * loops[i].trips;
  const AddressLoop& loop = loops[depth];
  b.For(b.Index(0), b.Index(loop.trips), 1, [&](Value i) {
    ForEachRun(b, plan, depth + 1,
               {b.Add(at.lhs, b.Mul(i, b.Index(loop.lhs_stride))),
                b.Add(at.rhs, b.Mul(i, b.Index(loop.rhs_stride))),
                b.Add(at.word, b.Mul(i, b.Index(words)))},
               body);
  });
}

void ForEachRun(loop::Builder& b, const PairTiling& plan,
                const std::function<void(const Run&)>& body) {
  ForEachRun(b, plan, 0, {b.Index(0), b.Index(0), b.Index(0)}, body);
}

// Words of two vectors of bf16, lane by lane.
Value WordsOf(loop::Builder& b, Value low, Value high) {
  const auto widened = [&](Value v) { return b.Convert(b.Bitcast(v, DType::kU16), DType::kS32); };
  const Value shift = b.Splat(b.Int(DType::kS32, 16), low.lanes());
  return b.Binary(ir::Op::kOr, widened(low), b.Binary(ir::Op::kShiftLeft, widened(high), shift));
}

// Words of a vector of bf16, two neighbours each.
Value WordsOf(loop::Builder& b, Value v) {
  std::vector<int> even, odd;
  for (int i = 0; i < v.lanes(); i += 2) {
    even.push_back(i);
    odd.push_back(i + 1);
  }
  return WordsOf(b, b.Shuffle(v, {}, even), b.Shuffle(v, {}, odd));
}

// Words [0, plan.run_words) of a run in groups of kTileSide: body(first word, k left in the run).
// k left is none where the group is whole.
void ForEachGroup(loop::Builder& b, const PairTiling& plan,
                  const std::function<void(Value, Value)>& body) {
  const int64_t group = plan.word * kTileSide;
  const Value whole = b.Mul(b.Div(b.Index(plan.run), b.Index(group)), b.Index(kTileSide));
  b.For(b.Index(0), whole, kTileSide, [&](Value word) { body(word, {}); });
  if (Mod(plan.run, group) == Dim(0)) return;
  const Value left = b.Sub(b.Index(plan.run), b.Mul(whole, b.Index(plan.word)));
  b.If(b.Compare("gt", left, b.Index(0)), [&] { body(whole, left); });
}

Value ZeroWords(loop::Builder& b) { return b.Splat(b.Int(DType::kS32, 0), kTileSide); }

// Two vectors of bf16 whose sum is `v`, of f32, but for its last bits (pair_tiling.h).
struct Halves {
  Value first, second;
};
Halves Split(loop::Builder& b, Value v) {
  const auto all = [&](uint32_t bits) {
    return b.Splat(b.Int(DType::kS32, static_cast<int32_t>(bits)), v.lanes());
  };
  const Value half_unit = all(0x8000);
  const Value bits = b.Bitcast(v, DType::kS32);
  const Value rounded = b.And(b.Add(bits, half_unit), all(0xffff0000));
  const Value rest = b.Bitcast(b.Sub(v, b.Bitcast(rounded, DType::kF32)), DType::kS32);
  const Value is_finite = b.Compare("lt", b.And(rest, all(0x7fffffff)), all(0x7f800000));
  const Value one = b.Or(b.And(bits, all(0x80000000)), all(0x3f800000));
  const Value first = b.Select(is_finite, rounded, one);
  // Twice a number that rounds to infinity is infinite, and twice a NaN a quiet one.
  const Value second =
      b.Select(is_finite, b.Add(rest, half_unit), b.Bitcast(b.Add(v, v), DType::kS32));
  const auto upper = [&](Value x) {
    return b.Convert(b.Binary(ir::Op::kShiftRightLogical, x, all(16)), DType::kU16);
  };
  return {upper(first), upper(second)};
}

// Rows in which k is contiguous are copied run by run.
void CopyRows(loop::Builder& b, const PairTiling& plan, Value lhs, Value block_begin, Value first,
              Value count, Value to) {
  const ContractionTiling& c = plan.contraction;
  b.For(b.Index(0), count, 1, [&](Value r) {
    const RowAddress row = RowAddresses(b, c, lhs, block_begin, {b.Add(first, r), 1, 1, {}})[0];
    const Value begin = b.Mul(r, b.Index(plan.pitch()));
    // The padding behind the last run; what of it belongs to a run is written after it.
    for (int h = 0; !plan.lhs_in_place && h < plan.halves(); ++h) {
      const Dim last = Dim(h) * plan.half_pitch() + plan.words - Dim(kTileSide);
      b.Store(to, b.Add(begin, b.Index(last)), ZeroWords(b));
    }
    ForEachRun(b, plan, [&](const Run& run) {
      const Value target = b.Offset(to, DType::kS32, b.Add(begin, run.word));
      ForEachGroup(b, plan, [&](Value word, Value left) {
        const Value k = b.Mul(word, b.Index(plan.word));
        const int lanes = static_cast<int>(plan.word) * kTileSide;
        const Value mask = left ? b.MaskUpTo(left, lanes) : Value();
        const Value from = b.Add(b.Add(run.lhs, k), b.Index(row.displacement));
        Value v = b.Load(row.pointer, c.dtype, from, lanes, mask);
        if (plan.adds_128()) {
          v = b.Binary(ir::Op::kXor, v, b.Splat(b.Int(DType::kS8, -128), lanes));
        }
        if (plan.splits_f32) {
          const auto [first_half, second_half] = Split(b, v);
          b.Store(target, k, first_half);
          b.Store(b.Offset(target, DType::kS32, b.Index(plan.half_pitch())), k, second_half);
          return;
        }
        b.Store(target, k, v);
      });
    });
  });
}

// The same of bytes that become s16.  Without masks, which AVX2 lacks for bytes: the last vector of
// a run begins in the one before it.
void WidenRows(loop::Builder& b, const PairTiling& plan, Value lhs, Value block_begin, Value first,
               Value count, Value to) {
  const ContractionTiling& c = plan.contraction;
  const int64_t even = plan.run.value() / plan.word * plan.word;
  int64_t lanes = plan.word * kTileSide;
  while (lanes > even) lanes /= 2;
  b.For(b.Index(0), count, 1, [&](Value r) {
    const RowAddress row = RowAddresses(b, c, lhs, block_begin, {b.Add(first, r), 1, 1, {}})[0];
    const Value begin = b.Mul(r, b.Index(plan.pitch()));
    ForEachRun(b, plan, [&](const Run& run) {
      const Value from = b.Add(run.lhs, b.Index(row.displacement));
      const Value target = b.Offset(to, DType::kS32, b.Add(begin, run.word));
      const auto copy = [&](Value k, int64_t elements) {
        const Value v =
            b.Load(row.pointer, c.lhs_dtype, b.Add(from, k), static_cast<int>(elements));
        b.Store(target, k, b.Convert(v, DType::kS16));
      };
      if (even > 0) {
        b.For(b.Index(0), b.Index(even / lanes * lanes), lanes, [&](Value k) { copy(k, lanes); });
        if (even % lanes != 0) copy(b.Index(even - lanes), lanes);
      }
      if (Dim(even) == plan.run) return;
      b.Store(target, b.Index(even + 1), b.Int(DType::kS16, 0));
      copy(b.Index(even), 1);
    });
  });
}

// Rows that are contiguous themselves: 16 of them and 16 words at a time.
void TransposeRows(loop::Builder& b, const PairTiling& plan, Value lhs, Value block_begin,
                   Value first, Value count, Value to) {
  const ContractionTiling& c = plan.contraction;
  const Value stride = b.Index(c.k_loops.back().lhs_stride);
  b.For(b.Index(0), count, kTileSide, [&](Value r) {
    const RowAddress row = RowAddresses(b, c, lhs, block_begin, {b.Add(first, r), 1, 1, {}})[0];
    const Value begin = b.Mul(r, b.Index(plan.pitch()));
    const Value exist = b.Sub(count, r);
    const auto store = [&](const std::vector<Value>& rows, Value word) {
      for (int i = 0; i < kTileSide; ++i) {
        b.Store(to, b.Add(b.Add(begin, b.Index(Dim(i) * plan.pitch())), word), rows[i]);
      }
    };
    store(std::vector<Value>(kTileSide, ZeroWords(b)), b.Index(plan.words - Dim(kTileSide)));
    const bool all_exist = c.m.is_constant() && c.m.value() % kTileSide == 0;
    ForEachRun(b, plan, [&](const Run& run) {
      ForEachGroup(b, plan, [&](Value word, Value left) {
        std::vector<Value> words;
        for (int i = 0; i < kTileSide; ++i) {
          Value halves[2];
          for (int h = 0; h < 2; ++h) {
            const int64_t ahead = 2 * i + h;
            Value mask = all_exist ? Value() : b.MaskUpTo(exist, kTileSide);
            if (left) {
              const Value lanes =
                  b.Select(b.Compare("gt", left, b.Index(ahead)), exist, b.Index(0));
              mask = b.MaskUpTo(lanes, kTileSide);
            }
            const Value k = b.Add(b.Mul(word, b.Index(2)), b.Index(ahead));
            const Value from = b.Add(b.Add(run.lhs, b.Mul(k, stride)), b.Index(row.displacement));
            halves[h] = b.Load(row.pointer, c.dtype, from, kTileSide, mask);
          }
          words.push_back(WordsOf(b, halves[0], halves[1]));
        }
        store(TransposeSquare(b, std::move(words)), b.Add(run.word, word));
      });
    });
  });
}

// Columns in which k is contiguous: squares of 16 words of 16 columns.
void TransposeColumns(loop::Builder& b, const PairTiling& plan, Value rhs, Value column, Value to) {
  const ContractionTiling& c = plan.contraction;
  for (int v = 0; v < c.vectors; ++v) {
    std::vector<Value> columns;
    for (int j = 0; j < kTileSide; ++j) {
      // Columns beyond n repeat the last one; their results are never stored.
      const Value n =
          b.Min(b.Add(column, b.Index(int64_t{v} * kTileSide + j)), b.Index(c.n - Dim(1)));
      columns.push_back(b.Offset(rhs, c.dtype, b.Mul(n, b.Index(c.rhs_n_stride))));
    }
    ForEachRun(b, plan, [&](const Run& run) {
      ForEachGroup(b, plan, [&](Value word, Value left) {
        const Value from = b.Add(run.rhs, b.Mul(word, b.Index(2)));
        std::vector<Value> rows;
        for (const Value& begin : columns) {
          if (left) {
            const Value mask = b.MaskUpTo(left, 2 * kTileSide);
            rows.push_back(WordsOf(b, b.Load(begin, c.dtype, from, 2 * kTileSide, mask)));
          } else {
            rows.push_back(
                b.Load(b.Offset(begin, c.dtype, from), DType::kS32, b.Index(0), kTileSide));
          }
        }
        rows = TransposeSquare(b, std::move(rows));
        for (int i = 0; i < kTileSide; ++i) {
          const Value row = b.Add(b.Add(run.word, word), b.Index(i));
          b.Store(to, b.Add(b.Mul(row, b.Index(c.panel())), b.Index(int64_t{v} * kTileSide)),
                  rows[i]);
        }
      });
    });
  }
}

// Contiguous columns: a row of words from two rows of elements.
void InterleaveColumns(loop::Builder& b, const PairTiling& plan, Value rhs, Value column,
                       Value to) {
  const ContractionTiling& c = plan.contraction;
  const Value stride = b.Index(c.k_loops.back().rhs_stride);
  std::vector<Value> masks(c.vectors);
  if (Mod(c.n, c.panel()) != Dim(0)) {
    for (int v = 0; v < c.vectors; ++v) {
      masks[v] = b.MaskUpTo(b.Sub(b.Index(c.n - Dim(int64_t{v} * kTileSide)), column), kTileSide);
    }
  }
  ForEachRun(b, plan, [&](const Run& run) {
    const auto row = [&](Value word, bool is_pair) {
      const Value from = b.Add(b.Add(run.rhs, b.Mul(b.Mul(word, b.Index(2)), stride)), column);
      for (int v = 0; v < c.vectors; ++v) {
        const auto load = [&](Value at) {
          return b.Load(rhs, c.dtype, b.Add(at, b.Index(int64_t{v} * kTileSide)), kTileSide,
                        masks[v]);
        };
        const Value low = load(from);
        const Value high =
            is_pair ? load(b.Add(from, stride)) : b.Splat(b.FloatBits(c.dtype, 0), kTileSide);
        b.Store(to,
                b.Add(b.Mul(b.Add(run.word, word), b.Index(c.panel())),
                      b.Index(int64_t{v} * kTileSide)),
                WordsOf(b, low, high));
      }
    };
    const Value pairs = b.Div(b.Index(plan.run), b.Index(2));
    b.For(b.Index(0), pairs, 1, [&](Value word) { row(word, true); });
    if (Mod(plan.run, 2) == Dim(0)) return;
    b.If(b.Compare("ne", b.Rem(b.Index(plan.run), b.Index(2)), b.Index(0)),
         [&] { row(pairs, false); });
  });
}

}  // namespace

void PackPairRows(loop::Builder& b, const PairTiling& plan, Value lhs, Value block_begin,
                  Value first, Value count, Value to) {
  (plan.widens             ? WidenRows
   : plan.lhs_k_contiguous ? CopyRows
                           : TransposeRows)(b, plan, lhs, block_begin, first, count, to);
}

void PackPairPanel(loop::Builder& b, const PairTiling& plan, Value rhs, Value column, Value to) {
  if (!plan.lhs_in_place) {
    // The padding behind the last run; what of it belongs to a run is written after it.
    for (int i = 0; i < kTileSide; ++i) {
      const Value row =
          b.Index((plan.words - Dim(kTileSide) + Dim(i)) * Dim(plan.contraction.panel()));
      for (int v = 0; v < plan.contraction.vectors; ++v) {
        b.Store(to, b.Add(row, b.Index(int64_t{v} * kTileSide)), ZeroWords(b));
      }
    }
  }
  (plan.rhs_k_contiguous ? TransposeColumns : InterleaveColumns)(b, plan, rhs, column, to);
}

}  // namespace tektite::cpu
