// Contractions as register tiles: a tile of rows x vectors accumulators runs through k with a
// broadcast per row and a panel row of vectors per step, then the epilogue works on the
// accumulators and stores.  contraction_tiling.h says which operands are read, in which order, and
// in which blocks.

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "backends/cpu/contraction/block_sums.h"
#include "backends/cpu/contraction/contraction_blocks.h"
#include "backends/cpu/contraction/contraction_code.h"
#include "backends/cpu/contraction/contraction_tiles.h"
#include "backends/cpu/contraction/contraction_tiling.h"
#include "backends/cpu/contraction/epilogue.h"
#include "backends/cpu/contraction/operands.h"
#include "backends/cpu/contraction/packing/packed_rows.h"
#include "backends/cpu/contraction/packing/packing_tile.h"
#include "backends/cpu/contraction/packing/panel_packing.h"
#include "backends/cpu/contraction/packing/panel_prefetch.h"
#include "backends/cpu/contraction/packing/tile_prefetch.h"
#include "backends/cpu/contraction/row_addresses.h"
#include "backends/cpu/contraction/row_tiles.h"
#include "backends/cpu/contraction/tile_step.h"
#include "backends/cpu/emit/emitter.h"
#include "backends/cpu/emit/names.h"
#include "backends/cpu/loops/long_sum.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"

namespace tektite::cpu {
namespace {

class ContractionEmitter {
 public:
  ContractionEmitter(const Node& fusion, ContractionTiling plan, const Target& target)
      : region_(fusion.region()),
        plan_(std::move(plan)),
        shared_(SharesLastVector(plan_)),
        fetches_panels_(FetchesPanels(plan_, target)),
        first_tile_packs_(FirstTilePacks(plan_)),
        l2_bytes_(target.l2_bytes),
        row_prefetch_(plan_, target) {}

  Dim cost() const { return plan_.cost; }
  Dim num_chunks() const { return BlocksOf(plan_); }

  absl::Status Emit(loop::Builder& b) {
    TEKTITE_ASSIGN_OR_RETURN(parameters_, ParametersOf(*plan_.root));
    b_ = &b;
    padded_input_ = AllocatePaddedInput(b, plan_);
    if (plan_.rhs == RhsMode::kPackInKernel) {
      const Dim rows = plan_.packed_rows ? plan_.k_loops.back().trips * plan_.block_panels
                                         : plan_.k + Dim(plan_.lanes);
      panel_ = b.AllocateScratch(plan_.dtype, rows * Dim(plan_.panel()));
    }
    if (plan_.packed_rows) {
      rows_ = b.AllocateScratch(plan_.dtype, plan_.block_rows * plan_.k_loops.back().trips);
    }
    if (plan_.blocked_k_loops > 0) {
      sums_ = BlockSums(b, plan_, num_pieces(), plan_.packed_rows ? plan_.block_panels : Dim(1));
    }
    k_blocks_ = BlocksOfSums(plan_, plan_.blocked_k_loops);
    cascade_ = SumCascade(&b, plan_.accumulator, plan_.lanes, int64_t{plan_.rows} * plan_.vectors,
                          k_blocks_.count);
    TEKTITE_ASSIGN_OR_RETURN(epilogue_, Epilogue::Create(region_, plan_));
    epilogue_prefetch_ = EpiloguePrefetch(&epilogue_, plan_, l2_bytes_);
    piece_prefetch_ = PiecePrefetch(plan_);
    ForEachBlock(b, plan_, [this](Value batch, Value m_block, Value n_block) {
      EmitBlock(batch, m_block, n_block);
    });
    return status_;
  }

 private:
  // Vectors that a row has for itself.
  int OwnVectors() const { return plan_.vectors - (shared_ ? 1 : 0); }

