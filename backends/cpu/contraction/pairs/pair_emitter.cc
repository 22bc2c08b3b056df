// Products of bf16 and bytes in words of k (pair_tiling.h): a block of rows meets one panel of
// columns after the other.  Two tiles of rows by one or two tiles of columns run through k, in
// AMX's tiles or in vectors; their sums go through a buffer in L1 to the epilogue, which is that of
// other products.

#include <array>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "backends/cpu/contraction/contraction_code.h"
#include "backends/cpu/contraction/epilogue.h"
#include "backends/cpu/contraction/operands.h"
#include "backends/cpu/contraction/packing/panel_packing.h"
#include "backends/cpu/contraction/pairs/pair_packing.h"
#include "backends/cpu/contraction/pairs/pair_tiling.h"
#include "backends/cpu/contraction/row_addresses.h"
#include "backends/cpu/emit/names.h"
#include "jit/base/status.h"

namespace tektite::cpu {
namespace {

// Rows whose sums the epilogue has in registers at a time.
constexpr int kEpilogueRows = 4;
// Numbers of AMX's tiles: sums of rows r and columns c in 2 r + c.
constexpr int kLeftTile = 4, kRightTile = 6;

// Rows of up to two tiles, as the products read them.
struct LeftRows {
  int tiles = 2;
  DType dtype = DType::kS32;
  std::array<Value, 2> begin;  // where each tile's first row begins
  Value stride;                // between rows, in elements of `dtype`
  bool packed = true;
};

class PairEmitter {
 public:
  PairEmitter(const Node& fusion, PairTiling pairs)
      : region_(fusion.region()), pairs_(std::move(pairs)), plan_(pairs_.contraction) {}

  Dim cost() const { return plan_.cost; }
  Dim num_chunks() const { return BlocksOf(plan_); }

  absl::Status Emit(loop::Builder& b) {
    TEKTITE_ASSIGN_OR_RETURN(parameters_, ParametersOf(*plan_.root));
    b_ = &b;
    padded_input_ = AllocatePaddedInput(b, plan_);
    const Dim packed_rows = pairs_.lhs_in_place
                                ? Dim(2 * kTileSide)
                                : CeilDiv(plan_.block_rows, plan_.rows) * Dim(plan_.rows);
    rows_ = b.AllocateScratch(DType::kS32, packed_rows * pairs_.pitch());
    if (!pairs_.rhs_packed) {
      panel_ = b.AllocateScratch(DType::kS32, (pairs_.words + Dim(kTileSide)) * Dim(plan_.panel()));
    }
    const Dim sums_rows = pairs_.is_cut() ? plan_.block_panels * packed_rows : Dim(2 * kTileSide);
    sums_ = b.AllocateScratch(plan_.accumulator, sums_rows * Dim(plan_.panel()));
    if (pairs_.adds_128()) first_sums_ = b.AllocateScratch(DType::kS32, Dim(plan_.panel()));
    TEKTITE_ASSIGN_OR_RETURN(epilogue_, Epilogue::Create(region_, plan_));
    if (pairs_.has_tiles) Configure();
    ForEachBlock(b, plan_, [this](Value batch, Value m_block, Value n_block) {
      EmitBlock(batch, m_block, n_block);
    });
    if (pairs_.has_tiles) b.ReleaseTiles();
    return status_;
  }

 private:
  void Configure() {
    const int words = static_cast<int>(pairs_.step_words), bytes = words * 4;
    const int sums = kTileSide * 4;
    std::vector<loop::Builder::TileShape> shapes(4, {pairs_.tile_rows, sums});
    shapes.insert(shapes.end(), 2, {pairs_.tile_rows, bytes});
    shapes.insert(shapes.end(), 2, {words, sums});
    b_->ConfigureTiles(shapes);
  }

