// Products of f16, bf16, or f32 in TF32, with matrix instructions, sums in f32; and of bytes, s8 or
// u8 on either side, sums in s32.
//
//   for k in steps of kDepthBytes, some of them in shared memory:
//     wait for the oldest step, meet                    cp.async, a barrier
//     send for the step that is furthest ahead          16 bytes a copy
//     sums += lhs x rhs                                 ldmatrix, mma.m16n8k16, m16n8k8 or m16n8k32
//   sums -> shared memory -> epilogue, whole rows
//
// Warps lie side by side in the block's tile, each with tiles of 16 x 8 results of its own.
// Operands whose rows are not whole, aligned vectors, and those that are worked out on the way,
// pass through registers, element by element; the steps and their order are the same.
#include <algorithm>
#include <optional>

#include "backends/gpu/emit/contraction/contraction_sizes.h"
#include "backends/gpu/emit/contraction/contraction_view.h"
#include "backends/gpu/emit/contraction/matrix_tile.h"
#include "backends/gpu/emit/contraction/operand_reader.h"
#include "backends/gpu/emit/contraction/split_sums.h"
#include "backends/gpu/emit/emitter.h"
#include "backends/gpu/emit/names.h"
#include "backends/gpu/emit/root_epilogue.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"
#include "jit/llvm/emit/region_kernel.h"
#include "jit/llvm/warp_matrix.h"

namespace tektite::gpu {
namespace {

using loop::kMatrixColumns;
using loop::kMatrixRows;
using Along = ContractionView::Along;
using Values = std::vector<Value>;

// Bytes of an operand's row or column in a step.
constexpr int64_t kDepthBytes = 64;
// Steps in shared memory at most, and at least: one is multiplied while others are on their way.
constexpr int64_t kMostStages = 4, kFewestStages = 2;
// All registers of a thread: the sums alone are 64.
constexpr int kResidentThreads = 256;
// Single elements that are under way at once; fewer where their indices take long to work out
// (images), since that code is there for each.
constexpr int64_t kAtOnce = 4, kHeavyAtOnce = 2;
// Bytes that are such an element, where so many lie side by side.
constexpr int64_t kBytesAtOnce = 8;
// Added to the rows of the staged sums: rows of 4 threads then begin 8 banks apart.
constexpr int64_t kPadding = 8;

struct Tile {
  int64_t down, across;             // warps
  int64_t row_parts, column_parts;  // of a warp, of 16 rows and of 8 columns
  int64_t warp_rows() const { return row_parts * kMatrixRows; }
  int64_t warp_columns() const { return column_parts * kMatrixColumns; }
  int64_t rows() const { return down * warp_rows(); }
  int64_t columns() const { return across * warp_columns(); }
  int64_t threads() const { return down * across * loop::kWarpThreads; }
};
constexpr Tile kHuge = {2, 4, 4, 8}, kLarge = {2, 4, 4, 4}, kMedium = {2, 2, 2, 4},
               kFlat = {1, 4, 1, 4};

// An operand's part in a step.
struct Side {
  const ir::Node* operand;
  bool is_lhs;
  Dim across;     // m or n
  bool along_k;   // the direction of its rows, in memory and in the tile
  bool vectors;   // whole chunks lie side by side
  int64_t lanes;  // elements that pass through registers at once, where they do not
  MatrixTile tile;
  int64_t at;  // in a stage
};

class MatrixContraction {
 public:
  MatrixContraction(const ir::Graph& region, const ContractionView& view,
                    const EmitOptions& options, loop::Kernel* kernel)
      : region_(region),
        view_(view),
        kernel_(*kernel),
        b_(kernel),
        batch_(Product(view.batch())),
        m_(Product(view.m())),
        n_(Product(view.n())),
        k_(Product(view.k())),
        dtype_(view.root().operand_shape(0).dtype()),
        bytes_(ir::DTypeBytes(dtype_)),
        depth_(kDepthBytes / bytes_),
        sum_(ir::IsFloat(dtype_) ? DType::kF32 : DType::kS32),
        reader_(&b_, region),
        tile_(ChooseTile(options)),
        stages_(MostStages(tile_, options)),
        lhs_(MakeSide(true)),
        rhs_(MakeSide(false)) {}