  void EmitBlock(Value batch, Value m_block, Value n_block) {
    loop::Builder& b = *b_;
    Value m_begin = b.Mul(m_block, b.Index(plan_.block_rows));
    const BatchOperands operands = OperandsOf(b, plan_, parameters_, batch);
    lhs_ = operands.lhs;
    rhs_ = operands.rhs;
    block_begin_ = m_begin;
    if (plan_.is_convolution) EnterConvolutionBlock(m_begin, operands.index.back());

    Value first_panel = b.Mul(n_block, b.Index(plan_.block_panels));
    Value last_panel =
        b.Min(b.Add(first_panel, b.Index(plan_.block_panels)), b.Index(plan_.panels()));
    if (plan_.packed_rows) return EmitPackedRows(batch, m_block, first_panel, last_panel);
    b.For(first_panel, last_panel, 1, [&](Value panel) { EmitPanel(batch, m_block, panel); });
  }

  // Rows of a convolution block start at a whole output row; its input rows are copied with their
  // padding when there is any.
  void EnterConvolutionBlock(Value m_begin, Value out_slice) {
    loop::Builder& b = *b_;
    const ConvolutionGeometry& g = plan_.conv;
    Value out_row = b.Div(m_begin, b.Index(g.out_width));
    Value in_row = b.Mul(out_row, b.Index(g.stride_h));
    if (!g.padded()) {
      lhs_ = b.Offset(lhs_, plan_.dtype, b.Mul(in_row, b.Index(g.width * Dim(g.channels))));
      return;
    }
    if (g.reads_one_slice()) {
      CopyPadded(b, plan_, in_row, lhs_, padded_input_);
    } else {
      const Dim slice = g.input_rows(plan_.image_rows) * g.padded_width() * Dim(g.channels);
      Value first = b.Sub(b.Mul(out_slice, b.Index(g.stride_d)), b.Index(g.pad_front));
      b.For(b.Index(0), b.Index(g.kernel_depth), 1, [&](Value d) {
        Value step = b.Sub(b.Mul(d, b.Index(g.dilation_d)), b.Index(g.pad_front));
        Value source = b.Add(first, b.Mul(d, b.Index(g.dilation_d)));
        Value to = b.Offset(padded_input_, plan_.dtype, b.Mul(d, b.Index(slice)));
        Value inside =
            b.And(b.Compare("ge", source, b.Index(0)), b.Compare("lt", source, b.Index(g.depth)));
        b.If(
            inside,
            [&] {
              CopyPadded(b, plan_, in_row,
                         b.Offset(lhs_, plan_.dtype, b.Mul(step, b.Index(g.slice()))), to);
            },
            [&] { b.Zero(to, b.Index(slice * Dim(ir::DTypeBytes(plan_.dtype)))); });
      });
    }
    lhs_ = padded_input_;
  }

  // Pieces of k outermost, so that a piece of rows is packed once for all panels.
  void EmitPackedRows(Value batch, Value m_block, Value first_panel, Value last_panel) {
    loop::Builder& b = *b_;
    const Value m_begin = b.Mul(m_block, b.Index(plan_.block_rows));
    const Value m_count = CountRows(m_begin);
    const Value panels = panel_;
    const Dim elements = plan_.k_loops.back().trips * Dim(plan_.panel());
    const auto for_each_panel = [&](const std::function<void(Value, Value)>& body) {
      b.For(first_panel, last_panel, 1, [&](Value panel) {
        const Value place = b.Sub(panel, first_panel);
        sums_.Enter(place);
        panel_ = b.Offset(panels, plan_.dtype, b.Mul(place, b.Index(elements)));
        body(panel, b.Mul(panel, b.Index(plan_.panel())));
      });
    };
    for_each_panel([&](Value, Value) { sums_.Zero(); });
    BlockedLoops(0, b.Index(0), b.Index(0), b.Index(0), [&](Value lhs, Value rhs, Value piece) {
      PackRows(b, plan_, {m_count, plan_.rows, plan_.m, plan_.block_rows},
               b.Offset(lhs_, plan_.dtype, b.Add(lhs, m_begin)), rows_);
      PackPanels(b, plan_, b.Offset(rhs_, plan_.dtype, rhs), first_panel, last_panel, panels);
      const Value next = b.Add(rhs, b.Index(plan_.k_loops.front().rhs_stride));
      for_each_panel([&](Value panel, Value column) {
        if (fetches_panels_) {
          next_panel_ = PanelPrefetch(b, plan_, b.Offset(rhs_, plan_.dtype, next), column);
        }
        AddPiece(m_count, panel, column, b.Index(0), b.Index(0), piece);
        next_panel_ = {};
      });
    });
    for_each_panel([&](Value, Value column) { FinishSums(batch, m_begin, m_count, column); });
    panel_ = panels;
  }