  void EmitBlock(Value batch, Value m_block, Value n_block) {
    loop::Builder& b = *b_;
    const Value m_begin = b.Mul(m_block, b.Index(plan_.block_rows));
    const Value count = b.Min(b.Sub(b.Index(plan_.m), m_begin), b.Index(plan_.block_rows));
    const BatchOperands operands = OperandsOf(b, plan_, parameters_, batch);
    lhs_ = operands.lhs;
    rhs_ = operands.rhs;
    m_begin_ = m_begin;
    if (plan_.is_convolution) EnterImageRows(b.Div(m_begin, b.Index(plan_.conv.out_width)));

    const Value first_panel = b.Mul(n_block, b.Index(plan_.block_panels));
    const Value last_panel =
        b.Min(b.Add(first_panel, b.Index(plan_.block_panels)), b.Index(plan_.panels()));
    if (pairs_.is_cut()) {
      AddPieces(batch, count, first_panel, last_panel);
      return;
    }
    const Value whole = b.Mul(b.Div(count, b.Index(plan_.rows)), b.Index(plan_.rows));
    const Value packed_from = pairs_.lhs_in_place ? whole : b.Index(0);
    PackPairRows(b, pairs_, lhs_, m_begin_, packed_from, b.Sub(count, packed_from), rows_);
    b.For(first_panel, last_panel, 1, [&](Value panel) {
      const Value column = b.Mul(panel, b.Index(plan_.panel()));
      if (pairs_.rhs_packed) {
        // Pairs of bytes are half a word each in memory.
        panel_ = b.Offset(b.Buffer(parameters_.rhs), pairs_.widens ? DType::kS16 : DType::kS32,
                          b.Mul(panel, b.Index(pairs_.panel_words())));
      } else {
        PackPairPanel(b, pairs_, rhs_, column, panel_);
      }
      if (pairs_.adds_128()) BeginSums();
      b.For(b.Index(0), whole, plan_.rows, [&](Value first) {
        Multiply(pairs_.lhs_in_place ? InPlace(first) : Packed(first, 2), sums_);
        FinishRows(batch, first, b.Index(plan_.rows), sums_, column);
      });
      const Value left = b.Sub(count, whole);
      MultiplyRest(b.Sub(whole, packed_from), left, sums_);
      FinishRows(batch, whole, left, sums_, column);
    });
  }

  // Pieces of k one after the other, each of which packs the block's operands; the sums of the
  // whole block wait in memory, as [panel][row][columns].
  void AddPieces(Value batch, Value count, Value first_panel, Value last_panel) {
    loop::Builder& b = *b_;
    const Value lhs = lhs_, rhs = rhs_;
    const Dim panel_sums =
        CeilDiv(plan_.block_rows, plan_.rows) * Dim(plan_.rows) * Dim(plan_.panel());
    const auto sums_of = [&](Value panel, Value row) {
      const Value at = b.Mul(b.Sub(panel, first_panel), b.Index(panel_sums));
      return b.Offset(sums_, plan_.accumulator, b.Add(at, b.Mul(row, b.Index(plan_.panel()))));
    };
    b.Zero(sums_, b.Index(plan_.block_panels * panel_sums * Dim(4)));
    const Value whole = b.Mul(b.Div(count, b.Index(plan_.rows)), b.Index(plan_.rows));
    b.For(b.Index(0), b.Index(pairs_.pieces), 1, [&](Value piece) {
      lhs_ = b.Offset(lhs, plan_.dtype, b.Mul(piece, b.Index(pairs_.piece_lhs_stride)));
      rhs_ = b.Offset(rhs, plan_.dtype, b.Mul(piece, b.Index(pairs_.piece_rhs_stride)));
      PackPairRows(b, pairs_, lhs_, m_begin_, b.Index(0), count, rows_);
      b.For(first_panel, last_panel, 1, [&](Value panel) {
        PackPairPanel(b, pairs_, rhs_, b.Mul(panel, b.Index(plan_.panel())), panel_);
        b.For(b.Index(0), whole, plan_.rows,
              [&](Value first) { Multiply(Packed(first, 2), sums_of(panel, first)); });
        MultiplyRest(whole, b.Sub(count, whole), sums_of(panel, whole));
      });
    });
    b.For(first_panel, last_panel, 1, [&](Value panel) {
      FinishRows(batch, b.Index(0), count, sums_of(panel, b.Index(0)),
                 b.Mul(panel, b.Index(plan_.panel())));
    });
  }