  // Returns how many blocks share a result's terms.
  absl::StatusOr<int64_t> Run() {
    for (const Dim& size : {m_, n_, k_}) status_.Update(RequireNarrow(kernel_, size));
    const Dim row_tiles = CeilDiv(m_, tile_.rows()), column_tiles = CeilDiv(n_, tile_.columns());
    kernel_.launch.threads = static_cast<int>(tile_.threads());
    const Dim blocks = batch_ * row_tiles * column_tiles;
    slices_ = ChooseSlices(blocks, k_);
    kernel_.launch.blocks = Dim(slices_) * blocks;
    kernel_.launch.resident_threads = kResidentThreads;
    const Indices block =
        SplitNarrowIndex(b_, b_.BlockIndex(), {slices_, batch_, row_tiles, column_tiles});
    slice_ = block[0].base;
    batch_index_ = block[1].base;
    index_ = SplitNarrowIndex(b_, batch_index_, view_.batch());
    first_row_ = b_.Mul(block[2].base, b_.Index(tile_.rows()));
    first_column_ = b_.Mul(block[3].base, b_.Index(tile_.columns()));
    if (slices_ > 1) sums_.emplace(&b_, view_, slices_, sum_);
    const Value warp = b_.DivNarrow(b_.ThreadIndex(), loop::kWarpThreads);
    warp_row_ = b_.DivNarrow(warp, tile_.across);
    warp_column_ = b_.RemNarrow(warp, tile_.across);
    // The sums are staged where the steps were.
    const int64_t staged = StagedRows() * StagedStride() * ir::DTypeBytes(sum_) / bytes_;
    shared_ = b_.AllocateShared(dtype_, std::max(stages_ * StageElements(), staged));

    Values sums(static_cast<size_t>(tile_.row_parts * tile_.column_parts),
                b_.Splat(b_.Constant(sum_, 0), loop::kSumLanes));
    if (k_ != Dim(0)) sums = Accumulate(std::move(sums));
    Finish(sums);
    status_.Update(reader_.status());
    TEKTITE_RETURN_IF_ERROR(status_);
    return slices_;
  }

 private:
  // Tiles that keep a card busy and have stages enough, the largest first: with a tile's size grows
  // what is computed for an element that is loaded.
  Tile ChooseTile(const EmitOptions& options) const {
    const int64_t rows = m_.value_or(kUsual), columns = n_.value_or(kUsual);
    if (rows <= kFlat.rows()) return kFlat;
    for (const Tile& tile : {kHuge, kLarge}) {
      if (rows <= tile.rows() / 2 || columns <= tile.columns() / 2) continue;
      const Dim blocks = batch_ * CeilDiv(m_, tile.rows()) * CeilDiv(n_, tile.columns());
      if (blocks.value_or(kManyBlocks) < kManyBlocks) continue;
      if (MostStages(tile, options) == kMostStages) return tile;
    }
    return kMedium;
  }

  static int64_t MostStages(const Tile& tile, const EmitOptions& options) {
    const int64_t stage_bytes = (tile.rows() + tile.columns()) * kDepthBytes;
    return std::clamp(options.shared_bytes / stage_bytes, kFewestStages, kMostStages);
  }

  Side MakeSide(bool is_lhs) {
    const Along along = is_lhs ? view_.lhs_along() : view_.rhs_along();
    const bool along_k = along == Along::kK;
    const int64_t width = is_lhs ? tile_.rows() : tile_.columns();
    const ir::Node* operand = view_.root().operand(is_lhs ? 0 : 1).node;
    const Dims& run = along_k ? view_.k() : is_lhs ? view_.m() : view_.n();
    // Through other ops neighbours may not stay neighbours.
    const auto lie_together = [&](int64_t lanes) {
      return along != Along::kNothing && operand->op() == ir::Op::kParameter && !run.empty() &&
             Mod(run.back(), lanes) == Dim(0);
    };
    int64_t lanes = bytes_ == 1 ? kBytesAtOnce : 1;
    while (lanes > 1 && !lie_together(lanes)) lanes /= 2;
    return {operand,
            is_lhs,
            is_lhs ? m_ : n_,
            along_k,
            lie_together(MatrixTile::Chunk(bytes_)),
            lanes,
            MatrixTile(&b_, operand->shape().dtype(),
                       {along_k ? width : depth_, along_k ? depth_ : width, !along_k}),
            is_lhs ? 0 : tile_.rows() * depth_};
  }
  int64_t StageElements() const { return (tile_.rows() + tile_.columns()) * depth_; }