  Value CountRows(Value m_begin) {
    return b_->Min(b_->Sub(b_->Index(plan_.m), m_begin), b_->Index(plan_.block_rows));
  }
  BlockSums::ForEachTile TilesOf(Value m_count) {
    return [this, m_count](const std::function<void(const RowTile&)>& body) {
      ForEachTileOfBlock(m_count, body);
    };
  }
  // Piece number `piece` of k, at the offsets.
  void AddPiece(Value m_count, Value panel, Value column, Value lhs_offset, Value rhs_offset,
                Value piece) {
    ForEachTileOfBlock(m_count, [&](const RowTile& tile) {
      sums_.Add(tile, Accumulate(tile, panel, column, lhs_offset, rhs_offset));
    });
    sums_.EndPiece(piece, TilesOf(m_count));
  }
  void FinishSums(Value batch, Value m_begin, Value m_count, Value column) {
    sums_.EndPieces(TilesOf(m_count));
    ForEachTileOfBlock(m_count, [&](const RowTile& tile) {
      Finish(batch, m_begin, tile, column, sums_.Total(tile));
    });
  }

  void EmitPanel(Value batch, Value m_block, Value panel) {
    loop::Builder& b = *b_;
    Value column = b.Mul(panel, b.Index(plan_.panel()));
    if (plan_.rhs == RhsMode::kPackInKernel && !first_tile_packs_) {
      PackPanel(b, plan_, rhs_, column, panel_);
    }
    if (fetches_panels_ && !first_tile_packs_) {
      next_panel_ = PanelPrefetch(b, plan_, rhs_, b.Add(column, b.Index(plan_.panel())));
    }
    Value m_begin = b.Mul(m_block, b.Index(plan_.block_rows));
    Value m_count = CountRows(m_begin);
    if (plan_.blocked_k_loops > 0) {
      sums_.Zero();
      BlockedLoops(0, b.Index(0), b.Index(0), b.Index(0),
                   [&](Value lhs_offset, Value rhs_offset, Value piece) {
                     AddPiece(m_count, panel, column, lhs_offset, rhs_offset, piece);
                   });
      return FinishSums(batch, m_begin, m_count, column);
    }
    ForEachTileOfBlock(m_count, [&](const RowTile& tile) {
      RowTile of_batch = tile;
      of_batch.first = b.Add(m_begin, tile.first);
      epilogue_prefetch_.EnterTile(b, batch, of_batch, column);
      std::vector<Value> acc = Accumulate(tile, panel, column, b.Index(0), b.Index(0));
      if (shared_) acc = SeparatedRows(b, plan_, tile.rows, acc);
      Finish(batch, m_begin, tile, column, std::move(acc));
    });
  }

  // The leading k loops, outside the tiles: body(lhs offset, rhs offset, number of the piece).
  void BlockedLoops(int depth, Value lhs_offset, Value rhs_offset, Value piece,
                    const std::function<void(Value, Value, Value)>& body) {
    loop::Builder& b = *b_;
    if (depth == plan_.blocked_k_loops) return body(lhs_offset, rhs_offset, piece);
    const AddressLoop& loop = plan_.k_loops[depth];
    b.For(b.Index(0), b.Index(loop.trips), 1, [&](Value i) {
      BlockedLoops(depth + 1, b.Add(lhs_offset, b.Mul(i, b.Index(loop.lhs_stride))),
                   b.Add(rhs_offset, b.Mul(i, b.Index(RhsStride(loop)))),
                   b.Add(b.Mul(piece, b.Index(loop.trips)), i), body);
    });
  }
  Dim num_pieces() const {
    Dim pieces(1);
    for (int i = 0; i < plan_.blocked_k_loops; ++i) pieces = pieces * plan_.k_loops[i].trips;
    return pieces;
  }

