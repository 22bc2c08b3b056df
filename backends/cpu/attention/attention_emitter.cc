// softmax(query x key) x value in one kernel; attention_tiling.h says in which order.
//
// Special values come out as they do from separate kernels: a row whose logits are all -inf, or one
// of which is NaN or inf, is NaN; no keys at all return zeros.

#include <cmath>
#include <functional>
#include <utility>

#include "backends/cpu/attention/attention_emitter.h"
#include "backends/cpu/attention/attention_packing.h"
#include "backends/cpu/attention/attention_tiling.h"
#include "backends/cpu/contraction/epilogue.h"
#include "backends/cpu/emit/emitter.h"
#include "backends/cpu/emit/lane_reduction.h"
#include "backends/cpu/emit/names.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"

namespace tektite::cpu {
namespace {

using Values = std::vector<Value>;

constexpr DType kF32 = DType::kF32;
// Steps of a product that are written out one after the other.
constexpr int kUnroll = 4;
constexpr int kRowsAtOnce = AttentionTiling::kRowsAtOnce;

class AttentionEmitter {
 public:
  AttentionEmitter(const Node& fusion, const std::string& name, AttentionTiling plan)
      : fusion_(fusion), region_(fusion.region()), name_(name), plan_(std::move(plan)) {}

  absl::StatusOr<EmittedKernel> Run() {
    EmittedKernel result;
    result.kernel = MakeKernel(fusion_, name_);
    result.cost = plan_.cost;
    const Dim units = plan_.batch * plan_.row_blocks();
    const Dim per_chunk = UnitsPerChunk(units, result.cost);
    result.num_chunks = CeilDiv(units, per_chunk);
    loop::Builder b(result.kernel.get());
    b_ = &b;
    AllocateScratch();
    ForEachUnit(b, units, per_chunk, [&](Value unit) { EmitUnit(unit); });
    TEKTITE_RETURN_IF_ERROR(status_);
    return result;
  }

 private:
  // The rows of a strip: those of the block from `first` on, `count` of them.
  struct Strip {
    Value first, count;
  };

  void AllocateScratch() {
    loop::Builder& b = *b_;
    if (!plan_.queries_in_place) {
      queries_ = b.AllocateScratch(kF32, plan_.most_rows * QueryStride(plan_));
    }
    keys_ = b.AllocateScratch(kF32, PackedKeyElements(plan_));
    if (!plan_.values_in_place) values_ = b.AllocateScratch(kF32, PackedValueElements(plan_));
    scores_ = b.AllocateScratch(kF32, (plan_.strip_rows + kRowsAtOnce) * ScoreStride());
    bases_ = b.AllocateScratch(kF32, plan_.strip_rows + kRowsAtOnce);
    inverses_ = b.AllocateScratch(kF32, plan_.strip_rows + kRowsAtOnce);
    if (plan_.one_block) return;
    factors_ = b.AllocateScratch(kF32, plan_.strip_rows + kRowsAtOnce);
    sums_ = b.AllocateScratch(kF32, plan_.most_rows + kRowsAtOnce);
    largest_ = b.AllocateScratch(kF32, plan_.most_rows + kRowsAtOnce);
    context_ = b.AllocateScratch(kF32, plan_.most_rows * ContextStride());
  }
  // Not powers of two, as QueryStride.
  int64_t ScoreStride() const { return plan_.key_block + plan_.lanes; }
  int64_t ContextStride() const { return RoundUp(plan_.columns, plan_.lanes); }

