// softmax(logits(query x key)) x value in one pass over the keys, of f16 or bf16, with matrix
// instructions; sums in f32.
//
//   queries -> shared memory
//   for so many keys at a time, two steps in shared memory:
//     wait for the step, meet; send for the next keys and values    cp.async, a barrier
//     scores = query x key                                          ldmatrix, mma.m16n8k16
//     weights = exp(logits - largest so far)                        registers; four threads a row
//     context = context scaled down + weights x value               ldmatrix, mma.m16n8k16
//   context / sum of the weights -> shared memory -> whole rows
//
// A warp takes one or two tiles of 16 rows.  Scores lie in its threads' registers as sums of the
// first product do; rounded to the operands' type they lie as the second product's left side must,
// so weights never reach memory.  Four threads share a row: each adds up its own keys' weights, and
// the four sums are added at the end.
//
// Widths are filled up with zeros to whole tiles.  Operands whose rows are not whole, aligned
// vectors pass through registers, element by element.
//
// Keys that no row of a block sees are left out where that changes nothing (causal_skip.h): the
// loop over the keys runs twice, to the last one that a row sees and, where it must, over the
// others.
//
// Limits: other keys that a mask excludes are computed like the rest; widths up to 256.
#include "backends/gpu/emit/attention/matrix_attention.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "backends/gpu/emit/attention/context_sums.h"
#include "backends/gpu/emit/attention/online_softmax.h"
#include "backends/gpu/emit/attention/score_logits.h"
#include "backends/gpu/emit/contraction/matrix_tile.h"
#include "backends/gpu/emit/contraction/operand_reader.h"
#include "backends/gpu/emit/contraction/tile_loader.h"
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
using Values = std::vector<Value>;

constexpr int64_t kWarps = 4, kThreads = kWarps * kWarpThreads;
// Of both types.
constexpr int kElementBytes = 2;
constexpr int64_t kChunk = MatrixTile::Chunk(kElementBytes);
constexpr int64_t kMatrixDepth = loop::MatrixDepth(kElementBytes);
// Threads that share a row of a tile.
constexpr int64_t kRowThreads = 4;
// Two blocks share a multiprocessor, and a thread may have all the registers that leaves it.
constexpr int kResidentThreads = 2 * kThreads;
// Registers of sums and scores: the rest is for operands and addresses.  With 192 of them ptxas
// spills 23 registers.
constexpr int64_t kMostSums = 160;
// Keys and values of a step: more would leave no shared memory for a second block.
constexpr int64_t kMostStepElements = 64 * 256;

struct Plan {
  int64_t row_tiles;  // of a warp
  int64_t keys;       // of a step
  int64_t rows() const { return row_tiles * kMatrixRows; }
  int64_t block_rows() const { return kWarps * rows(); }
};
// In order of preference.
constexpr Plan kPlans[] = {{2, 64}, {2, 32}, {1, 64}, {1, 32}, {1, 16}};

// Whole turns of chunks, or few chunks: what a MatrixTile can have in a row.
int64_t TileColumns(int64_t width) {
  return width <= 16 ? 16 : width <= 32 ? 32 : RoundUp(width, 64);
}

// In shared memory: queries, and two steps of keys and values; at the end the result.
int64_t SharedElements(const AttentionView& view, const Plan& plan) {
  const int64_t width = TileColumns(view.width()), columns = TileColumns(view.columns());
  return std::max(plan.block_rows() * width + 2 * plan.keys * (width + columns),
                  plan.block_rows() * columns);
}

class MatrixAttention {
 public:
  MatrixAttention(const AttentionView& view, const Plan& plan, CausalSkip* skip,
                  loop::Kernel* kernel)
      : view_(view),
        plan_(plan),
        skip_(skip),
        kernel_(*kernel),
        b_(kernel),
        dtype_(view.dtype()),
        rows_(view.rows()),
        keys_(view.keys()),
        column_tiles_(CeilDiv(view.columns(), kMatrixDepth) * (kMatrixDepth / kMatrixColumns)),
        reader_(&b_, view.region()),
        logits_(&b_, view, plan.keys),
        query_(QueryLoader()),
        key_(KeyLoader()),
        value_(ValueLoader()) {}