  void ForEachTileOfBlock(Value m_count, const std::function<void(const RowTile&)>& body) {
    ForEachTile(*b_, {m_count, plan_.rows, plan_.m, plan_.block_rows}, body);
  }

  std::vector<Value> Zeros(int rows) {
    Value zero = b_->Splat(b_->Constant(plan_.accumulator, 0), plan_.lanes);
    const int shared = shared_ ? (rows + 1) / 2 : 0;
    return std::vector<Value>(static_cast<size_t>(rows) * OwnVectors() + shared, zero);
  }

  Dim RhsStride(const AddressLoop& loop) const {
    switch (plan_.rhs) {
      case RhsMode::kRowMajor:
        return loop.rhs_stride;
      case RhsMode::kPacked:
        return loop.rhs_stride * Dim(plan_.panel());
      case RhsMode::kPackInKernel:
        if (plan_.packed_rows && &loop != &plan_.k_loops.back()) return loop.rhs_stride;
        break;
    }
    // Panels made in the kernel follow k in one sweep.
    Dim stride(plan_.panel());
    for (size_t i = plan_.k_loops.size(); i-- > 0;) {
      if (&plan_.k_loops[i] == &loop) break;
      stride = stride * plan_.k_loops[i].trips;
    }
    return stride;
  }

  // Runs the k loops inside the tile.
  std::vector<Value> Accumulate(const RowTile& tile, Value panel, Value column, Value lhs_offset,
                                Value rhs_offset) {
    loop::Builder& b = *b_;
    prefetch_tile_ = b.Div(tile.first, b.Index(plan_.rows));
    // More tiles than expected fetch the same bytes again, and nothing beyond them.
    if (piece_prefetch_.tiles() > 0 && !plan_.m.is_constant()) {
      prefetch_tile_ = b.Rem(prefetch_tile_, b.Index(piece_prefetch_.tiles()));
    }
    row_prefetch_.EnterTile(b, plan_, lhs_,
                            plan_.is_convolution ? tile.first : b.Add(block_begin_, tile.first));
    Value rhs;
    std::vector<Value> masks(plan_.vectors);
    switch (plan_.rhs) {
      case RhsMode::kPacked:
        rhs = b.Offset(rhs_, plan_.dtype, b.Mul(panel, b.Index(plan_.k * Dim(plan_.panel()))));
        break;
      case RhsMode::kPackInKernel:
        rhs = panel_;
        break;
      case RhsMode::kRowMajor:
        rhs = b.Offset(rhs_, plan_.dtype, column);
        masks = epilogue_.ColumnMasks(b, column);
        break;
    }
    const TileStep step(b, plan_, RowsOf(tile), rhs, masks);
    packing_.reset();
    // Chunks have a whole tile each, which is the first one.
    if (first_tile_packs_ && tile.rows == plan_.rows) {
      packing_.emplace(b, plan_, rhs_, column, rhs, epilogue_.ColumnMasks(b, column));
    }
    return cascade_.Total(
        Nest(plan_.blocked_k_loops, lhs_offset, rhs_offset, b.Index(0), Zeros(tile.rows), step));
  }

  std::vector<RowAddress> RowsOf(const RowTile& tile) {
    if (!plan_.packed_rows) return RowAddresses(*b_, plan_, lhs_, block_begin_, tile);
    const Value piece = b_->Index(plan_.k_loops.back().trips);
    const Value pointer = b_->Offset(rows_, plan_.dtype, b_->Mul(tile.first, piece));
    std::vector<RowAddress> rows;
    for (int r = 0; r < tile.rows; ++r) rows.push_back({pointer, r});
    return rows;
  }