  void EmitUnit(Value unit) {
    loop::Builder& b = *b_;
    const AttentionUnit place = UnitAt(b, plan_, unit);
    batch_index_ = place.batch;
    first_row_ = place.first_row;
    const AttentionOperands operands = OperandsOf(b, plan_, place);
    if (plan_.fetch_next) {
      Value last = b.Index(plan_.units() - Dim(1));
      next_ = OperandsOf(b, plan_, UnitAt(b, plan_, b.Min(b.Add(unit, b.Index(1)), last)));
    }
    Value count = b.Min(b.Sub(b.Index(plan_.rows), first_row_), b.Index(plan_.block_rows));
    if (plan_.queries_in_place) {
      queries_ = operands.query;
    } else {
      // The last tile may reach beyond the rows.
      Value tiles = b.Div(b.Add(count, b.Index(plan_.tile_rows - 1)), b.Index(plan_.tile_rows));
      PackQueries(b, plan_, operands.query, first_row_, b.Mul(tiles, b.Index(plan_.tile_rows)),
                  queries_);
    }
    // No keys are a block, too: there is a result to be written.
    const Dim blocks_of_keys =
        plan_.one_block ? Dim(1) : Max(CeilDiv(plan_.keys, plan_.key_block), 1);
    b.For(b.Index(0), b.Index(blocks_of_keys), 1, [&](Value block) {
      is_first_ = b.Compare("eq", block, b.Index(0));
      is_last_ = b.Compare("eq", block, b.Index(blocks_of_keys - Dim(1)));
      first_key_ = b.Mul(block, b.Index(plan_.key_block));
      num_keys_ = b.Index(plan_.one_block ? plan_.keys : Dim(plan_.key_block));
      if (!plan_.one_block && Mod(plan_.keys, plan_.key_block) != Dim(0)) {
        num_keys_ = b.Min(b.Sub(b.Index(plan_.keys), first_key_), num_keys_);
      }
      EmitKeyBlock(operands.key, operands.value, count);
    });
  }

  void EmitKeyBlock(Value key, Value value, Value num_rows) {
    loop::Builder& b = *b_;
    key_ = key;
    if (!plan_.one_strip()) {
      ForEachPanel(b, plan_, num_keys_, [&](Value panel, int vectors, bool ragged) {
        Value column = b.Mul(panel, b.Index(plan_.panel()));
        PackKeys(column, vectors, ragged, PackedKeys(column));
      });
    }
    if (plan_.values_in_place) {
      values_ = b.Offset(value, kF32, b.Mul(first_key_, b.Index(plan_.value_stride)));
    } else {
      PackValues(b, plan_, value, first_key_, num_keys_, values_);
    }
    b.For(b.Index(0), num_rows, plan_.strip_rows, [&](Value at) {
      const Strip strip{at, b.Min(b.Sub(num_rows, at), b.Index(plan_.strip_rows))};
      EmitScores(strip);
      EmitSoftmax(strip);
      EmitContext(strip);
    });
  }

  Value PackedKeys(Value column) {
    if (plan_.one_strip()) return keys_;
    return b_->Offset(keys_, kF32, b_->Mul(column, b_->Index(plan_.width)));
  }
  void PackKeys(Value column, int vectors, bool ragged, Value to) {
    PackKeyPanel(*b_, plan_, key_, first_key_, num_keys_, column, vectors, ragged, to);
  }

  // ---- products ----

  // Tiles of the strip, the last one smaller.
  void ForEachTile(const Strip& strip, const std::function<void(const RowTile&)>& body) {
    loop::Builder& b = *b_;
    const int rows = plan_.tile_rows;
    Value left = b.Rem(strip.count, b.Index(rows)), whole = b.Sub(strip.count, left);
    b.For(b.Index(0), whole, rows, [&](Value m) { body({m, rows, rows, {}}); });
    if (plan_.rows.is_constant()) {
      const int rest = static_cast<int>(plan_.rows.value() % rows);
      if (rest > 0) b.If(b.Compare("gt", left, b.Index(0)), [&] { body({whole, rest, rest, {}}); });
      return;
    }
    // Anything from none to rows - 1, in one of three sizes.
    auto tile = [&](int most, int sure) {
      return [&, most, sure] { body({whole, most, sure, left}); };
    };
    const int large = rows - 1, middle = rows / 2, small = rows / 4;
    auto at_most_middle = [&] {
      auto at_most_small = [&] { b.If(b.Compare("gt", left, b.Index(0)), tile(small, 1)); };
      b.If(b.Compare("gt", left, b.Index(small)), tile(middle, small + 1), at_most_small);
    };
    b.If(b.Compare("gt", left, b.Index(middle)), tile(large, middle + 1), at_most_middle);
  }