  absl::Status Run() {
    for (const Dim& size : {rows_, keys_}) status_.Update(RequireNarrow(kernel_, size));
    const Dim row_blocks = CeilDiv(rows_, plan_.block_rows());
    kernel_.launch.threads = kThreads;
    kernel_.launch.blocks = view_.batch() * row_blocks;
    kernel_.launch.resident_threads = kResidentThreads;
    if (skip_ != nullptr) skip_->Enter(&b_, kWarps);
    const Indices block = SplitNarrowIndex(b_, b_.BlockIndex(), {view_.batch(), row_blocks});
    batch_ = view_.Batch(b_, block[0].base);
    first_row_ = b_.Mul(block[1].base, b_.Index(plan_.block_rows()));
    warp_row_ = b_.Mul(b_.DivNarrow(b_.ThreadIndex(), kWarpThreads), b_.Index(plan_.rows()));
    // The result is staged where the operands were.
    shared_ = b_.AllocateShared(dtype_, SharedElements(view_, plan_));
    Values rows;
    for (int64_t i = 0; i < plan_.row_tiles * kThreadRows; ++i) {
      rows.push_back(b_.Add(first_row_, OwnRow(i)));
    }
    logits_.SetRows(batch_, rows);

    Load(query_, first_row_, rows_, b_.Index(0));
    State state =
        skip_ == nullptr ? Walk(b_.Index(0), b_.Index(keys_), Zeros()) : WalkSeen(block[0].base);
    b_.WaitForCopies(0);
    Finish(std::move(state));
    status_.Update(reader_.status());
    status_.Update(logits_.status());
    return status_;
  }

 private:
  // The context's tiles, row tile by row tile; then the softmax of each row tile.
  using State = Values;
  size_t SoftmaxAt(int64_t row_tile) const {
    return static_cast<size_t>(plan_.row_tiles * column_tiles_ + 2 * row_tile);
  }
  OnlineSoftmax SoftmaxOf(const State& state, int64_t row_tile) const {
    return {state[SoftmaxAt(row_tile)], state[SoftmaxAt(row_tile) + 1]};
  }
  State Zeros() {
    State state(static_cast<size_t>(plan_.row_tiles * column_tiles_), ZeroTile());
    for (int64_t row_tile = 0; row_tile < plan_.row_tiles; ++row_tile) {
      const OnlineSoftmax softmax = OnlineSoftmax::Empty(b_);
      state.push_back(softmax.largest);
      state.push_back(softmax.sum);
    }
    return state;
  }
  Value ZeroTile() { return b_.Splat(b_.Float(DType::kF32, 0), loop::kSumLanes); }

  // The thread's row in the block: the first of tile 0, the second, the first of tile 1, ...
  Value OwnRow(int64_t number) {
    const Value in_tile = b_.DivNarrow(b_.RemNarrow(b_.ThreadIndex(), kWarpThreads), kRowThreads);
    return b_.Add(b_.Add(warp_row_, in_tile), b_.Index(number * kMatrixRows / kThreadRows));
  }

  // ---- operands ----