  // `block`: the number of the block of sums, as far as outer loops tell.
  std::vector<Value> Nest(size_t depth, Value lhs_offset, Value rhs_offset, Value block,
                          std::vector<Value> acc, const TileStep& step) {
    loop::Builder& b = *b_;
    if (plan_.k == Dim(0)) return acc;
    if (depth >= plan_.k_loops.size()) {
      step.One(lhs_offset, rhs_offset, acc.data());
      return acc;
    }
    const AddressLoop& loop = plan_.k_loops[depth];
    const Dim rhs_stride = RhsStride(loop);
    auto at = [&](Value i) {
      return std::pair(b.Add(lhs_offset, b.Mul(i, b.Index(loop.lhs_stride))),
                       b.Add(rhs_offset, b.Mul(i, b.Index(rhs_stride))));
    };
    const bool is_last = depth + 1 == plan_.k_loops.size();
    auto part = [&](Value begin, Value end, Value number, std::vector<Value> sums) {
      if (is_last) return Innermost(loop, begin, end, at, std::move(sums), step);
      return b.For(begin, end, 1, std::move(sums), [&](Value i, absl::Span<const Value> carried) {
        auto [l, r] = at(i);
        const Value inner = b.Add(b.Mul(number, b.Index(loop.trips)), i);
        return Nest(depth + 1, l, r, inner, {carried.begin(), carried.end()}, step);
      });
    };
    if (static_cast<int>(depth) != k_blocks_.depth) {
      return part(b.Index(0), b.Index(loop.trips), block, std::move(acc));
    }
    const Dim blocks = k_blocks_.per_loop(plan_);
    const Value trips = b.Index(k_blocks_.trips), all = b.Index(loop.trips);
    return b.For(b.Index(0), b.Index(blocks), 1, std::move(acc),
                 [&](Value i, absl::Span<const Value> carried) {
                   const Value begin = b.Mul(i, trips), end = b.Min(b.Add(begin, trips), all);
                   const Value number = b.Add(b.Mul(block, b.Index(blocks)), i);
                   return cascade_.EndBlock(
                       number, part(begin, end, number, {carried.begin(), carried.end()}));
                 });
  }

  // Whole numbers of steps: body(first of them, sums, which it adds to).
  std::vector<Value> ForSteps(Value begin, Value end, int64_t steps, std::vector<Value> acc,
                              const std::function<void(Value, std::vector<Value>&)>& body) {
    return b_->For(begin, end, steps, std::move(acc),
                   [&](Value i, absl::Span<const Value> carried) {
                     std::vector<Value> sums(carried.begin(), carried.end());
                     body(i, sums);
                     row_prefetch_.Emit(*b_, plan_, i, steps);
                     epilogue_prefetch_.Emit(*b_, plan_, i, steps);
                     return sums;
                   });
  }