  static ir::Value OperandOf(const Side& side) { return {const_cast<ir::Node*>(side.operand), 0}; }

  Value Both(Value a, Value b) { return a && b ? b_.And(a, b) : a ? a : b; }

  // The element, or as many of them, of a side that lies in the tile at `row` and `column` of the
  // step that begins at `first`.
  ContractionView::Element ElementAt(const Side& side, Value first, Value row, Value column,
                                     int64_t lanes) {
    const Value k = b_.Add(first, side.along_k ? column : row);
    const Value at = b_.Add(side.is_lhs ? first_row_ : first_column_, side.along_k ? row : column);
    ContractionIndex index;
    index.batch = index_;
    index.k = SplitNarrowIndex(b_, k, view_.k(), side.along_k ? lanes : 1);
    (side.is_lhs ? index.m : index.n) =
        SplitNarrowIndex(b_, at, side.is_lhs ? view_.m() : view_.n(), side.along_k ? 1 : lanes);
    auto element = side.is_lhs ? view_.Lhs(b_, index) : view_.Rhs(b_, index);
    element.inside = Both(b_.Compare("lt", k, b_.Index(k_)), element.inside);
    const int64_t width = side.along_k ? side.tile.rows() : side.tile.columns();
    if (Mod(side.across, width) != Dim(0)) {
      element.inside = Both(b_.Compare("lt", at, b_.Index(side.across)), element.inside);
    }
    return element;
  }

  void FetchChunk(const Side& side, Value first, Value stage, Value number) {
    const Value row = b_.DivNarrow(number, side.tile.chunks());
    const Value chunk = b_.RemNarrow(number, side.tile.chunks());
    const auto element =
        ElementAt(side, first, row, b_.Mul(chunk, b_.Index(side.tile.chunk())), side.tile.chunk());
    reader_.Copy(OperandOf(side), element, shared_, b_.Add(stage, side.tile.ChunkAt(row, chunk)));
  }

  // Elements one by one, from `first_round` on: all of them are under way before one is kept.
  void FetchElements(const Side& side, Value first, Value stage, Value first_round, int64_t count) {
    Values places, elements;
    for (int64_t i = 0; i < count; ++i) {
      const Value number = Number(b_.Add(first_round, b_.Index(i)));
      const int64_t of_row = side.tile.columns() / side.lanes;
      const Value row = b_.DivNarrow(number, of_row);
      const Value column = b_.Mul(b_.RemNarrow(number, of_row), b_.Index(side.lanes));
      places.push_back(b_.Add(stage, side.tile.Element(row, column)));
      elements.push_back(reader_.Read(OperandOf(side),
                                      ElementAt(side, first, row, column, side.lanes),
                                      static_cast<int>(side.lanes)));
    }
    for (size_t i = 0; i < places.size(); ++i) b_.Store(shared_, places[i], elements[i]);
  }

  // What the thread fetches in a round.
  Value Number(Value round) {
    return b_.Add(b_.Mul(round, b_.Index(tile_.threads())), b_.ThreadIndex());
  }

  // A side's part of the step that begins at `first`, for the stage that begins at `stage`.
  void Fetch(const Side& side, Value first, Value stage) {
    stage = b_.Add(stage, b_.Index(side.at));
    if (!side.vectors) {
      const int64_t rounds = side.tile.elements() / (tile_.threads() * side.lanes);
      const int64_t at_once = std::min(view_.k().size() > 1 ? kHeavyAtOnce : kAtOnce, rounds);
      return b_.For(b_.Index(0), b_.Index(rounds), at_once,
                    [&](Value round) { FetchElements(side, first, stage, round, at_once); });
    }
    const int64_t chunks = side.tile.rows() * side.tile.chunks();
    for (int64_t round = 0; round < CeilDiv(chunks, tile_.threads()); ++round) {
      const Value number = Number(b_.Index(round));
      if (chunks % tile_.threads() == 0) {
        FetchChunk(side, first, stage, number);
      } else {
        b_.If(b_.Compare("lt", number, b_.Index(chunks)),
              [&] { FetchChunk(side, first, stage, number); });
      }
    }
  }