  // sums[r][v] += lhs[r][k] * rhs[k][v] for k < count; rows of either are a stride apart.  Every
  // kUnroll steps `meanwhile(k)` adds something to do.
  Values Multiply(Value lhs, const Dim& lhs_stride, Value rhs, const Dim& rhs_stride, int rows,
                  int vectors, Value count, Values sums,
                  const std::function<void(Value)>& meanwhile = nullptr) {
    loop::Builder& b = *b_;
    auto step = [&](Value k, Values& s) {
      Values columns;
      Value at = b.Mul(k, b.Index(rhs_stride));
      for (int v = 0; v < vectors; ++v) {
        columns.push_back(
            b.Load(rhs, kF32, b.Add(at, b.Index(int64_t{v} * plan_.lanes)), plan_.lanes));
      }
      for (int r = 0; r < rows; ++r) {
        Value x = b.Load(lhs, kF32, b.Add(k, b.Index(lhs_stride * Dim(r))));
        Value spread = b.Splat(x, plan_.lanes);
        for (int v = 0; v < vectors; ++v) {
          Value& sum = s[static_cast<size_t>(r) * vectors + v];
          sum = b.Fma(spread, columns[v], sum);
        }
      }
    };
    Value whole = b.Sub(count, b.Rem(count, b.Index(kUnroll)));
    sums = b.For(b.Index(0), whole, kUnroll, std::move(sums),
                 [&](Value k, absl::Span<const Value> carried) {
                   Values s(carried.begin(), carried.end());
                   for (int i = 0; i < kUnroll; ++i) step(b.Add(k, b.Index(i)), s);
                   if (meanwhile) meanwhile(k);
                   return s;
                 });
    return b.For(whole, count, 1, std::move(sums), [&](Value k, absl::Span<const Value> carried) {
      Values s(carried.begin(), carried.end());
      step(k, s);
      return s;
    });
  }

  Values Zeros(int rows, int vectors) {
    return Values(static_cast<size_t>(rows) * vectors, b_->Splat(b_->Float(kF32, 0), plan_.lanes));
  }

  // Element `column` of row `row` of a strip's scores, as an offset.
  Value ScoreAt(Value row, Value column) {
    return b_->Add(b_->Mul(row, b_->Index(ScoreStride())), column);
  }

  // The logits of the strip.  Keys that do not exist get -inf, which weighs nothing.
  void EmitScores(const Strip& strip) {
    loop::Builder& b = *b_;
    ForEachPanel(b, plan_, num_keys_, [&](Value panel, int vectors, bool ragged) {
      Value column = b.Mul(panel, b.Index(plan_.panel()));
      Value rhs = PackedKeys(column);
      if (plan_.one_strip()) PackKeys(column, vectors, ragged, rhs);
      ForEachTile(strip, [&](const RowTile& tile) {
        Value row = b.Add(strip.first, tile.first);
        const Dim stride =
            plan_.queries_in_place ? plan_.row_loops[0].query_stride : Dim(QueryStride(plan_));
        Value lhs = b.Offset(queries_, kF32, b.Mul(row, b.Index(stride)));
        Values sums = Multiply(lhs, stride, rhs, int64_t{vectors} * plan_.lanes, tile.rows, vectors,
                               b.Index(plan_.width), Zeros(tile.rows, vectors),
                               FetchDuring(b, plan_, next_, panel, row, kUnroll));
        StoreLogits(tile, row, column, vectors, ragged, sums);
      });
    });
  }