  // The `left` rows behind whole pairs of tiles, from packed row `at` on.
  void MultiplyRest(Value at, Value left, Value sums) {
    loop::Builder& b = *b_;
    if (!pairs_.has_tiles) {
      const LeftRows rows = Packed(at, 1);
      MultiplyInVectors(rows, rows.begin[0], left, b.Index(0), sums);
      return;
    }
    b.If(
        b.Compare("gt", left, b.Index(pairs_.tile_rows)), [&] { Multiply(Packed(at, 2), sums); },
        [&] { b.If(b.Compare("gt", left, b.Index(0)), [&] { Multiply(Packed(at, 1), sums); }); });
  }

  // A block of a convolution begins at a whole output row, and copies the input rows that it reads
  // where they have padding.
  void EnterImageRows(Value out_row) {
    loop::Builder& b = *b_;
    const ConvolutionGeometry& g = plan_.conv;
    const Value in_row = b.Mul(out_row, b.Index(g.stride_h));
    if (g.padded()) {
      CopyPadded(b, plan_, in_row, lhs_, padded_input_);
      lhs_ = padded_input_;
    } else {
      lhs_ = b.Offset(lhs_, plan_.dtype, b.Mul(in_row, b.Index(g.width * Dim(g.channels))));
    }
  }

  LeftRows InPlace(Value first) {
    LeftRows rows;
    rows.packed = false;
    rows.dtype = plan_.dtype;
    rows.stride = b_->Index(pairs_.lhs_stride());
    for (int t = 0; t < 2; ++t) {
      const RowTile tile = {b_->Add(first, b_->Index(int64_t{t} * pairs_.tile_rows)), 1, 1, {}};
      const RowAddress address = RowAddresses(*b_, plan_, lhs_, m_begin_, tile)[0];
      rows.begin[t] = b_->Offset(address.pointer, plan_.dtype, b_->Index(address.displacement));
    }
    return rows;
  }

  // Rows from `first` on of those that the block has packed.
  LeftRows Packed(Value first, int tiles) {
    LeftRows rows;
    rows.tiles = tiles;
    rows.stride = b_->Index(pairs_.pitch());
    for (int t = 0; t < tiles; ++t) {
      const Value row = b_->Add(first, b_->Index(int64_t{t} * pairs_.tile_rows));
      rows.begin[t] = b_->Offset(rows_, DType::kS32, b_->Mul(row, rows.stride));
    }
    return rows;
  }

  // Leaves the sums at `sums`, as [row][columns]; adds to what is there where k is cut.
  void Multiply(const LeftRows& rows, Value sums) {
    if (pairs_.has_tiles) {
      MultiplyInTiles(rows, sums);
      return;
    }
    for (int t = 0; t < rows.tiles; ++t) {
      const Value tile_rows = b_->Index(pairs_.tile_rows);
      MultiplyInVectors(rows, rows.begin[t], tile_rows, b_->Mul(b_->Index(t), tile_rows), sums);
    }
  }

  // What 128 in each element of a row would add to the panel's columns, subtracted.
  void BeginSums() {
    loop::Builder& b = *b_;
    const Value zero = b.Splat(b.Int(DType::kS32, 0), kTileSide);
    const Value all_128 = b.Splat(b.Int(DType::kS32, INT32_C(-0x7f7f7f80)), kTileSide);
    std::vector<Value> sums(plan_.vectors, zero);
    sums = b.For(b.Index(0), b.Index(pairs_.words), 1, std::move(sums),
                 [&](Value word, absl::Span<const Value> carried) {
                   std::vector<Value> next;
                   for (int c = 0; c < plan_.vectors; ++c) {
                     const Value index = b.Add(b.Mul(word, b.Index(plan_.panel())),
                                               b.Index(int64_t{c} * kTileSide));
                     const Value right = b.Load(panel_, DType::kS32, index, kTileSide);
                     next.push_back(b.DotBytes(all_128, right, carried[c]));
                   }
                   return next;
                 });
    for (int c = 0; c < plan_.vectors; ++c) {
      b.Store(first_sums_, b.Index(int64_t{c} * kTileSide), b.Sub(zero, sums[c]));
    }
  }