  Value StageAt(Value step) {
    return b_.Mul(b_.RemNarrow(step, stages_), b_.Index(StageElements()));
  }

  // The first trips only fetch: so that code is there once.
  Values Accumulate(Values zeros) {
    const int64_t ahead = stages_ - 1;
    Value begin = b_.Index(0), end = b_.Index(k_);
    if (slices_ > 1) {
      const int64_t terms = RoundUp(CeilDiv(k_.value(), slices_), depth_);
      begin = b_.Mul(slice_, b_.Index(terms));
      end = b_.Min(b_.Add(begin, b_.Index(terms)), end);
    }
    const Values sums =
        b_.For(b_.Sub(begin, b_.Index(ahead * depth_)), end, depth_, std::move(zeros),
               [&](Value first, absl::Span<const Value> carried) {
                 const Values before(carried.begin(), carried.end());
                 const Value next = b_.Add(first, b_.Index(ahead * depth_));
                 const Value step = b_.DivNarrow(next, depth_);
                 // The oldest stage has arrived, and nobody reads the one that is filled now.
                 b_.WaitForCopies(static_cast<int>(ahead - 1));
                 b_.Barrier();
                 Fetch(lhs_, next, StageAt(step));
                 Fetch(rhs_, next, StageAt(step));
                 b_.CommitCopies();
                 return b_.IfElse(
                     b_.Compare("ge", first, begin),
                     [&] { return Multiply(StageAt(b_.Add(step, b_.Index(1))), before); },
                     [&] { return before; });
               });
    b_.WaitForCopies(0);
    return sums;
  }

  Values Multiply(Value stage, Values sums) {
    const Value lhs = b_.Add(stage, b_.Index(lhs_.at)), rhs = b_.Add(stage, b_.Index(rhs_.at));
    const Value row = b_.Mul(warp_row_, b_.Index(tile_.warp_rows()));
    const Value column = b_.Mul(warp_column_, b_.Index(tile_.warp_columns()));
    for (int64_t k = 0; k < depth_; k += loop::MatrixDepth(bytes_)) {
      std::vector<Values> a;
      for (int64_t i = 0; i < tile_.row_parts; ++i) {
        const Value at = b_.Add(row, b_.Index(i * kMatrixRows));
        a.push_back(lhs_.tile.Left(shared_, lhs, at, k));
      }
      for (int64_t j = 0; j < tile_.column_parts; j += 2) {
        const Value at = b_.Add(column, b_.Index(j * kMatrixColumns));
        const Values pair = rhs_.tile.Right(shared_, rhs, k, at);
        for (int64_t i = 0; i < tile_.row_parts; ++i) {
          for (int64_t half = 0; half < 2; ++half) {
            Value& sum = sums[static_cast<size_t>(i * tile_.column_parts + j + half)];
            const auto b = absl::MakeConstSpan(pair).subspan(
                static_cast<size_t>(half) * loop::kRightParts, loop::kRightParts);
            sum = b_.WarpMultiply(a[static_cast<size_t>(i)], b, sum);
          }
        }
      }
    }
    return sums;
  }

  // Rows of the tile whose sums lie in shared memory at once: those of a row of warps.
  int64_t StagedRows() const { return tile_.warp_rows(); }
  int64_t StagedStride() const { return tile_.columns() + kPadding; }

  void Finish(const Values& sums) {
    b_.For(b_.Index(0), b_.Index(tile_.down), 1, [&](Value part) {
      b_.Barrier();
      b_.If(b_.Compare("eq", warp_row_, part), [&] { Stage(sums); });
      b_.Barrier();
      StoreStaged(b_.Add(first_row_, b_.Mul(part, b_.Index(StagedRows()))));
    });
  }