  void StoreLogits(const RowTile& tile, Value row, Value column, int vectors, bool ragged,
                   const Values& sums) {
    loop::Builder& b = *b_;
    const int lanes = plan_.lanes;
    ElementEmitter e(&b, lanes);
    BindParameters(e, region_);
    const ir::Value scores = plan_.nodes.scores->result();
    for (int r = 0; r < tile.rows; ++r) {
      Indices at =
          RowIndex(b.Min(b.Add(first_row_, b.Add(row, b.Index(r))), b.Index(plan_.rows - Dim(1))));
      at.emplace_back();
      for (int v = 0; v < vectors; ++v) {
        Value c = b.Add(column, b.Index(int64_t{v} * lanes)), mask;
        if (ragged) mask = b.MaskUpTo(b.Sub(num_keys_, c), lanes);
        e.Clear();
        e.SetMask(mask);
        e.BindValue(scores, sums[static_cast<size_t>(r) * vectors + v]);
        at.back() = At(b.Add(first_key_, c), plan_.keys == Dim(1) ? 0 : 1);
        Value x = e.EmitVector(plan_.nodes.logits, at);
        if (ragged) x = b.Select(mask, x, b.Splat(b.Float(kF32, -INFINITY), lanes));
        b.Store(scores_, ScoreAt(b.Add(tile.first, b.Index(r)), c), x);
      }
    }
    if (status_.ok()) status_ = e.status();
  }

  Indices RowIndex(Value row) {
    Indices at;
    for (Value v : batch_index_) at.push_back(At(v));
    Dims sizes;
    for (const AttentionLoop& loop : plan_.row_loops) sizes.push_back(loop.trips);
    for (Value v : Delinearize(*b_, row, sizes)) at.push_back(At(v));
    return at;
  }

  // ---- softmax ----

  using Combine = std::function<Value(Value, Value)>;

  // For kRowsAtOnce rows of the strip: combine(x, body(row, offset)) over each vector of scores.
  // Rows do not wait for each other.  One lane of the result per row.
  Value SweepRows(Value first, double identity, const Combine& combine,
                  const std::function<Value(int, Value)>& body) {
    loop::Builder& b = *b_;
    const int lanes = plan_.lanes;
    Value end = b.Mul(b.Div(b.Add(num_keys_, b.Index(lanes - 1)), b.Index(lanes)), b.Index(lanes));
    Values none(kRowsAtOnce, b.Splat(b.Float(kF32, identity), lanes));
    Values totals = b.For(b.Index(0), end, lanes, std::move(none),
                          [&](Value column, absl::Span<const Value> carried) {
                            Values next;
                            for (int r = 0; r < kRowsAtOnce; ++r) {
                              Value at = ScoreAt(b.Add(first, b.Index(r)), column);
                              next.push_back(combine(carried[r], body(r, at)));
                            }
                            return next;
                          });
    return ReduceLanesOfEach(b, std::move(totals), combine);
  }

  Value OfRows(double x) { return b_->Splat(b_->Float(kF32, x), kRowsAtOnce); }

  // Logits become weights, short of the division by their sum.  Scratch has room for the rows that
  // the last step takes too many.  All rows' largest logits come first: exponentials would wait for
  // those of their own rows.
  void EmitSoftmax(const Strip& strip) {
    loop::Builder& b = *b_;
    b.For(b.Index(0), strip.count, kRowsAtOnce,
          [&](Value first) { EmitBases(first, b.Add(strip.first, first)); });
    b.For(b.Index(0), strip.count, kRowsAtOnce,
          [&](Value first) { EmitWeights(first, b.Add(strip.first, first)); });
  }