  TileLoader MakeLoader(ir::Value operand, bool along_rows, MatrixTile::Layout layout,
                        int64_t width) {
    // Through other ops neighbours may not stay neighbours.
    const bool vectors = along_rows && operand.node->op() == Op::kParameter && width % kChunk == 0;
    return {operand, MatrixTile(&b_, dtype_, layout), width, vectors, {}};
  }
  TileLoader QueryLoader() {
    TileLoader loader = MakeLoader(view_.nodes().scores->operand(0), view_.QueryIsAlongWidth(),
                                   {plan_.block_rows(), TileColumns(view_.width())}, view_.width());
    loader.place = [this](Value row, Value k, int64_t lanes) {
      return view_.Query(b_, batch_, row, k, lanes);
    };
    return loader;
  }
  TileLoader KeyLoader() {
    TileLoader loader = MakeLoader(view_.nodes().scores->operand(1), view_.KeyIsAlongWidth(),
                                   {plan_.keys, TileColumns(view_.width())}, view_.width());
    loader.place = [this](Value key, Value k, int64_t lanes) {
      return view_.Key(b_, batch_, key, k, lanes);
    };
    return loader;
  }
  TileLoader ValueLoader() {
    TileLoader loader = MakeLoader(view_.nodes().context->operand(1), view_.ValueIsAlongColumns(),
                                   {plan_.keys, TileColumns(view_.columns()), /*transposed=*/true},
                                   view_.columns());
    loader.place = [this](Value key, Value column, int64_t lanes) {
      return view_.OfValue(b_, batch_, key, column, lanes);
    };
    return loader;
  }

  void Load(const TileLoader& loader, Value first, const Dim& end, Value at) {
    loader.Load(b_, reader_, shared_, at, first, end);
  }
  // Queries come first in shared memory, then two stages of keys, then of values.
  Value KeysAt(Value step) { return StageAt(query_.tile.elements(), key_.tile, step); }
  Value ValuesAt(Value step) {
    return StageAt(query_.tile.elements() + 2 * key_.tile.elements(), value_.tile, step);
  }
  Value StageAt(int64_t begin, const MatrixTile& tile, Value step) {
    return b_.Add(b_.Index(begin), b_.Mul(b_.RemNarrow(step, 2), b_.Index(tile.elements())));
  }

  // ---- a step ----

  // Keys from `begin` on; the first trip only fetches: so that code is there once.
  State Walk(Value begin, Value end, State state) {
    return b_.For(b_.Sub(begin, b_.Index(plan_.keys)), end, plan_.keys, std::move(state),
                  [&](Value first, absl::Span<const Value> carried) {
                    return Step(begin, first, State(carried.begin(), carried.end()));
                  });
  }

  // Keys that a row sees, then the others unless they add nothing.
  State WalkSeen(Value batch) {
    const Value seen_end = skip_->SeenEnd(first_row_, plan_.block_rows(), plan_.keys);
    return b_.For(b_.Index(0), b_.Index(2), 1, Zeros(),
                  [&](Value turn, absl::Span<const Value> carried) {
                    State state(carried.begin(), carried.end());
                    const Value is_first = b_.Compare("eq", turn, b_.Index(0));
                    const Value over = b_.IfElse(
                        is_first, [&] { return Values{b_.Int(DType::kBool, 0)}; },
                        [&] {
                          Values largest;
                          for (int64_t tile = 0; tile < plan_.row_tiles; ++tile) {
                            largest.push_back(SoftmaxOf(state, tile).largest);
                          }
                          return Values{skip_->IsOver(batch, seen_end, largest)};
                        })[0];
                    const Value begin = b_.Select(is_first, b_.Index(0), seen_end);
                    const Value nowhere = b_.Index(-plan_.keys);
                    const Value end = b_.Select(is_first, seen_end, b_.Index(keys_));
                    return Walk(begin, b_.Select(over, nowhere, end), std::move(state));
                  });
  }

  State Step(Value begin, Value first, const State& state) {
    const Value next = b_.Add(first, b_.Index(plan_.keys));
    const Value step = b_.DivNarrow(next, plan_.keys);
    // The keys have arrived, and nobody reads those whose place is filled now.
    b_.WaitForCopies(0);
    b_.Barrier();
    Load(key_, next, keys_, KeysAt(step));
    Load(value_, next, keys_, ValuesAt(step));
    b_.CommitCopies();
    return b_.IfElse(
        b_.Compare("ge", first, begin),
        [&] {
          const Value own = b_.Add(step, b_.Index(1));
          return Attend(first, KeysAt(own), ValuesAt(own), state);
        },
        [&] { return state; });
  }