  void Stage(const Values& sums) {
    const Value thread = b_.RemNarrow(b_.ThreadIndex(), loop::kWarpThreads);
    // As SumPlace has it, but for what a tile interleaves.
    const bool rows = lhs_.tile.is_interleaved(), columns = rhs_.tile.is_interleaved();
    const int64_t other_row = rows ? 1 : kMatrixRows / 2;
    const Value row = b_.Mul(b_.DivNarrow(thread, 4), b_.Index(rows ? 2 : 1));
    const Value column = b_.Add(b_.Mul(warp_column_, b_.Index(tile_.warp_columns())),
                                b_.Mul(b_.RemNarrow(thread, 4), b_.Index(columns ? 4 : 2)));
    const Value at = b_.Add(b_.Mul(row, b_.Index(StagedStride())), column);
    for (int64_t i = 0; i < tile_.row_parts; ++i) {
      for (int64_t j = 0; j < tile_.column_parts; j += columns ? 2 : 1) {
        const size_t number = static_cast<size_t>(i * tile_.column_parts + j);
        for (int half = 0; half < 2; ++half) {
          const int64_t to_row = i * kMatrixRows + half * other_row;
          const Value to = b_.Add(at, b_.Index(to_row * StagedStride() + j * kMatrixColumns));
          const int lane = 2 * half;
          b_.Store(shared_, to,
                   columns ? b_.Shuffle(sums[number], sums[number + 1],
                                        {lane, lane + loop::kSumLanes, lane + 1,
                                         lane + 1 + loop::kSumLanes})
                           : b_.Shuffle(sums[number], {}, {lane, lane + 1}));
        }
      }
    }
  }

  // The rows of the result from `first` on.
  void StoreStaged(Value first) {
    const int64_t lanes = StoredLanes(), vectors = tile_.columns() / lanes;
    b_.For(b_.ThreadIndex(), b_.Index(StagedRows() * vectors), tile_.threads(), [&](Value v) {
      const Value row = b_.DivNarrow(v, vectors),
                  column = b_.Mul(b_.RemNarrow(v, vectors), b_.Index(lanes));
      const Value m = b_.Add(first, row), n = b_.Add(first_column_, column);
      const Value exists =
          b_.And(b_.Compare("lt", m, b_.Index(m_)), b_.Compare("lt", n, b_.Index(n_)));
      b_.If(exists, [&] {
        const Value at = b_.Add(b_.Mul(row, b_.Index(StagedStride())), column);
        const Value sum = b_.Load(shared_, sum_, at, static_cast<int>(lanes));
        if (sums_.has_value()) {
          b_.Store(sums_->scratch(), sums_->At(slice_, batch_index_, m, n), sum);
          return;
        }
        status_.Update(StoreSum(b_, region_, view_, index_, m, n, sum, lanes));
      });
    });
  }

  int64_t StoredLanes() const {
    return sums_.has_value() ? sums_->lanes()
                             : ResultLanes(region_, view_, VectorElements(region_));
  }

  const ir::Graph& region_;
  const ContractionView& view_;
  loop::Kernel& kernel_;
  loop::Builder b_;
  const Dim batch_, m_, n_, k_;
  const DType dtype_;
  const int bytes_;      // of an element
  const int64_t depth_;  // of a step
  const DType sum_;
  OperandReader reader_;
  const Tile tile_;
  const int64_t stages_;
  const Side lhs_, rhs_;
  int64_t slices_ = 1;
  std::optional<SliceSums> sums_;
  Value slice_, batch_index_;
  Indices index_;  // of the block's batch
  Value first_row_, first_column_, warp_row_, warp_column_, shared_;
  absl::Status status_;
};

}  // namespace

bool HasMatrixInstructions(const ContractionView& view, const EmitOptions& options) {
  const DType dtype = view.root().operand_shape(0).dtype();
  if (MultipliesBytes(view)) return true;
  return (dtype == DType::kF16 || dtype == DType::kBF16 ||
          (dtype == DType::kF32 && options.tf32)) &&
         view.root().operand_shape(1).dtype() == dtype;
}

absl::StatusOr<int64_t> EmitMatrixContraction(const ir::Graph& region, const ContractionView& view,
                                              const EmitOptions& options, loop::Kernel* kernel) {
  return MatrixContraction(region, view, options, kernel).Run();
}

}  // namespace tektite::gpu