  // Steps [begin, end) of the last k loop; `begin` is a multiple of KBlocks::kMultiple.
  std::vector<Value> Innermost(const AddressLoop& loop, Value begin, Value end,
                               const std::function<std::pair<Value, Value>(Value)>& at,
                               std::vector<Value> acc, const TileStep& step) {
    loop::Builder& b = *b_;
    // Interleaved partial sums when one step has too few independent operations.
    const size_t size = acc.size();
    int copies = 1;
    while (step.products() * copies < kEnoughAccumulators &&
           loop.trips.value_or(0) % (copies * 2) == 0) {
      copies *= 2;
    }
    std::vector<Value> zero(size, b.Splat(b.Constant(plan_.accumulator, 0), plan_.lanes));
    for (int c = 1; c < copies; ++c) acc.insert(acc.end(), zero.begin(), zero.end());
    int unroll = 1;
    for (int u : {4, 3, 2}) {
      const int64_t trips = loop.trips.value_or(copies * u * 2) / copies;
      if (trips % u == 0 && trips > u) {
        unroll = u;
        break;
      }
    }
    const int64_t steps = static_cast<int64_t>(copies) * unroll;
    const Value whole =
        b.Sub(end, Mod(loop.trips, steps) == Dim(0) ? b.Index(0) : b.Rem(end, b.Index(steps)));
    const auto sums_of = [&](std::vector<Value>& sums, int64_t s) {
      return &sums[(s % copies) * size];
    };
    if (packing_.has_value()) {
      const Value is_first = b.Compare("eq", prefetch_tile_, b.Index(0));
      const Value packed = b.Select(is_first, whole, begin);
      acc = ForSteps(begin, packed, steps, std::move(acc), [&](Value i, std::vector<Value>& sums) {
        for (int64_t s = 0; s < steps; ++s) {
          const Value k = b.Add(i, b.Index(s));
          const auto [l, r] = at(k);
          step.WithColumns(l, packing_->PanelRow(k, r), sums_of(sums, s));
        }
        if (fetches_panels_) packing_->Fetch(i, steps);
      });
      begin = packed;
    }
    acc = ForSteps(begin, whole, steps, std::move(acc), [&](Value i, std::vector<Value>& sums) {
      const auto k = [&](int64_t s) { return at(b.Add(i, b.Index(s))); };
      if (plan_.reads_pairs && steps % 2 == 0) {
        for (int64_t s = 0; s < steps; s += 2) {
          step.Two(k(s).first, {k(s).second, k(s + 1).second},
                   {sums_of(sums, s), sums_of(sums, s + 1)});
        }
      } else {
        for (int64_t s = 0; s < steps; ++s) step.One(k(s).first, k(s).second, sums_of(sums, s));
      }
      piece_prefetch_.Emit(b, plan_, prefetch_tile_, {step.rhs(), at(i).second}, steps);
      next_panel_.Emit(prefetch_tile_, i, steps);
    });
    for (int c = copies; c > 1; c /= 2) {
      for (size_t i = 0; i < size * c / 2; ++i) acc[i] = b.Add(acc[i], acc[i + size * c / 2]);
    }
    acc.resize(size);
    // The remainder of an unknown number of trips.
    return b.For(whole, end, 1, std::move(acc), [&](Value i, absl::Span<const Value> carried) {
      std::vector<Value> sums(carried.begin(), carried.end());
      step.One(at(i).first, at(i).second, sums.data());
      return sums;
    });
  }

  void Finish(Value batch, Value m_begin, RowTile tile, Value column,
              const std::vector<Value>& acc) {
    tile.first = b_->Add(m_begin, tile.first);
    absl::Status status = epilogue_.Emit(*b_, batch, tile, column, acc);
    if (status_.ok()) status_ = status;
  }

  const ir::Graph& region_;
  const ContractionTiling plan_;
  const bool shared_;  // see SharesLastVector
  const bool fetches_panels_, first_tile_packs_;
  const int64_t l2_bytes_;
  loop::Builder* b_ = nullptr;
  absl::Status status_;
  Epilogue epilogue_;
  OperandParameters parameters_;
  Value padded_input_, panel_, rows_;
  Value lhs_, rhs_, block_begin_;  // of the current block
  Value prefetch_tile_;            // of the current tile: its number within the block
  PiecePrefetch piece_prefetch_;
  RowPrefetch row_prefetch_;
  EpiloguePrefetch epilogue_prefetch_;
  BlockSums sums_;
  PanelPrefetch next_panel_;
  std::optional<PackingTile> packing_;  // of the current tile
  KBlocks k_blocks_;
  SumCascade cascade_;
};

}  // namespace

absl::StatusOr<ContractionCode> CodeForTiles(const Node& fusion, const target::Schedule& schedule,
                                             const Target& target) {
  TEKTITE_ASSIGN_OR_RETURN(ContractionTiling plan, TileContraction(fusion, schedule, target));
  auto emitter = std::make_shared<ContractionEmitter>(fusion, std::move(plan), target);
  return ContractionCode{emitter->num_chunks(), emitter->cost(),
                         [emitter](loop::Builder& b) { return emitter->Emit(b); }};
}

}  // namespace tektite::cpu
