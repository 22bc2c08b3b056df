// Products of f16 or bf16 with matrix instructions, sums in f32.
//
//   for k in steps of kDepth, kStages of them in shared memory:
//     wait for the oldest step, meet                    cp.async, a barrier
//     send for the step that is kStages - 1 ahead       16 bytes a copy
//     sums += lhs x rhs                                 ldmatrix, mma.m16n8k16
//   sums -> shared memory -> epilogue, whole rows
//
// Warps lie side by side in the block's tile, each with tiles of 16 x 8 results of its own.
// Operands whose rows are not whole, aligned vectors, and those that are worked out on the way,
// pass through registers, element by element; the steps and their order are the same.
#include <algorithm>

#include "backends/gpu/emit/contraction_view.h"
#include "backends/gpu/emit/emitter.h"
#include "backends/gpu/emit/matrix_tile.h"
#include "backends/gpu/emit/root_epilogue.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"
#include "jit/llvm/alignment.h"
#include "jit/llvm/emit/region_kernel.h"
#include "jit/llvm/warp_matrix.h"

namespace tektite::gpu {
namespace {

using ir::Dim;
using ir::Dims;
using ir::DType;
using loop::Indices;
using loop::kMatrixColumns;
using loop::kMatrixDepth;
using loop::kMatrixRows;
using loop::Value;
using Along = ContractionView::Along;
using Values = std::vector<Value>;

// Elements of k in a step, and steps in shared memory.
constexpr int64_t kDepth = 32, kStages = 3;
// Blocks that keep a large card busy.
constexpr int64_t kManyBlocks = 132;
// A number of rows or columns that is not known.
constexpr int64_t kUsual = 1024;
// All registers of a thread: the sums alone are 64.
constexpr int kResidentThreads = 256;
// Single elements that are under way at once; fewer where their indices take long to work out
// (images), since that code is there for each.
constexpr int64_t kAtOnce = 4, kHeavyAtOnce = 2;
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
constexpr Tile kLarge = {2, 4, 4, 4}, kMedium = {2, 2, 2, 4}, kFlat = {1, 4, 1, 4};

// An operand's part in a step.
struct Side {
  const ir::Node* operand;
  bool is_lhs;
  Dim across;    // m or n
  bool along_k;  // the direction of its rows, in memory and in the tile
  bool vectors;  // whole chunks of 8 elements lie side by side
  MatrixTile tile;
  int64_t at;  // in a stage
};

class MatrixContraction {
 public:
  MatrixContraction(const ir::Graph& region, const ContractionView& view, loop::Kernel* kernel)
      : region_(region),
        view_(view),
        kernel_(*kernel),
        b_(kernel),
        batch_(Product(view.batch())),
        m_(Product(view.m())),
        n_(Product(view.n())),
        k_(Product(view.k())),
        dtype_(view.root().operand_shape(0).dtype()),
        tile_(ChooseTile()),
        lhs_(MakeSide(true)),
        rhs_(MakeSide(false)) {}

  absl::Status Run() {
    for (const Dim& size : {m_, n_, k_}) Note(RequireNarrow(kernel_, size));
    const Dim row_tiles = CeilDiv(m_, tile_.rows()), column_tiles = CeilDiv(n_, tile_.columns());
    kernel_.launch.threads = static_cast<int>(tile_.threads());
    kernel_.launch.blocks = batch_ * row_tiles * column_tiles;
    kernel_.launch.resident_threads = kResidentThreads;
    const Indices block = SplitNarrowIndex(b_, b_.BlockIndex(), {batch_, row_tiles, column_tiles});
    index_ = SplitNarrowIndex(b_, block[0].base, view_.batch());
    first_row_ = b_.Mul(block[1].base, b_.Index(tile_.rows()));
    first_column_ = b_.Mul(block[2].base, b_.Index(tile_.columns()));
    const Value warp = b_.DivNarrow(b_.ThreadIndex(), loop::kWarpThreads);
    warp_row_ = b_.DivNarrow(warp, tile_.across);
    warp_column_ = b_.RemNarrow(warp, tile_.across);
    // The sums are staged where the steps were; a float is two elements.
    shared_ = b_.AllocateShared(
        dtype_, std::max(kStages * StageElements(), 2 * StagedRows() * StagedStride()));

    Values sums(static_cast<size_t>(tile_.row_parts * tile_.column_parts),
                b_.Splat(b_.Float(DType::kF32, 0), loop::kSumLanes));
    if (k_ != Dim(0)) sums = Accumulate(std::move(sums));
    Finish(sums);
    return status_;
  }

 private:
  Tile ChooseTile() const {
    const int64_t rows = m_.value_or(kUsual), columns = n_.value_or(kUsual);
    if (rows <= kFlat.rows()) return kFlat;
    if (rows <= kMedium.rows() || columns <= kMedium.columns()) return kMedium;
    const Dim blocks = batch_ * CeilDiv(m_, kLarge.rows()) * CeilDiv(n_, kLarge.columns());
    return blocks.value_or(kManyBlocks) >= kManyBlocks ? kLarge : kMedium;
  }