  State Attend(Value first, Value keys, Value values, State state) {
    Values scores = Scores(keys);
    logits_.TurnScores(first, &scores);
    Values factors;
    for (int64_t row_tile = 0; row_tile < plan_.row_tiles; ++row_tile) {
      OnlineSoftmax softmax = SoftmaxOf(state, row_tile);
      const auto tiles = absl::MakeSpan(scores).subspan(static_cast<size_t>(row_tile * KeyTiles()),
                                                        static_cast<size_t>(KeyTiles()));
      factors.push_back(softmax.TakeLogits(b_, tiles));
      state[SoftmaxAt(row_tile)] = softmax.largest;
      state[SoftmaxAt(row_tile) + 1] = softmax.sum;
    }
    ScaleSums(b_, factors, absl::MakeSpan(state).subspan(0, SoftmaxAt(0)));
    AddContext(values, scores, &state);
    return state;
  }

  int64_t KeyTiles() const { return plan_.keys / kMatrixColumns; }
  Value& ScoreOf(Values& scores, int64_t row_tile, int64_t key_tile) const {
    return scores[static_cast<size_t>(row_tile * KeyTiles() + key_tile)];
  }

  Values Scores(Value keys) {
    Values scores(static_cast<size_t>(plan_.row_tiles * KeyTiles()), ZeroTile());
    for (int64_t k = 0; k < view_.width(); k += kMatrixDepth) {
      std::vector<Values> queries;
      for (int64_t tile = 0; tile < plan_.row_tiles; ++tile) {
        const Value row = b_.Add(warp_row_, b_.Index(tile * kMatrixRows));
        queries.push_back(query_.tile.Left(shared_, b_.Index(0), row, k));
      }
      for (int64_t pair = 0; pair < KeyTiles(); pair += 2) {
        const Values both = key_.tile.Right(shared_, keys, k, b_.Index(pair * kMatrixColumns));
        Multiply(queries, both, [&](int64_t tile, int64_t half) -> Value& {
          return ScoreOf(scores, tile, pair + half);
        });
      }
    }
    return scores;
  }

  // Adds to the sums of each row tile its left side times the two right sides.
  void Multiply(const std::vector<Values>& left, const Values& both,
                const std::function<Value&(int64_t tile, int64_t half)>& sum) {
    for (int64_t tile = 0; tile < plan_.row_tiles; ++tile) {
      for (int64_t half = 0; half < 2; ++half) {
        const auto right = absl::MakeConstSpan(both).subspan(
            static_cast<size_t>(half) * loop::kRightParts, loop::kRightParts);
        Value& of_tile = sum(tile, half);
        of_tile = b_.WarpMultiply(left[static_cast<size_t>(tile)], right, of_tile);
      }
    }
  }

  // ---- the context ----

  Value& ContextOf(State* state, int64_t row_tile, int64_t column_tile) const {
    return (*state)[static_cast<size_t>(row_tile * column_tiles_ + column_tile)];
  }

  void AddContext(Value values, Values& weights, State* state) {
    for (int64_t k = 0; k < plan_.keys; k += kMatrixDepth) {
      std::vector<Values> left;
      for (int64_t tile = 0; tile < plan_.row_tiles; ++tile) {
        const Value* const first = &ScoreOf(weights, tile, k / kMatrixColumns);
        left.push_back(WeightParts(b_, absl::MakeConstSpan(first, kThreadRows), dtype_));
      }
      for (int64_t pair = 0; pair < column_tiles_; pair += 2) {
        const Values both = value_.tile.Right(shared_, values, k, b_.Index(pair * kMatrixColumns));
        Multiply(left, both, [&](int64_t tile, int64_t half) -> Value& {
          return ContextOf(state, tile, pair + half);
        });
      }
    }
  }

  // ---- the result ----