  int64_t PlaceOfTile(int row, int column) const {
    return int64_t{row} * pairs_.tile_rows * plan_.panel() + int64_t{column} * kTileSide;
  }

  void MultiplyInTiles(const LeftRows& rows, Value sums) {
    loop::Builder& b = *b_;
    const int columns = plan_.vectors;
    const Value panel_stride = b.Index(plan_.panel());
    for (int r = 0; r < rows.tiles; ++r) {
      for (int c = 0; c < columns; ++c) {
        if (pairs_.is_cut()) {
          b.LoadTile(2 * r + c, sums, plan_.accumulator, b.Index(PlaceOfTile(r, c)), panel_stride);
        } else {
          b.ZeroTile(2 * r + c);
        }
      }
    }
    const DType dtype = pairs_.splits_f32 ? DType::kBF16 : plan_.lhs_dtype;
    const auto load_right = [&](Value word) {
      for (int c = 0; c < columns; ++c) {
        const Value index = b.Add(b.Mul(word, panel_stride), b.Index(int64_t{c} * kTileSide));
        b.LoadTile(kRightTile + c, panel_, DType::kS32, index, panel_stride);
      }
    };
    const auto multiply = [&](Value at) {
      for (int r = 0; r < rows.tiles; ++r) {
        b.LoadTile(kLeftTile + r, rows.begin[r], rows.dtype, at, rows.stride);
        for (int c = 0; c < columns; ++c) {
          b.MultiplyTiles(2 * r + c, kLeftTile + r, kRightTile + c, dtype);
        }
      }
    };
    ForEachStep(rows, [&](Value at, Value word) {
      load_right(word);
      if (pairs_.splits_f32) multiply(b.Add(at, b.Index(pairs_.half_pitch())));
      multiply(at);
      if (!pairs_.splits_f32) return;
      load_right(b.Add(word, b.Index(pairs_.words)));
      multiply(at);
    });
    for (int r = 0; r < rows.tiles; ++r) {
      for (int c = 0; c < columns; ++c) {
        b.StoreTile(2 * r + c, sums, plan_.accumulator, b.Index(PlaceOfTile(r, c)), panel_stride);
      }
    }
  }

  // Steps of k: body(offset in each row, first word of the panel).
  void ForEachStep(const LeftRows& rows, const std::function<void(Value, Value)>& body) {
    loop::Builder& b = *b_;
    if (rows.packed) {
      b.For(b.Index(0), b.Index(pairs_.words), pairs_.step_words,
            [&](Value word) { body(word, word); });
      return;
    }
    StepsInPlace(0, b.Index(0), b.Index(0), body);
  }

  void StepsInPlace(size_t depth, Value offset, Value word,
                    const std::function<void(Value, Value)>& body) {
    loop::Builder& b = *b_;
    const AddressLoop& loop = plan_.k_loops[depth];
    if (depth + 1 == plan_.k_loops.size()) {
      b.For(b.Index(0), b.Index(pairs_.run_words), pairs_.step_words,
            [&](Value i) { body(b.Add(offset, b.Mul(i, b.Index(pairs_.word))), b.Add(word, i)); });
      return;
    }
    Dim words = pairs_.run_words;
    for (size_t i = depth + 1; i + 1 < plan_.k_loops.size(); ++i) {
      words = words * plan_.k_loops[i].trips;
    }
    b.For(b.Index(0), b.Index(loop.trips), 1, [&](Value i) {
      StepsInPlace(depth + 1, b.Add(offset, b.Mul(i, b.Index(loop.lhs_stride))),
                   b.Add(word, b.Mul(i, b.Index(words))), body);
    });
  }

