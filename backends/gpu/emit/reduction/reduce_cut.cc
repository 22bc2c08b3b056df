#include "backends/gpu/emit/reduction/reduce_cut.h"

#include <algorithm>
#include <set>
#include <string>

#include "backends/gpu/emit/contraction/contraction_sizes.h"
#include "backends/gpu/emit/emitter.h"
#include "backends/gpu/emit/names.h"
#include "backends/gpu/emit/reduction/term_sums.h"
#include "jit/llvm/emit/reducer.h"

namespace tektite::gpu {
namespace {

using loop::ReduceSpace;

// Blocks in all, where terms are cut: four on every multiprocessor, whose loads are enough for all
// of a card's bandwidth.  With half as many there is no need to cut.
constexpr int64_t kBlocks = 4 * kManyBlocks, kBlocksEnough = 2 * kManyBlocks;
// Threads of a block, and of one that is alone with many terms.
constexpr int64_t kThreads = 256, kAloneThreads = loop::kMostThreads;
// A block of that many threads is for columns with so many terms.
constexpr int64_t kAloneTerms = 512;
// Columns are cut from so many terms on, into pieces of so many at least: several loads a thread.
constexpr int64_t kCutColumn = 2048, kColumnPiece = 128;
// The same of rows.
constexpr int64_t kCutRow = 1 << 17, kRowPiece = 1 << 14;
// Terms of a slice, at least, where a block's rows are shared by slices.
constexpr int64_t kSliceTerms = 4;
// Words that a thread accumulates, of those that it has registers for.
constexpr int64_t kMostWords = 16, kMostWordsAlone = 8;
constexpr int64_t kMostLanes = 8;
// Nodes of a region that is emitted once for each of several terms.
constexpr size_t kSmallRegion = 24;
// Threads of the second launch, and results beside each other: 32 bytes of them.
constexpr int64_t kPieceThreads = 512, kPiecesAcross = 8;

// With the usual size for every symbol.
int64_t Estimate(const Dim& size) {
  if (size.is_constant()) return size.value();
  std::set<std::string> names;
  size.CollectSymbols(&names);
  ir::SymbolMap usual;
  for (const std::string& name : names) usual[name] = Dim(kUsual);
  return size.Substitute(usual).value_or(kUsual);
}
int64_t Estimate(const Dims& sizes) { return Estimate(Product(sizes)); }

int64_t NextPower(int64_t n, int64_t most) {
  int64_t power = 1;
  while (power < n && power < most) power *= 2;
  return power;
}

// Code for neighbours that is as short as for one element.
bool TakesVectors(const ir::Graph& region) {
  return std::all_of(region.nodes().begin(), region.nodes().end(), [](const auto& node) {
    const Op op = node->op();
    return ir::IsElementwise(op) || op == Op::kParameter || op == Op::kConstant ||
           op == Op::kBroadcastInDim || op == Op::kReduce;
  });
}

// What each term goes through takes few registers.
bool IsLight(const ir::Graph& region, const ir::Dims& space) {
  return std::all_of(region.nodes().begin(), region.nodes().end(), [&](const auto& node) {
    switch (node->op()) {
      case Op::kParameter:
      case Op::kConstant:
      case Op::kBroadcastInDim:
      case Op::kReduce:
      case Op::kConvert:
      case Op::kAdd:
      case Op::kSub:
      case Op::kMul:
      case Op::kNeg:
      case Op::kAbs:
      case Op::kMax:
      case Op::kMin:
      case Op::kCompare:
      case Op::kSelect:
        return true;
      default:
        return node->shape().dims() != space;  // in the epilogue, which comes behind the terms
    }
  });
}

Pieces Whole(const Dim& terms) {
  Pieces pieces;
  pieces.terms = terms;
  return pieces;
}

Pieces Cut(const Dim& terms, const Dim& wanted, int64_t unit) {
  Pieces pieces = Whole(terms);
  pieces.unit = unit;
  pieces.units = CeilDiv(CeilDiv(terms, Max(wanted, 1)), unit);
  pieces.count = Max(CeilDiv(terms, pieces.units * Dim(unit)), 1);
  return pieces;
}

}  // namespace

Value Pieces::Begin(loop::Builder& b, Value piece) const {
  if (!is_cut()) return b.Index(0);
  return b.Mul(b.Mul(piece, b.Index(units)), b.Index(unit));
}

Value Pieces::End(loop::Builder& b, Value piece) const {
  if (!is_cut()) return b.Index(terms);
  const Value end = b.Add(Begin(b, piece), b.Mul(b.Index(units), b.Index(unit)));
  return are_equal() ? end : b.Min(end, b.Index(terms));
}

ReduceWork WorkOf(const ir::Graph& region, const ReduceSpace& plan) {
  ReduceWork work;
  work.words = 0;
  for (const Node* r : plan.reduces) {
    const int bytes = ir::DTypeBytes(loop::AccumulatorOf(r->operand_shape(0).dtype()));
    work.words += std::max(bytes / 4, 1);
  }
  int arrays = 0, widest = 1;
  for (const Node* p : region.parameters()) {
    if (p->shape().dims() != plan.space) continue;
    ++arrays;
    widest = std::max(widest, ir::DTypeBytes(p->shape().dtype()));
  }
  work.is_light = IsLight(region, plan.space);
  if (region.nodes().size() <= kSmallRegion) {
    work.together = work.is_light && arrays <= 1 ? kTogether : kTogether / 2;
  }
  const int64_t most = work.is_light ? kMostLanes : kMostLanes / 2;
  if (TakesVectors(region)) work.lanes = std::min(kVectorBytes / widest, most);
  return work;
}

ColumnTile ChooseTile(const ReduceSpace& plan, const ReduceWork& work) {
  const Dim columns = plan.kept_sizes.back();
  const int64_t terms = Estimate(plan.reduced_sizes);
  ColumnTile tile;
  const auto fit = [&](int64_t words) {
    tile.lanes = work.lanes;
    while (tile.lanes > 1 &&
           (Mod(columns, tile.lanes) != Dim(0) || tile.lanes * work.words > words)) {
      tile.lanes /= 2;
    }
  };
  fit(kMostWords);
  // Where all blocks have few terms and there are few of them, each has as many threads as it can.
  const int64_t strips = CeilDiv(Dim(Estimate(plan.kept_sizes)), kWarpThreads * tile.lanes).value();
  const bool alone = strips < kManyBlocks && terms >= kAloneTerms && terms < kCutColumn &&
                     work.words <= kMostWordsAlone;
  if (alone) fit(kMostWordsAlone);
  const int64_t threads = alone ? kAloneThreads : kThreads;
  const int64_t vectors = CeilDiv(columns, tile.lanes).value_or(kWarpThreads);
  tile.across = NextPower(vectors, kWarpThreads);
  tile.slices = threads / tile.across;
  while (tile.slices > 1 && terms < tile.slices * kSliceTerms) tile.slices /= 2;
  tile.across = NextPower(vectors, threads / tile.slices);
  tile.slices = std::max(tile.slices, kWarpThreads / tile.across);
  return tile;
}

Pieces CutColumns(const ReduceSpace& plan, const ColumnTile& tile, const ReduceWork& work) {
  const Dim terms = Product(plan.reduced_sizes);
  Dims outer = plan.kept_sizes;
  const Dim columns = outer.back();
  outer.pop_back();
  const Dim blocks = Product(outer) * CeilDiv(columns, tile.width());
  const int64_t usual = Estimate(Product(outer) * CeilDiv(columns, tile.width()));
  if (usual > kBlocksEnough || Estimate(plan.reduced_sizes) < kCutColumn) return Whole(terms);
  const Dim wanted = Min(FloorDiv(kBlocks, Max(blocks, 1)), FloorDiv(terms, kColumnPiece));
  return Cut(terms, wanted, tile.slices * work.together);
}

Pieces CutRows(const ReduceSpace& plan, const ReduceWork& work, ThreadGroup* group) {
  // Many rows keep a card busy with small blocks, which do not wait for each other.
  const bool are_many = Estimate(plan.kept_sizes) > kBlocksEnough;
  if (are_many) group->threads = std::min(group->threads, static_cast<int>(kThreads));
  const int64_t words = group->threads > kThreads ? kMostWordsAlone : kMostWords;
  while (group->vector > 1 && group->vector * work.words > words) group->vector /= 2;
  const Dim terms = Product(plan.reduced_sizes), rows = Product(plan.kept_sizes);
  if (are_many || Estimate(plan.reduced_sizes) < kCutRow) return Whole(terms);
  const Dim wanted = Min(FloorDiv(kBlocks, Max(rows, 1)), FloorDiv(terms, kRowPiece));
  const Pieces pieces = Cut(terms, wanted, kThreads * group->vector * work.together);
  if (pieces.is_cut()) group->threads = static_cast<int>(kThreads);
  return pieces;
}

ColumnTile TileOfPieces(const Pieces& pieces, const Dim& results) {
  ColumnTile tile;
  tile.across = NextPower(results.value_or(kPiecesAcross), kPiecesAcross);
  const int64_t count = pieces.count.value_or(kPieceThreads);
  tile.slices = NextPower(count, kPieceThreads / tile.across);
  tile.slices = std::max(tile.slices, kWarpThreads / tile.across);
  return tile;
}

}  // namespace tektite::gpu