  Side MakeSide(bool is_lhs) {
    const Along along = is_lhs ? view_.lhs_along() : view_.rhs_along();
    const bool along_k = along == Along::kK;
    const int64_t width = is_lhs ? tile_.rows() : tile_.columns();
    const ir::Node* operand = view_.root().operand(is_lhs ? 0 : 1).node;
    const Dims& run = along_k ? view_.k() : is_lhs ? view_.m() : view_.n();
    // Through other ops neighbours may not stay neighbours.
    const bool vectors = along != Along::kNothing && operand->op() == ir::Op::kParameter &&
                         !run.empty() && Mod(run.back(), MatrixTile::kChunk) == Dim(0);
    return {operand,
            is_lhs,
            is_lhs ? m_ : n_,
            along_k,
            vectors,
            MatrixTile(&b_, dtype_, along_k ? width : kDepth, along_k ? kDepth : width),
            is_lhs ? 0 : tile_.rows() * kDepth};
  }
  int64_t StageElements() const { return (tile_.rows() + tile_.columns()) * kDepth; }

  Value Both(Value a, Value b) { return a && b ? b_.And(a, b) : a ? a : b; }

  // The element, or the chunk of them, of a side that lies in the tile at `row` and `column` of the
  // step that begins at `first`.
  ContractionView::Element ElementAt(const Side& side, Value first, Value row, Value column,
                                     bool is_chunk) {
    const Value k = b_.Add(first, side.along_k ? column : row);
    const Value at = b_.Add(side.is_lhs ? first_row_ : first_column_, side.along_k ? row : column);
    const int64_t lanes = is_chunk ? MatrixTile::kChunk : 1;
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

  // What of the operand there is, zero where there is nothing.
  Value Read(const Side& side, const ContractionView::Element& element, int lanes) {
    return b_.IfElse(
        element.inside,
        [&] {
          loop::ElementEmitter e(&b_, lanes);
          loop::BindParameters(e, region_);
          const ir::Value v{const_cast<ir::Node*>(side.operand), 0};
          const Value read = lanes > 1 ? e.EmitVector(v, element.at) : e.Emit(v, element.at);
          Note(e.status());
          return Values{read};
        },
        [&] { return Values{b_.Splat(b_.Float(dtype_, 0), lanes)}; })[0];
  }

  Value LinearIndex(const ir::Shape& shape, const Indices& at) {
    const Dims strides = ir::RowMajorStrides(shape.dims());
    Value linear = b_.Index(0);
    for (size_t i = 0; i < at.size(); ++i) {
      if (shape.dim(static_cast<int>(i)) == Dim(1)) continue;
      linear = b_.Add(linear, b_.Mul(at[i].base, b_.Index(strides[i])));
    }
    return linear;
  }

  void FetchChunk(const Side& side, Value first, Value stage, Value number) {
    const Value row = b_.DivNarrow(number, side.tile.chunks());
    const Value chunk = b_.RemNarrow(number, side.tile.chunks());
    const auto element = ElementAt(side, first, row, b_.Mul(chunk, b_.Index(MatrixTile::kChunk)),
                                   /*is_chunk=*/true);
    const Value to = b_.Add(stage, side.tile.Chunk(row, chunk));
    const Value from = LinearIndex(side.operand->shape(), element.at);
    const Value buffer = b_.Buffer(static_cast<int>(side.operand->Int(ir::Attr::index)));
    if (loop::KnownAlignment(buffer, dtype_, from) >= loop::kMatrixRowBytes) {
      return b_.CopyAsync(shared_, to, buffer, from, dtype_, element.inside);
    }
    b_.Store(shared_, to, Read(side, element, static_cast<int>(MatrixTile::kChunk)));
  }

  // Elements one by one, from `first_round` on: all of them are under way before one is kept.
  void FetchElements(const Side& side, Value first, Value stage, Value first_round, int64_t count) {
    Values places, elements;
    for (int64_t i = 0; i < count; ++i) {
      const Value number = Number(b_.Add(first_round, b_.Index(i)));
      const Value row = b_.DivNarrow(number, side.tile.columns());
      const Value column = b_.RemNarrow(number, side.tile.columns());
      places.push_back(b_.Add(stage, side.tile.Element(row, column)));
      elements.push_back(Read(side, ElementAt(side, first, row, column, /*is_chunk=*/false), 1));
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
      const int64_t rounds = side.tile.elements() / tile_.threads();
      const int64_t at_once = view_.k().size() > 1 ? kHeavyAtOnce : kAtOnce;
      return b_.For(b_.Index(0), b_.Index(rounds), at_once,
                    [&](Value round) { FetchElements(side, first, stage, round, at_once); });
    }
    const int64_t chunks = side.tile.elements() / MatrixTile::kChunk;
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
    return b_.Mul(b_.RemNarrow(step, kStages), b_.Index(StageElements()));
  }

  // The first trips only fetch: so that code is there once.
  Values Accumulate(Values zeros) {
    constexpr int64_t kAhead = kStages - 1;
    const Values sums =
        b_.For(b_.Index(-kAhead * kDepth), b_.Index(k_), kDepth, std::move(zeros),
               [&](Value first, absl::Span<const Value> carried) {
                 const Values before(carried.begin(), carried.end());
                 const Value next = b_.Add(first, b_.Index(kAhead * kDepth));
                 const Value step = b_.DivNarrow(next, kDepth);
                 // The oldest stage has arrived, and nobody reads the one that is filled now.
                 b_.WaitForCopies(static_cast<int>(kAhead - 1));
                 b_.Barrier();
                 Fetch(lhs_, next, StageAt(step));
                 Fetch(rhs_, next, StageAt(step));
                 b_.CommitCopies();
                 return b_.IfElse(
                     b_.Compare("ge", first, b_.Index(0)),
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
    for (int64_t k = 0; k < kDepth; k += kMatrixDepth) {
      std::vector<Values> a;
      for (int64_t i = 0; i < tile_.row_parts; ++i) {
        const Value at = b_.Add(row, b_.Index(i * kMatrixRows));
        a.push_back(lhs_.tile.Left(shared_, lhs, at, k, !lhs_.along_k));
      }
      for (int64_t j = 0; j < tile_.column_parts; j += 2) {
        const Value at = b_.Add(column, b_.Index(j * kMatrixColumns));
        const Values pair = rhs_.tile.Right(shared_, rhs, k, at, !rhs_.along_k);
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
    // As SumPlace has it.
    const Value row = b_.DivNarrow(thread, 4);
    const Value column = b_.Add(b_.Mul(warp_column_, b_.Index(tile_.warp_columns())),
                                b_.Mul(b_.RemNarrow(thread, 4), b_.Index(2)));
    const Value at = b_.Add(b_.Mul(row, b_.Index(StagedStride())), column);
    for (int64_t i = 0; i < tile_.row_parts; ++i) {
      for (int64_t j = 0; j < tile_.column_parts; ++j) {
        const Value sum = sums[static_cast<size_t>(i * tile_.column_parts + j)];
        const int64_t to = i * kMatrixRows * StagedStride() + j * kMatrixColumns;
        b_.Store(shared_, b_.Add(at, b_.Index(to)), b_.Shuffle(sum, {}, {0, 1}));
        b_.Store(shared_, b_.Add(at, b_.Index(to + kMatrixRows / 2 * StagedStride())),
                 b_.Shuffle(sum, {}, {2, 3}));
      }
    }
  }

  // The rows of the result from `first` on.
  void StoreStaged(Value first) {
    const int64_t lanes = ResultLanes(), vectors = tile_.columns() / lanes;
    b_.For(b_.ThreadIndex(), b_.Index(StagedRows() * vectors), tile_.threads(), [&](Value v) {
      const Value row = b_.DivNarrow(v, vectors),
                  column = b_.Mul(b_.RemNarrow(v, vectors), b_.Index(lanes));
      const Value m = b_.Add(first, row), n = b_.Add(first_column_, column);
      const Value exists =
          b_.And(b_.Compare("lt", m, b_.Index(m_)), b_.Compare("lt", n, b_.Index(n_)));
      b_.If(exists, [&] {
        const Value at = b_.Add(b_.Mul(row, b_.Index(StagedStride())), column);
        const Value sum = b_.Load(shared_, DType::kF32, at, static_cast<int>(lanes));
        ContractionIndex index;
        index.batch = index_;
        index.m = SplitNarrowIndex(b_, m, view_.m());
        index.n = SplitNarrowIndex(b_, n, view_.n(), lanes);
        Note(StoreResults(b_, region_, view_.root(), view_.Result(b_, index), sum,
                          static_cast<int>(lanes)));
      });
    });
  }

  // Neighbours in a row of the result that are stored at once.
  int64_t ResultLanes() const {
    const Dims& space = region_.outputs()[0].shape().dims();
    const int64_t lanes = VectorElements(region_);
    const bool whole = view_.result_along() == Along::kN && !space.empty() &&
                       Mod(view_.n().back(), lanes) == Dim(0) && Mod(space.back(), lanes) == Dim(0);
    return whole ? lanes : 1;
  }

  void Note(const absl::Status& status) {
    if (status_.ok()) status_ = status;
  }

  const ir::Graph& region_;
  const ContractionView& view_;
  loop::Kernel& kernel_;
  loop::Builder b_;
  const Dim batch_, m_, n_, k_;
  const DType dtype_;
  const Tile tile_;
  const Side lhs_, rhs_;
  Indices index_;  // of the block's batch
  Value first_row_, first_column_, warp_row_, warp_column_, shared_;
  absl::Status status_;
};

}  // namespace

bool HasMatrixInstructions(const ContractionView& view) {
  const DType dtype = view.root().operand_shape(0).dtype();
  return (dtype == DType::kF16 || dtype == DType::kBF16) &&
         view.root().operand_shape(1).dtype() == dtype;
}

absl::Status EmitMatrixContraction(const ir::Graph& region, const ContractionView& view,
                                   loop::Kernel* kernel) {
  return MatrixContraction(region, view, kernel).Run();
}

}  // namespace tektite::gpu