  // A vector of the panel's columns from word `index` on: words, or the pairs of s16 that its bytes
  // stand for.
  Value RightWords(Value index) {
    loop::Builder& b = *b_;
    if (!pairs_.widens) return b.Load(panel_, DType::kS32, index, plan_.lanes);
    const Value bytes = b.Load(panel_, DType::kS8, b.Mul(index, b.Index(2)), 2 * plan_.lanes);
    return b.Convert(bytes, DType::kS16);
  }

  Value AddProducts(Value left, Value right, Value sum) {
    if (pairs_.widens) return b_->DotShorts(left, right, sum);
    return plan_.dtype == DType::kS8 ? b_->DotBytes(left, right, sum)
                                     : b_->DotPairs(left, right, sum);
  }

  // What a sum begins with that goes to `place` of `to`, in the panel's vector `column`.
  Value FirstSum(Value to, Value place, int column) {
    loop::Builder& b = *b_;
    if (pairs_.is_cut()) return b.Load(to, DType::kF32, place, plan_.lanes);
    if (pairs_.adds_128()) {
      return b.Load(first_sums_, DType::kS32, b.Index(int64_t{column} * plan_.lanes), plan_.lanes);
    }
    const bool is_bytes = plan_.dtype == DType::kS8;
    return b.Splat(is_bytes ? b.Int(DType::kS32, 0) : b.Float(DType::kF32, 0), plan_.lanes);
  }

  // The sums of `count` rows that begin at `begin_of_rows`, to rows `first_row` and so on of `to`.
  void MultiplyInVectors(const LeftRows& rows, Value begin_of_rows, Value count, Value first_row,
                         Value to) {
    loop::Builder& b = *b_;
    const int columns = plan_.vectors, vector_rows = VectorRows(pairs_);
    b.For(b.Index(0), count, vector_rows, [&](Value row) {
      const Value begin = b.Offset(begin_of_rows, rows.dtype, b.Mul(row, rows.stride));
      const auto place_of = [&](int r, int c) {
        const Value of_row = b.Add(b.Add(row, first_row), b.Index(r));
        return b.Add(b.Mul(of_row, b.Index(plan_.panel())), b.Index(int64_t{c} * plan_.lanes));
      };
      std::vector<Value> sums;
      for (int r = 0; r < vector_rows; ++r) {
        for (int c = 0; c < columns; ++c) sums.push_back(FirstSum(to, place_of(r, c), c));
      }
      sums = Words(rows, std::move(sums), [&](Value at, Value word, std::vector<Value> sums) {
        std::vector<Value> right;
        for (int c = 0; c < columns; ++c) {
          right.push_back(RightWords(
              b.Add(b.Mul(word, b.Index(plan_.panel())), b.Index(int64_t{c} * plan_.lanes))));
        }
        for (int r = 0; r < vector_rows; ++r) {
          const Value place =
              b.Offset(begin, rows.dtype, b.Add(at, b.Mul(b.Index(r), rows.stride)));
          const Value left = b.Splat(b.Load(place, DType::kS32, b.Index(0)), plan_.lanes);
          for (int c = 0; c < columns; ++c) {
            Value& sum = sums[static_cast<size_t>(r) * columns + c];
            sum = AddProducts(left, right[c], sum);
          }
        }
        return sums;
      });
      for (int r = 0; r < vector_rows; ++r) {
        for (int c = 0; c < columns; ++c) {
          b.Store(to, place_of(r, c), sums[static_cast<size_t>(r) * columns + c]);
        }
      }
    });
  }

  // Words of k one by one, with carried sums: body(offset in each row, word of the panel, sums).
  std::vector<Value> Words(
      const LeftRows& rows, std::vector<Value> sums,
      const std::function<std::vector<Value>(Value, Value, std::vector<Value>)>& body) {
    loop::Builder& b = *b_;
    if (rows.packed) {
      return b.For(b.Index(0), b.Index(pairs_.words), 1, std::move(sums),
                   [&](Value word, absl::Span<const Value> carried) {
                     return body(word, word, {carried.begin(), carried.end()});
                   });
    }
    return WordsInPlace(0, b.Index(0), b.Index(0), std::move(sums), body);
  }