  MatrixTile StagedTile() {
    return MatrixTile(&b_, dtype_, {plan_.block_rows(), TileColumns(view_.columns())});
  }

  void Finish(State state) {
    const MatrixTile staged = StagedTile();
    b_.Barrier();
    for (int64_t tile = 0; tile < plan_.row_tiles; ++tile) {
      const Value inverse = OneOverSum(b_, SoftmaxOf(state, tile), keys_);
      for (int64_t column = 0; column < column_tiles_; ++column) {
        const Value context = b_.Mul(ContextOf(&state, tile, column), SpreadRows(b_, inverse));
        for (int half = 0; half < kThreadRows; ++half) {
          // A tile's 8 columns are a chunk.
          const Value chunk = staged.ChunkAt(OwnRow(tile * kThreadRows + half), b_.Index(column));
          const Value own = b_.Mul(b_.RemNarrow(b_.ThreadIndex(), kRowThreads), b_.Index(2));
          b_.Store(shared_, b_.Add(chunk, own), b_.Convert(RowOf(b_, context, half), dtype_));
        }
      }
    }
    b_.Barrier();
    Store(staged);
  }

  void Store(const MatrixTile& staged) {
    const int64_t columns = view_.columns();
    const int64_t lanes = columns % kChunk == 0 ? kChunk : 1, vectors = columns / lanes;
    const ir::Shape& shape = view_.region().outputs()[0].shape();
    b_.For(b_.ThreadIndex(), b_.Index(plan_.block_rows() * vectors), kThreads, [&](Value v) {
      const Value in_block = b_.DivNarrow(v, vectors);
      const Value column = b_.Mul(b_.RemNarrow(v, vectors), b_.Index(lanes));
      const Value row = b_.Add(first_row_, in_block);
      b_.If(b_.Compare("lt", row, b_.Index(rows_)), [&] {
        const Value context =
            b_.Load(shared_, dtype_, staged.Element(in_block, column), static_cast<int>(lanes));
        const Indices at = view_.ResultAt(b_, batch_, row, loop::At(column));
        b_.Store(b_.Buffer(view_.region().num_parameters()), LinearIndex(b_, shape, at), context);
      });
    });
  }

  const AttentionView& view_;
  const Plan plan_;
  CausalSkip* const skip_;
  loop::Kernel& kernel_;
  loop::Builder b_;
  const DType dtype_;
  const Dim rows_, keys_;
  const int64_t column_tiles_;  // an even number
  OperandReader reader_;
  ScoreLogits logits_;
  const TileLoader query_, key_, value_;
  Indices batch_;
  Value first_row_, warp_row_;  // of the block, and of the warp in it
  Value shared_;
  absl::Status status_;
};

bool Fits(const AttentionView& view, const Plan& plan, const EmitOptions& options) {
  const int64_t width = TileColumns(view.width()), columns = TileColumns(view.columns());
  const int64_t sums = plan.row_tiles * (RoundUp(view.columns(), kMatrixDepth) + plan.keys) / 2;
  return sums <= kMostSums && plan.keys * (width + columns) <= kMostStepElements &&
         SharedElements(view, plan) * kElementBytes + CausalSkip::SharedBytes(kWarps) <=
             options.shared_bytes;
}

}  // namespace

absl::Status EmitMatrixAttention(const AttentionView& view, const EmitOptions& options,
                                 CausalSkip* skip, loop::Kernel* kernel) {
  for (const Plan& plan : kPlans) {
    // A second tile of rows that no call has would be computed for nothing.
    const bool many = view.rows().value_or(plan.block_rows()) > plan.block_rows() / 2;
    if (plan.row_tiles > 1 && !many) continue;
    if (Fits(view, plan, options)) return MatrixAttention(view, plan, skip, kernel).Run();
  }
  return Unimplemented(view.nodes().context->Describe(), ": heads of ", view.width(), " and ",
                       view.columns());
}

}  // namespace tektite::gpu