  // The bases of the rows' weights: each row's largest score.
  void EmitBases(Value first, Value of_block) {
    loop::Builder& b = *b_;
    // The larger one, or either where one is NaN: the row's sum is NaN then whatever it is.
    auto larger = [&](Value x, Value y) { return b.Select(b.Compare("gt", x, y), x, y); };
    Value largest = SweepRows(first, -INFINITY, larger, [&](int, Value at) {
      return b.Load(scores_, kF32, at, plan_.lanes);
    });
    // Rows of nothing but -inf weigh nothing yet: -inf less -inf would be NaN.
    auto base_of = [&](Value v) {
      return b.Select(b.Compare("eq", v, OfRows(-INFINITY)), OfRows(0), v);
    };
    Values found = b.IfElse(
        is_first_,
        [&] {
          return Values{largest, base_of(largest)};
        },
        [&] {
          Value before = b.Load(largest_, kF32, of_block, kRowsAtOnce);
          Value now = larger(before, largest), base = base_of(now);
          b.Store(factors_, first, b.Unary(Op::kExp, b.Sub(before, base)));
          return Values{now, base};
        });
    b.Store(bases_, first, found[1]);
    if (!plan_.one_block) b.Store(largest_, of_block, found[0]);
  }

  void EmitWeights(Value first, Value of_block) {
    loop::Builder& b = *b_;
    Values bases;
    for (int r = 0; r < kRowsAtOnce; ++r) {
      bases.push_back(b.Splat(b.Load(bases_, kF32, b.Add(first, b.Index(r))), plan_.lanes));
    }
    auto add = [&](Value x, Value y) { return b.Add(x, y); };
    Value sum = SweepRows(first, 0, add, [&](int r, Value at) {
      Value weight = b.Unary(Op::kExp, b.Sub(b.Load(scores_, kF32, at, plan_.lanes), bases[r]));
      b.Store(scores_, at, weight);
      return weight;
    });
    sum = b.IfElse(
        is_first_, [&] { return Values{sum}; },
        [&] {
          return Values{b.Fma(b.Load(sums_, kF32, of_block, kRowsAtOnce),
                              b.Load(factors_, kF32, first, kRowsAtOnce), sum)};
        })[0];
    b.If(
        is_last_, [&] { b.Store(inverses_, first, Inverse(sum)); },
        [&] { b.Store(sums_, of_block, sum); });
  }

  Value Inverse(Value sums) {
    loop::Builder& b = *b_;
    auto all = [&](double x) { return b.Splat(b.Float(kF32, x), sums.lanes()); };
    Value inverse = b.Div(all(1), sums);
    if (plan_.keys.is_constant() && plan_.keys != Dim(0)) return inverse;
    // Sums over no keys are zero, and no softmax is there to divide.
    return b.Select(b.Splat(b.Compare("eq", b.Index(plan_.keys), b.Index(0)), sums.lanes()), all(0),
                    inverse);
  }

  // ---- context ----

  void EmitContext(const Strip& strip) {
    loop::Builder& b = *b_;
    ForEachPanel(b, plan_, b.Index(plan_.columns), [&](Value panel, int vectors, bool) {
      Value column = b.Mul(panel, b.Index(plan_.panel()));
      const Dim packed_stride = int64_t{vectors} * plan_.lanes;
      const Dim rhs_stride = plan_.values_in_place ? plan_.value_stride : packed_stride;
      Value rhs = b.Offset(
          values_, kF32, plan_.values_in_place ? column : b.Mul(column, b.Index(plan_.key_block)));
      ForEachTile(strip, [&](const RowTile& tile) {
        Value lhs = b.Offset(scores_, kF32, b.Mul(tile.first, b.Index(ScoreStride())));
        Value row = b.Add(strip.first, tile.first);
        const Values zeros = Zeros(tile.rows, vectors);
        Values sums = b.IfElse(
            is_first_, [&] { return zeros; },
            [&] {
              return ForTile(tile, vectors, [&](int r, int v, size_t) {
                Value at = ContextAt(b.Add(row, b.Index(r)), column, v);
                return b.Mul(b.Load(context_, kF32, at, plan_.lanes), Factor(factors_, tile, r));
              });
            });
        sums = Multiply(lhs, ScoreStride(), rhs, rhs_stride, tile.rows, vectors, num_keys_,
                        std::move(sums));
        b.If(
            is_last_,
            [&] {
              StoreTile(tile, row, column, vectors,
                        ForTile(tile, vectors, [&](int r, int, size_t i) {
                          return b.Mul(sums[i], Factor(inverses_, tile, r));
                        }));
            },
            [&] {
              ForTile(tile, vectors, [&](int r, int v, size_t i) {
                b.Store(context_, ContextAt(b.Add(row, b.Index(r)), column, v), sums[i]);
                return sums[i];
              });
            });
      });
    });
  }