  std::vector<Value> WordsInPlace(
      size_t depth, Value offset, Value word, std::vector<Value> sums,
      const std::function<std::vector<Value>(Value, Value, std::vector<Value>)>& body) {
    loop::Builder& b = *b_;
    const AddressLoop& loop = plan_.k_loops[depth];
    if (depth + 1 == plan_.k_loops.size()) {
      return b.For(b.Index(0), b.Index(pairs_.run_words), 1, std::move(sums),
                   [&](Value i, absl::Span<const Value> carried) {
                     return body(b.Add(offset, b.Mul(i, b.Index(pairs_.word))), b.Add(word, i),
                                 {carried.begin(), carried.end()});
                   });
    }
    Dim words = pairs_.run_words;
    for (size_t i = depth + 1; i + 1 < plan_.k_loops.size(); ++i) {
      words = words * plan_.k_loops[i].trips;
    }
    return b.For(b.Index(0), b.Index(loop.trips), 1, std::move(sums),
                 [&](Value i, absl::Span<const Value> carried) {
                   return WordsInPlace(depth + 1, b.Add(offset, b.Mul(i, b.Index(loop.lhs_stride))),
                                       b.Add(word, b.Mul(i, b.Index(words))),
                                       {carried.begin(), carried.end()}, body);
                 });
  }

  // The epilogue of `count` rows of the block from `first` on, whose sums begin at `sums`.
  void FinishRows(Value batch, Value first, Value count, Value sums, Value column) {
    loop::Builder& b = *b_;
    const Value whole = b.Mul(b.Div(count, b.Index(kEpilogueRows)), b.Index(kEpilogueRows));
    b.For(b.Index(0), whole, kEpilogueRows,
          [&](Value row) { Finish(batch, b.Add(first, row), kEpilogueRows, sums, row, column); });
    b.For(whole, count, 1,
          [&](Value row) { Finish(batch, b.Add(first, row), 1, sums, row, column); });
  }

  void Finish(Value batch, Value row, int count, Value sums, Value sums_row, Value column) {
    loop::Builder& b = *b_;
    std::vector<Value> of_rows;
    for (int r = 0; r < count; ++r) {
      for (int c = 0; c < plan_.vectors; ++c) {
        const Value index = b.Add(b.Mul(b.Add(sums_row, b.Index(r)), b.Index(plan_.panel())),
                                  b.Index(int64_t{c} * plan_.lanes));
        of_rows.push_back(b.Load(sums, plan_.accumulator, index, plan_.lanes));
      }
    }
    const RowTile tile = {b.Add(m_begin_, row), count, count, {}};
    const absl::Status status = epilogue_.Emit(b, batch, tile, column, of_rows);
    if (status_.ok()) status_ = status;
  }

  const ir::Graph& region_;
  const PairTiling pairs_;
  const ContractionTiling& plan_;
  loop::Builder* b_ = nullptr;
  absl::Status status_;
  Epilogue epilogue_;
  OperandParameters parameters_;
  Value padded_input_, rows_, panel_, sums_;
  Value first_sums_;           // of a panel's columns, see BeginSums
  Value lhs_, rhs_, m_begin_;  // of the current block
};

}  // namespace

absl::StatusOr<ContractionCode> CodeForPairs(const Node& fusion, const target::Schedule& schedule,
                                             const Target& target) {
  TEKTITE_ASSIGN_OR_RETURN(
      PairTiling plan,
      TilePairs(fusion, ViewContraction(fusion, target, HasPairs(fusion)), &schedule, target));
  auto emitter = std::make_shared<PairEmitter>(fusion, std::move(plan));
  return ContractionCode{emitter->num_chunks(), emitter->cost(),
                         [emitter](loop::Builder& b) { return emitter->Emit(b); }};
}

}  // namespace tektite::cpu
