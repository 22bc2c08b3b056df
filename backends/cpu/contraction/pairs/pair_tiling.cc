#include "backends/cpu/contraction/pairs/pair_tiling.h"

#include <algorithm>
#include <utility>

#include "backends/cpu/contraction/contraction_tiles.h"
#include "backends/cpu/emit/chunking.h"
#include "backends/cpu/emit/names.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"
#include "jit/ops/ops.h"

namespace tektite::cpu {
namespace {

// Fewer rows do not pay for packing the columns, but for those of bytes in tiles, whose columns are
// weights: 36 products of [1,768] and [768,3072] took 0.54 of the time that streamed sums take
// (Xeon with AMX, one thread).  Fewer columns, or a shorter k, leave most of a tile empty.
constexpr int64_t kFewestRows = 6, kFewestColumns = 8, kShortestK = 8;
// Of numbers that are split first: [12544, 16] x [16, 96] took 1.34 times as long as in f32,
// [3136, 24] x [24, 144] 1.05 and [784, 32] x [32, 192] 0.71.
constexpr int64_t kFewestColumnsOfHalves = 32, kShortestKOfHalves = 32;
// Fewest panels that meet rows which a chunk has split: [784, 256] x [256, 512] took 1.0 ms, as in
// f32, where each of many chunks split the same rows, and 0.5 ms in one.  ResNet50 and BERT-base
// are within 5 % with 12 and with 32.
constexpr int64_t kPanelsOfHalves = 12;
// Rows of a tile that is read in place.
constexpr int kFewestInPlace = 7, kFewestInVectors = 5;
// Rows whose sums are vector registers.
constexpr int kMostVectorRows = 8;
// Of k whose rows are packed; beyond kMostWords a block of them would not stay in L2.
constexpr int64_t kWordsOfPiece = 1024, kMostWords = 4096;
// Rows this far apart fall into one set of L1 each.
constexpr int64_t kAliasBytes = 4096;
// Products of s16 in the time of one of f32: two, and the addition that is an instruction of its
// own.
constexpr double kWidenedGain = 1.4;
// Cycles for an element of a panel that is packed, by `bench/kernels`.
constexpr double kPackingCycles = 0.07, kSplittingCycles = 0.5;

Dim Clamp(const Dim& d, const Dim& least, const Dim& most) { return Max(Min(d, most), least); }

// Trips of the outermost loop that make a piece of about kWordsOfPiece; 0: k stays whole.
int64_t ChoosePiece(const ContractionTiling& c) {
  const AddressLoop& outer = c.k_loops.front();
  const bool is_run = c.k_loops.size() == 1;
  if (!outer.trips.is_constant()) return is_run ? 0 : 1;
  int64_t inner = 1;  // words of a trip
  for (size_t i = 1; i < c.k_loops.size(); ++i) {
    const int64_t trips = c.k_loops[i].trips.value_or(4 * kWordsOfPiece);
    inner *= i + 1 == c.k_loops.size() ? CeilDiv(trips, 2) : trips;
  }
  int64_t trips = 0;
  const int64_t all = outer.trips.value(), unit = is_run ? 2 : 1;
  for (int64_t t = unit; t <= all; t += unit) {
    const int64_t words = is_run ? t / 2 : t * inner;
    if (all % t == 0 && (words <= kWordsOfPiece || trips == 0)) trips = t;
    if (words > kWordsOfPiece) break;
  }
  return (is_run && trips < kWordsOfPiece / 8) || trips == all ? 0 : trips;
}

void CutIntoPieces(PairTiling& plan) {
  ContractionTiling& c = plan.contraction;
  const AddressLoop outer = c.k_loops.front();
  plan.pieces = FloorDiv(outer.trips, plan.piece);
  plan.piece_lhs_stride = Dim(plan.piece) * outer.lhs_stride;
  plan.piece_rhs_stride = Dim(plan.piece) * outer.rhs_stride;
  c.k_loops.front().trips = plan.piece;
  c.k_loops = Merged(c.k_loops);
}

// Words of a step that divides the run, none of which is empty; 0: there is none that is long.
int64_t StepWords(const Dim& run, int64_t word) {
  if (!run.is_constant() || run.value() % word != 0) return 0;
  for (int64_t words = kTileSide; words >= kTileSide / 2; --words) {
    if (run.value() % (word * words) == 0) return words;
  }
  return 0;
}

// The most rows that a tile is a multiple of.
int RowsOfTile(int tile_rows, int most) {
  int rows = most;
  while (tile_rows % rows != 0) --rows;
  return rows;
}

// Vectors of a panel of bytes that are widened: those that leave the fewest columns empty.
int WidenedVectors(const Dim& n, int lanes) {
  if (!n.is_constant()) return 2;
  int best = 2;
  double least = 0;
  for (const auto& [vectors, factor] : {std::pair(2, 1.0), {3, 1.03}, {1, 1.06}}) {
    const double columns = static_cast<double>(RoundUp(n.value(), int64_t{vectors} * lanes));
    if (least > 0 && columns * factor >= least) continue;
    least = columns * factor;
    best = vectors;
  }
  return best;
}

// Sums, the panel's vectors, a row's word and a product are in 16 registers.
int MostWidenedRows(int vectors) { return std::min(12 / vectors, kMostVectorRows); }

// Rows of a tile of bytes that are widened: twice those whose sums are in registers, which leave
// few rows of all of them empty.
int WidenedTileRows(const Dim& m, int vectors) {
  const int most = MostWidenedRows(vectors);
  int best = most;
  double least = 0;
  for (int rows = most; m.is_constant() && rows > most / 2; --rows) {
    const double cost = static_cast<double>(CeilDiv(m.value(), rows)) * (rows + 0.75);
    if (least > 0 && cost >= least) continue;
    least = cost;
    best = rows;
  }
  return 2 * best;
}

// Rows of a tile that lie one stride apart; 0: there are none.
int RowsInPlace(const PairTiling& plan) {
  const ContractionTiling& c = plan.contraction;
  if (!c.is_convolution) {
    const bool whole_tiles =
        c.m_loops.size() == 1 ||
        (c.m_loops.size() > 1 && Mod(c.m_loops.back().trips, kTileSide) == Dim(0));
    return whole_tiles ? kTileSide : 0;
  }
  // Fewer rows take less time, but those of 16 columns are loaded for them.
  for (int rows = kTileSide; rows >= kFewestInPlace; --rows) {
    if (!plan.has_tiles && RowsOfTile(rows, kMostVectorRows) < kFewestInVectors) continue;
    if (Mod(c.conv.out_width, rows) == Dim(0)) return rows;
  }
  return 0;
}

bool ReadsInPlace(const PairTiling& plan) {
  const ContractionTiling& c = plan.contraction;
  if (!plan.lhs_k_contiguous || plan.adds_128() || plan.splits_f32 || plan.widens ||
      StepWords(plan.run, plan.word) == 0 || RowsInPlace(plan) == 0) {
    return false;
  }
  const Dim bytes = plan.lhs_stride() * Dim(ir::DTypeBytes(c.dtype));
  return !bytes.is_constant() || bytes.value() % kAliasBytes != 0;
}

void ChoosePairBlocks(PairTiling& plan, const target::TargetInfo& target) {
  ++TilingCounts::blocks;
  ContractionTiling& c = plan.contraction;
  const Dim &m = c.m, &n = c.n, &k = c.k;
  const double more = static_cast<double>(plan.word) / 2;  // than of bf16
  double multiply_ns =
      plan.has_tiles ? target.ns(1 / (target.tile_fmas_per_cycle * more))
                     : 1 / (target.vector_fmas_per_ns() * c.lanes * static_cast<double>(plan.word));
  if (plan.splits_f32) multiply_ns *= 3;
  if (plan.widens) multiply_ns = 1 / (target.vector_fmas_per_ns() * c.lanes * kWidenedGain);
  const double pack_ns = target.ns(plan.splits_f32 ? kSplittingCycles : kPackingCycles);
  const double rhs_ns = plan.rhs_packed ? 0 : pack_ns;
  const double bytes = ir::DTypeBytes(c.dtype);
  c.cost = Cost(c.batch * m * n * k, multiply_ns) +
           Cost(n * k, rhs_ns + bytes / target.memory_bytes_per_ns) +
           Cost(c.batch * m * k, plan.lhs_in_place ? 0 : pack_ns);
  const Dim row_bytes = Max(Dim(plan.halves()) * plan.words * Dim(4), 1);
  // Rows that stay in L2 while panel after panel meets them, many enough to pay for packing each.
  constexpr int64_t kRowsPerPanel = 8 * kTileSide;
  const Dim chunk = Clamp(FloorDiv(c.cost, 16), Cost(1, 15e3), Cost(1, 200e3));
  const Dim row_cost = Cost(n * k, multiply_ns) + Cost(k, plan.lhs_in_place ? 0 : pack_ns);
  Dim rows = Max(FloorDiv(target.l2_bytes / 2, row_bytes), kRowsPerPanel);
  const double block_ns = static_cast<double>((n * k).value_or(0)) * rhs_ns;
  // Every block of rows reads the right-hand side: one beyond L2 meets all rows that fit at once.
  const bool small_rhs = (n * k).value_or(0) * bytes <= static_cast<double>(target.l2_bytes) / 2;
  if (c.is_convolution) {
    if (small_rhs) rows = Min(rows, Max(FloorDiv(chunk, Max(row_cost, 1)), kRowsPerPanel));
    c.image_rows = Clamp(FloorDiv(rows, Max(c.conv.out_width, 1)), 1, Max(c.conv.out_height, 1));
    if (small_rhs) {
      c.image_rows = EvenBlock(
          {c.batch, c.conv.out_height, c.image_rows, row_cost * c.conv.out_width, block_ns});
    }
    c.block_rows = Max(c.image_rows * c.conv.out_width, 1);
    c.block_panels = Max(c.panels(), 1);
    if (small_rhs) return;
  } else {
    if (plan.splits_f32 && small_rhs) {
      rows = Min(rows, Max(FloorDiv(chunk, Max(row_cost, 1)), kRowsPerPanel));
    }
    const Dim blocks = Max(CeilDiv(m, rows), 1);
    rows = CeilDiv(CeilDiv(m, blocks), c.rows) * Dim(c.rows);
    c.block_rows = Max(rows, 1);
  }
  const Dim panel_cost =
      Cost(k * Dim(c.panel()), multiply_ns) * c.block_rows + Cost(k * Dim(c.panel()), rhs_ns);
  const Dim panels = Clamp(FloorDiv(chunk, Max(panel_cost, 1)), 1, Max(c.panels(), 1));
  if (plan.splits_f32) {
    c.block_panels = Max(Min(Max(panels, kPanelsOfHalves), c.panels()), 1);
    return;
  }
  const double rows_ns =
      plan.lhs_in_place ? 0 : static_cast<double>((c.block_rows * k).value_or(0)) * pack_ns;
  // Sums of a block that is computed piece by piece stay in L2, too.
  const Dim sums_bytes = c.block_rows * Dim(c.panel() * 4);
  const Dim most_panels =
      plan.is_cut() ? Max(FloorDiv(target.l2_bytes / 4, sums_bytes), 1) : c.panels();
  c.block_panels = EvenBlock(
      {c.batch * c.m_blocks(), c.panels(), Min(panels, most_panels), panel_cost, rows_ns});
}

}  // namespace

int VectorRows(const PairTiling& plan) {
  return RowsOfTile(plan.tile_rows,
                    plan.widens ? MostWidenedRows(plan.contraction.vectors) : kMostVectorRows);
}

Dim PairTiling::lhs_stride() const {
  const ContractionTiling& c = contraction;
  return c.is_convolution ? Dim(c.conv.stride_w * c.conv.channels) : c.m_loops.back().lhs_stride;
}

absl::StatusOr<PairTiling> TilePairs(const Node& fusion,
                                     const absl::StatusOr<ContractionTiling>& view,
                                     const target::Schedule* schedule,
                                     const target::TargetInfo& target) {
  TEKTITE_RETURN_IF_ERROR(view.status());
  const bool is_bytes = view->dtype == DType::kS8 && view->accumulator == DType::kS32;
  const bool is_split = view->dtype == DType::kF32 && view->lhs_dtype == DType::kF32;
  if (is_split ? !target.splits_f32 : view->dtype != DType::kBF16 && !is_bytes) {
    return Unimplemented("no product of bf16 or bytes");
  }
  if (is_bytes ? !target.MultipliesBytes() : !target.has_bf16_dot) {
    return Unimplemented("the machine multiplies no words of ", ir::DTypeName(view->dtype));
  }
  if (fusion.attrs().Has(Attr::rhs_packed) && !HasPairs(fusion)) {
    return Unimplemented("panels without pairs");
  }
  PairTiling plan;
  plan.contraction = *view;
  plan.widens = is_bytes && !target.has_int8_dot;
  plan.word = is_bytes && !plan.widens ? 4 : 2;
  plan.has_tiles = is_bytes ? target.has_int8_tiles : target.has_bf16_tiles;
  plan.splits_f32 = is_split;
  plan.rhs_packed = view->rhs == RhsMode::kPacked;
  ContractionTiling& c = plan.contraction;
  c.k_loops = Merged(c.k_loops);
  const int64_t fewest_rows = is_bytes && plan.has_tiles ? 1 : kFewestRows;
  const int64_t fewest_columns = is_split ? kFewestColumnsOfHalves : kFewestColumns;
  const int64_t shortest_k = is_split ? kShortestKOfHalves : kShortestK;
  if (c.k_loops.empty() || c.m.value_or(kFewestRows) < fewest_rows ||
      c.n.value_or(fewest_columns) < fewest_columns || c.k.value_or(shortest_k) < shortest_k) {
    return Unimplemented(c.root->Describe(), ": too small for pairs");
  }
  if (c.is_convolution && (!c.conv.reads_one_slice() || !c.conv.out_width.is_constant())) {
    return Unimplemented(c.root->Describe(), ": slices, or a width that is not known");
  }
  const bool lhs_k_contiguous = c.k_loops.back().lhs_stride == Dim(1);
  if ((is_bytes || is_split) && (!lhs_k_contiguous || !plan.rhs_packed)) {
    return Unimplemented(c.root->Describe(), ": bytes or halves of k apart, or no weights");
  }
  if (schedule != nullptr) {
    plan.piece = schedule->blocks.piece;
  } else if (!lhs_k_contiguous && !plan.rhs_packed) {
    plan.piece = ChoosePiece(c);
  }
  if (plan.piece > 0) CutIntoPieces(plan);
  if (c.k_loops.empty()) return Unimplemented(c.root->Describe(), ": pieces of one k");
  const AddressLoop& inner = c.k_loops.back();
  plan.lhs_k_contiguous = inner.lhs_stride == Dim(1);
  const bool rows_contiguous =
      !c.is_convolution && !c.m_loops.empty() && c.m_loops.back().lhs_stride == Dim(1) &&
      (c.m_loops.size() == 1 || Mod(c.m_loops.back().trips, kTileSide) == Dim(0));
  if (!plan.lhs_k_contiguous && !rows_contiguous) {
    return Unimplemented(c.root->Describe(), ": neither rows nor k are contiguous on the left");
  }
  if (plan.rhs_packed &&
      (!c.k.is_constant() || (c.k_loops.size() > 1 && Mod(inner.trips, plan.word) != Dim(0)))) {
    return Unimplemented(c.root->Describe(), ": runs of k that are no whole words");
  }
  plan.rhs_k_contiguous = c.rhs_n_stride != Dim(1);
  if (!plan.rhs_packed && plan.rhs_k_contiguous && inner.rhs_stride != Dim(1)) {
    return Unimplemented(c.root->Describe(), ": neither columns nor k are contiguous on the right");
  }
  c.rhs = plan.rhs_packed ? RhsMode::kPacked : RhsMode::kPackInKernel;
  plan.run = inner.trips;
  plan.run_words = CeilDiv(plan.run, plan.word);
  plan.words = plan.run_words;
  for (size_t i = 0; i + 1 < c.k_loops.size(); ++i) plan.words = plan.words * c.k_loops[i].trips;
  plan.lhs_in_place = schedule != nullptr ? schedule->lhs_in_place : ReadsInPlace(plan);
  if (plan.lhs_in_place) {
    plan.step_words = StepWords(plan.run, plan.word);
  } else if (!plan.widens) {
    // At least a step, of zeros where an unknown k is 0.
    plan.words = Max(CeilDiv(plan.words, kTileSide) * Dim(kTileSide), kTileSide);
  }
  if (!plan.lhs_in_place && !plan.lhs_k_contiguous &&
      plan.words.value_or(kMostWords + 1) > kMostWords) {
    return Unimplemented(c.root->Describe(), ": a long k, whose rows would have to be packed");
  }
  if (schedule == nullptr) {
    ++TilingCounts::tiles;
    c.vectors = c.n.value_or(2 * kTileSide) <= kTileSide ? 1 : 2;
    if (plan.lhs_in_place) plan.tile_rows = RowsInPlace(plan);
    if (plan.widens) {
      c.vectors = WidenedVectors(c.n, c.lanes);
      plan.tile_rows = WidenedTileRows(c.m, c.vectors);
    }
    c.rows = 2 * plan.tile_rows;
    return plan;
  }
  TEKTITE_RETURN_IF_ERROR(TakeTile(fusion, *schedule, c));
  plan.tile_rows = c.rows / 2;
  ChoosePairBlocks(plan, target);
  return plan;
}

}  // namespace tektite::cpu