  static Values ForTile(const RowTile& tile, int vectors,
                        const std::function<Value(int, int, size_t)>& body) {
    Values values;
    for (int r = 0; r < tile.rows; ++r) {
      for (int v = 0; v < vectors; ++v) values.push_back(body(r, v, values.size()));
    }
    return values;
  }

  // The factor of row `r` of a tile.
  Value Factor(Value factors, const RowTile& tile, int r) {
    return b_->Splat(b_->Load(factors, kF32, b_->Add(tile.first, b_->Index(r))), plan_.lanes);
  }

  Value ContextAt(Value row, Value column, int vector) {
    return b_->Add(b_->Mul(row, b_->Index(ContextStride())),
                   b_->Add(column, b_->Index(int64_t{vector} * plan_.lanes)));
  }

  void StoreTile(const RowTile& tile, Value row, Value column, int vectors, const Values& values) {
    loop::Builder& b = *b_;
    for (int r = 0; r < tile.rows; ++r) {
      auto store = [&] {
        const auto first = values.begin() + static_cast<int64_t>(r) * vectors;
        StoreRow(b.Add(row, b.Index(r)), column, {first, first + vectors});
      };
      if (r < tile.sure) {
        store();
      } else {
        b.If(b.Compare("lt", b.Index(r), tile.left), store);
      }
    }
  }

  // Neighbouring vectors of a row of the block, into the result.
  void StoreRow(Value row, Value column, const Values& vectors) {
    loop::Builder& b = *b_;
    ElementEmitter e(&b, plan_.lanes);
    Indices at = RowIndex(b.Add(first_row_, row));
    at.emplace_back();
    for (size_t v = 0; v < vectors.size(); ++v) {
      Value c = b.Add(column, b.Index(static_cast<int64_t>(v) * plan_.lanes));
      at.back() = At(c, plan_.columns == 1 ? 0 : 1);
      if (plan_.columns % plan_.lanes != 0) {
        e.SetMask(b.MaskUpTo(b.Sub(b.Index(plan_.columns), c), plan_.lanes));
      }
      Indices to = at;
      if (plan_.nodes.result != plan_.nodes.context) {
        const auto& permutation = plan_.nodes.result->Ints(ir::Attr::permutation);
        for (size_t i = 0; i < at.size(); ++i) to[i] = at[permutation[i]];
      }
      e.StoreAt(b.Buffer(region_.num_parameters()), plan_.nodes.result->shape(), to, vectors[v]);
    }
  }

  const Node& fusion_;
  const ir::Graph& region_;
  const std::string& name_;
  const AttentionTiling plan_;
  loop::Builder* b_ = nullptr;
  absl::Status status_;
  // Scratch: packed operands; a strip's logits, then weights; the bases subtracted from its rows'
  // logits, and the factors of their context, before a block of keys and in the end; of the rows of
  // a block, the sums of the blocks of keys so far.
  Value queries_, keys_, values_, scores_, bases_, factors_, inverses_, sums_, largest_, context_;
  Values batch_index_;
  Value first_row_;             // of the block
  Value key_;                   // of the batch
  AttentionOperands next_;      // of the unit after this one
  Value first_key_, num_keys_;  // of the block of keys
  Value is_first_, is_last_;    // of these
};

}  // namespace

absl::StatusOr<EmittedKernel> EmitAttention(const Node& fusion, const Target& target,
                                            const std::string& name) {
  TEKTITE_ASSIGN_OR_RETURN(AttentionTiling plan, TileAttention(fusion, target));
  return AttentionEmitter(fusion, name, std::move(plan)).Run();
}

}  // namespace tektite::cpu
