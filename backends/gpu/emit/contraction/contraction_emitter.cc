// Products [batch][m, k] x [k, n] with what follows them.
//
// A block computes a tile of the result.  It walks along k in steps of kDepth: while it multiplies
// what lies in one half of its shared memory, the next step's elements are on their way through
// registers into the other half, and those of the step behind it on their way from memory.  A
// thread has a register tile of 4 x 4 results, or 2 x 2 such tiles that lie half a block's tile
// apart, so that the threads of a warp read neighbouring words. k runs upwards for each result, one
// fused multiply-add after the other; a long sum of floats is one of the sums of 256 terms each.
//
// At the end the sums pass through the shared memory once more, so that results are stored, and
// what the epilogue reads is loaded, in whole rows; and so that the epilogue's code is there once.
//
// A convolution whose groups have few features (a depthwise one) fills no tiles: there a thread
// takes a result.
//
// Products of few rows, and those of f16, bf16 and bytes, have kernels of their own: large ones of
// cards with instructions for warpgroups, and all others.
//
// Where few blocks would have long sums they share their terms (split_sums.h).
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "backends/gpu/emit/contraction/contraction_sizes.h"
#include "backends/gpu/emit/contraction/contraction_view.h"
#include "backends/gpu/emit/contraction/few_rows_contraction.h"
#include "backends/gpu/emit/contraction/matrix_contraction.h"
#include "backends/gpu/emit/contraction/split_sums.h"
#include "backends/gpu/emit/contraction/sum_chains.h"
#include "backends/gpu/emit/contraction/warpgroup_contraction.h"
#include "backends/gpu/emit/emitter.h"
#include "backends/gpu/emit/names.h"
#include "backends/gpu/emit/root_epilogue.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"
#include "jit/llvm/emit/region_kernel.h"
#include "jit/target/schedules.h"

namespace tektite::gpu {
namespace {

using Along = ContractionView::Along;
using Values = std::vector<Value>;

// Lanes of a register tile's rows and columns, and elements of k in a step.
constexpr int64_t kLanes = 4, kDepth = 16;
// Steps between a load and the products that need it.
constexpr int64_t kAhead = 2;
// Added to the rows of a tile in shared memory, so that columns lie in different banks.
constexpr int64_t kPadding = 4;
// Copies of a step's body: the assembler moves loads of the next element up.
constexpr int kUnroll = 4;
// Enough to hide what a step waits for, and few enough for its registers.
constexpr int kResidentThreads = 256;

struct Tile {
  int64_t row_threads, column_threads;
  int64_t splits;  // register tiles of a thread in either direction
  int64_t rows() const { return row_threads * kLanes * splits; }
  int64_t columns() const { return column_threads * kLanes * splits; }
  int64_t threads() const { return row_threads * column_threads; }
};
constexpr Tile kLarge = {16, 16, 2}, kMedium = {16, 16, 1}, kFlat = {8, 16, 1};

// Narrow integers wrap around at the end as they would at every step.
DType AccumulatorOf(DType dtype) {
  if (ir::IsFloat(dtype)) return ir::DTypeBytes(dtype) < 4 ? DType::kF32 : dtype;
  return ir::DTypeBytes(dtype) < 4 ? DType::kS32 : dtype;
}

// An operand's part in a step: [kDepth][across] elements, of which every thread moves some.
struct Side {
  const Node* operand;
  bool is_lhs;
  Dim across;     // m or n
  int64_t width;  // of the tile
  int64_t lanes;  // of a vector
  bool along_k;   // the vector's direction, and that of neighbouring threads
  int64_t at;     // of its halves in the shared memory
  int64_t stride() const { return width + kPadding; }
};

class ContractionEmitter {
 public:
  ContractionEmitter(const ir::Graph& region, const ContractionView& view, loop::Kernel* kernel)
      : region_(region),
        view_(view),
        kernel_(*kernel),
        b_(kernel),
        batch_(Product(view.batch())),
        m_(Product(view.m())),
        n_(Product(view.n())),
        k_(Product(view.k())),
        dtype_(view.root().operand_shape(0).dtype()),
        accumulator_(AccumulatorOf(dtype_)),
        in_chains_(ir::IsFloat(accumulator_) && k_.value_or(kMostInChain + 1) > kMostInChain),
        tile_(ChooseTile()) {}

  // Blocks that share a result's terms: their sums wait for EmitSliceSums.
  int64_t slices() const { return slices_; }
  DType accumulator() const { return accumulator_; }

  absl::Status Run(bool by_tiles) {
    kernel_.launch.resident_threads = kResidentThreads;
    for (const Dim& size : {m_, n_, k_}) status_.Update(RequireNarrow(kernel_, size));
    if (by_tiles) {
      EmitTile();
    } else {
      EmitSingles();
    }
    return status_;
  }

 private:
  void EmitTile() {
    const Dim row_tiles = CeilDiv(m_, tile_.rows()), column_tiles = CeilDiv(n_, tile_.columns());
    kernel_.launch.threads = static_cast<int>(tile_.threads());
    const Dim blocks = batch_ * row_tiles * column_tiles;
    if (ir::IsFloat(accumulator_)) slices_ = ChooseSlices(blocks, k_);
    kernel_.launch.blocks = Dim(slices_) * blocks;
    // A launch has fewer than 2^31 blocks.
    const Indices block =
        SplitNarrowIndex(b_, b_.BlockIndex(), {slices_, batch_, row_tiles, column_tiles});
    slice_ = block[0].base;
    batch_index_ = block[1].base;
    index_ = SplitNarrowIndex(b_, batch_index_, view_.batch());
    first_row_ = b_.Mul(block[2].base, b_.Index(tile_.rows()));
    first_column_ = b_.Mul(block[3].base, b_.Index(tile_.columns()));
    if (slices_ > 1) sums_.emplace(&b_, view_, slices_, accumulator_);
    row_thread_ = b_.Div(b_.ThreadIndex(), b_.Index(tile_.column_threads));
    column_thread_ = b_.Rem(b_.ThreadIndex(), b_.Index(tile_.column_threads));

    const Side lhs = MakeSide(0), rhs = MakeSide(2 * kDepth * lhs.stride());
    const int64_t halves = rhs.at + 2 * kDepth * rhs.stride();
    const int64_t staged = tile_.rows() / tile_.splits * StagedStride();
    shared_ = b_.AllocateShared(accumulator_, std::max(halves, staged));

    Values sums(static_cast<size_t>(kLanes * tile_.splits * tile_.splits),
                b_.Splat(b_.Constant(accumulator_, 0), static_cast<int>(kLanes)));
    if (k_ != Dim(0)) sums = Accumulate(lhs, rhs, sums);
    b_.For(b_.Index(0), b_.Index(tile_.splits), 1, [&](Value split) {
      b_.Barrier();
      Finish(sums, split);
    });
  }

  // A result for each thread, for groups of few features.
  void EmitSingles() {
    ForEachResult(b_, view_.root(), [&](const Indices& position) {
      ContractionIndex index = view_.OfResult(b_, position);
      const auto add = [&](Value k, absl::Span<const Value> carried) {
        index.k = SplitNarrowIndex(b_, k, view_.k());
        const auto lhs = view_.Lhs(b_, index), rhs = view_.Rhs(b_, index);
        const auto multiply = [&] {
          const Value x = Read(view_.root().operand(0), {lhs.at, {}}, {}, 1);
          const Value y = Read(view_.root().operand(1), rhs, {}, 1);
          return Values{MultiplyAdd(x, y, carried[0])};
        };
        if (!lhs.inside) return multiply();
        return b_.IfElse(lhs.inside, multiply, [&] { return Values{carried[0]}; });
      };
      const Values sum = b_.For(b_.Index(0), b_.Index(k_), 1, {b_.Constant(accumulator_, 0)}, add);
      status_.Update(StoreResults(b_, region_, view_.root(), position, sum[0], 1));
    });
  }

  Tile ChooseTile() const {
    const int64_t rows = m_.value_or(kUsual), columns = n_.value_or(kUsual);
    if (rows <= kFlat.rows()) return kFlat;
    const Dim blocks = batch_ * CeilDiv(m_, kLarge.rows()) * CeilDiv(n_, kLarge.columns());
    const bool many = blocks.value_or(kManyBlocks) >= kManyBlocks;
    // Single elements, with an address each, would take too many registers.
    const bool vectors = FetchLanes(0) == kLanes && FetchLanes(1) == kLanes;
    return many && vectors && columns > kMedium.columns() ? kLarge : kMedium;
  }

  Along AlongOf(int operand) const { return operand == 0 ? view_.lhs_along() : view_.rhs_along(); }

  // Elements of an operand that are read at once.
  int64_t FetchLanes(int operand) const {
    const Along along = AlongOf(operand);
    // Through other ops neighbours may not stay neighbours.
    if (along == Along::kNothing ||
        view_.root().operand(operand).node->op() != ir::Op::kParameter) {
      return 1;
    }
    const Dims& run = along == Along::kK ? view_.k() : operand == 0 ? view_.m() : view_.n();
    const int64_t lanes = std::min(kLanes, kVectorBytes / ir::DTypeBytes(dtype_));
    return !run.empty() && Mod(run.back(), lanes) == Dim(0) ? lanes : 1;
  }

  Side MakeSide(int64_t at) const {
    const bool is_lhs = at == 0;
    return {view_.root().operand(is_lhs ? 0 : 1).node,
            is_lhs,
            is_lhs ? m_ : n_,
            is_lhs ? tile_.rows() : tile_.columns(),
            FetchLanes(is_lhs ? 0 : 1),
            AlongOf(is_lhs ? 0 : 1) == Along::kK,
            at};
  }

  Value Both(Value a, Value b) { return a && b ? b_.And(a, b) : a ? a : b; }

  // Elements of an operand as the accumulator's type, zero where there are none.
  Value Read(ir::Value operand, const ContractionView::Element& element, Value exists,
             int64_t lanes) {
    const auto read = [&] {
      ElementEmitter e(&b_, static_cast<int>(lanes));
      loop::BindParameters(e, region_);
      Value v = lanes > 1 ? e.EmitVector(operand, element.at) : e.Emit(operand, element.at);
      status_.Update(e.status());
      return v.dtype() == accumulator_ ? v : b_.Convert(v, accumulator_);
    };
    const Value condition = Both(exists, element.inside);
    if (!condition) return read();
    return b_.IfElse(
        condition, [&] { return Values{read()}; },
        [&] { return Values{b_.Splat(b_.Constant(accumulator_, 0), static_cast<int>(lanes))}; })[0];
  }

  // Where vector `round` of this thread lies in a step: along k, which is the same in every round,
  // and across.
  std::pair<Value, Value> Place(const Side& side, int64_t round) {
    const int64_t vectors = kDepth / (side.along_k ? side.lanes : 1);  // along k
    const int64_t across = tile_.threads() / vectors;
    const Value by_k = side.along_k ? b_.Rem(b_.ThreadIndex(), b_.Index(vectors))
                                    : b_.Div(b_.ThreadIndex(), b_.Index(across));
    const Value by_across = side.along_k ? b_.Div(b_.ThreadIndex(), b_.Index(vectors))
                                         : b_.Rem(b_.ThreadIndex(), b_.Index(across));
    const int64_t lanes = side.along_k ? 1 : side.lanes;
    return {b_.Mul(by_k, b_.Index(side.along_k ? side.lanes : 1)),
            b_.Mul(b_.Add(by_across, b_.Index(round * across)), b_.Index(lanes))};
  }
  int64_t Rounds(const Side& side) const {
    return kDepth * side.width / side.lanes / tile_.threads();
  }

  // This thread's elements of the step that begins at `first`.
  Values Fetch(const Side& side, Value first) {
    Values fetched;
    for (int64_t round = 0; round < Rounds(side); ++round) {
      const auto [depth, across] = Place(side, round);
      const Value k = b_.Add(first, depth);
      const Value at = b_.Add(side.is_lhs ? first_row_ : first_column_, across);
      Value exists;
      if (Mod(side.across, side.width) != Dim(0)) {
        exists = b_.Compare("lt", at, b_.Index(side.across));
      }
      exists = Both(exists, b_.Compare("lt", k, b_.Index(k_)));
      ContractionIndex index;
      index.batch = index_;
      index.k = SplitNarrowIndex(b_, k, view_.k(), side.along_k ? side.lanes : 1);
      (side.is_lhs ? index.m : index.n) = SplitNarrowIndex(
          b_, at, side.is_lhs ? view_.m() : view_.n(), side.along_k ? 1 : side.lanes);
      const auto element = side.is_lhs ? view_.Lhs(b_, index) : view_.Rhs(b_, index);
      fetched.push_back(
          Read(ir::Value{const_cast<Node*>(side.operand), 0}, element, exists, side.lanes));
    }
    return fetched;
  }

  Value Half(const Side& side, Value half) {
    return b_.Add(b_.Index(side.at), b_.Mul(half, b_.Index(kDepth * side.stride())));
  }

  void Keep(const Side& side, const Values& fetched, Value half) {
    for (int64_t round = 0; round < Rounds(side); ++round) {
      const auto [depth, across] = Place(side, round);
      const Value v = fetched[static_cast<size_t>(round)];
      const Value at =
          b_.Add(Half(side, half), b_.Add(b_.Mul(depth, b_.Index(side.stride())), across));
      if (!side.along_k || side.lanes == 1) {
        b_.Store(shared_, at, v);
        continue;
      }
      for (int lane = 0; lane < side.lanes; ++lane) {
        b_.Store(shared_, b_.Add(at, b_.Index(lane * side.stride())), b_.ExtractLane(v, lane));
      }
    }
  }

  // From sums that are zero.  The first trips only fetch: so that code is there once.
  Values Accumulate(const Side& lhs, const Side& rhs, const Values& zeros) {
    Value begin = b_.Index(0), end = b_.Index(k_);
    if (slices_ > 1) {
      const int64_t terms = RoundUp(CeilDiv(k_.value(), slices_), kDepth);
      begin = b_.Mul(slice_, b_.Index(terms));
      end = b_.Min(b_.Add(begin, b_.Index(terms)), end);
    }
    // The chain, and the sum of those that have ended where there are several; then what was
    // fetched in the trip before.
    Values state = zeros;
    if (in_chains_) state.insert(state.end(), zeros.begin(), zeros.end());
    const size_t sums = state.size();
    for (const Side* side : {&lhs, &rhs}) {
      const Value none = b_.Splat(b_.Constant(accumulator_, 0), static_cast<int>(side->lanes));
      state.insert(state.end(), static_cast<size_t>(Rounds(*side)), none);
    }
    state = b_.For(b_.Sub(begin, b_.Index(kAhead * kDepth)), end, kDepth, std::move(state),
                   [&](Value first, absl::Span<const Value> carried) {
                     return Step(lhs, rhs, begin, first, zeros, carried);
                   });
    state.resize(sums);
    if (in_chains_) state = EndOfChains(b_, state);
    return state;
  }

  // Multiplies the step at `first`, keeps the next one, and fetches the one behind that: a step is
  // shorter than memory takes.
  Values Step(const Side& lhs, const Side& rhs, Value begin, Value first, const Values& zeros,
              absl::Span<const Value> carried) {
    static_assert(kAhead == 2, "the halves' numbers, and what is carried");
    const Value last = b_.Add(first, b_.Index(kAhead * kDepth));
    const Value half = b_.RemNarrow(b_.DivNarrow(last, kDepth), 2);
    const Value other = b_.Sub(b_.Index(1), half);
    const auto of_rhs = carried.end() - static_cast<std::ptrdiff_t>(Rounds(rhs));
    const auto of_lhs = of_rhs - static_cast<std::ptrdiff_t>(Rounds(lhs));
    Values state(carried.begin(), of_lhs);
    const Values x(of_lhs, of_rhs), y(of_rhs, carried.end());
    const Values next_x = Fetch(lhs, last), next_y = Fetch(rhs, last);
    state = b_.IfElse(
        b_.Compare("ge", first, begin), [&] { return Multiply(lhs, rhs, half, state); },
        [&] { return state; });
    if (in_chains_) {
      const Value terms = b_.Add(b_.Sub(first, begin), b_.Index(kMostInChain + kDepth));
      state = EndChain(b_, terms, state, zeros);
    }
    Keep(lhs, x, other);
    Keep(rhs, y, other);
    b_.Barrier();
    state.insert(state.end(), next_x.begin(), next_x.end());
    state.insert(state.end(), next_y.begin(), next_y.end());
    return state;
  }

  Value MultiplyAdd(Value x, Value y, Value sum) {
    return ir::IsFloat(accumulator_) ? b_.Fma(x, y, sum) : b_.Add(b_.Mul(x, y), sum);
  }

  // Adds a step's products to the chain, with which `state` begins.
  Values Multiply(const Side& lhs, const Side& rhs, Value half, const Values& state) {
    const size_t results = static_cast<size_t>(kLanes * tile_.splits * tile_.splits);
    Values sums(state.begin(), state.begin() + static_cast<std::ptrdiff_t>(results));
    const auto vectors = [&](const Side& side, Value depth, Value thread) {
      const Value row = b_.Add(Half(side, half), b_.Mul(depth, b_.Index(side.stride())));
      const Value first = b_.Add(row, b_.Mul(thread, b_.Index(kLanes)));
      Values all;
      for (int64_t s = 0; s < tile_.splits; ++s) {
        all.push_back(b_.Load(shared_, accumulator_,
                              b_.Add(first, b_.Index(s * side.width / tile_.splits)),
                              static_cast<int>(kLanes)));
      }
      return all;
    };
    loop::Builder::ForOptions options;
    options.unroll = kUnroll;
    sums = b_.For(
        b_.Index(0), b_.Index(kDepth), 1, std::move(sums),
        [&](Value depth, absl::Span<const Value> carried) {
          const Values x = vectors(lhs, depth, row_thread_),
                       y = vectors(rhs, depth, column_thread_);
          Values next;
          for (int64_t row = 0; row < kLanes * tile_.splits; ++row) {
            const Value one = b_.Splat(b_.ExtractLane(x[static_cast<size_t>(row / kLanes)],
                                                      static_cast<int>(row % kLanes)),
                                       static_cast<int>(kLanes));
            for (const Value& columns : y) {
              next.push_back(MultiplyAdd(one, columns, carried[next.size()]));
            }
          }
          return next;
        },
        options);
    sums.insert(sums.end(), state.begin() + static_cast<std::ptrdiff_t>(results), state.end());
    return sums;
  }

  int64_t StagedStride() const { return tile_.columns() + kPadding; }

  // Stores a part of the tile's rows: register tiles `split` of all threads.
  void Finish(const Values& sums, Value split) {
    for (int64_t row = 0; row < kLanes; ++row) {
      const Value at = b_.Add(b_.Mul(b_.Add(b_.Mul(row_thread_, b_.Index(kLanes)), b_.Index(row)),
                                     b_.Index(StagedStride())),
                              b_.Mul(column_thread_, b_.Index(kLanes)));
      for (int64_t s = 0; s < tile_.splits; ++s) {
        const auto sum = static_cast<size_t>(row * tile_.splits + s);
        Value v = sums[sum];
        if (tile_.splits > 1) {
          v = b_.Select(b_.Compare("eq", split, b_.Index(0)), v,
                        sums[sum + static_cast<size_t>(kLanes * tile_.splits)]);
        }
        b_.Store(shared_, b_.Add(at, b_.Index(s * tile_.columns() / tile_.splits)), v);
      }
    }
    b_.Barrier();
    const int64_t rows = tile_.rows() / tile_.splits, lanes = StoredLanes();
    const Value vectors = b_.Index(tile_.columns() / lanes);
    b_.For(b_.ThreadIndex(), b_.Index(rows * tile_.columns() / lanes), tile_.threads(),
           [&](Value v) {
             const Value row = b_.Div(v, vectors),
                         column = b_.Mul(b_.Rem(v, vectors), b_.Index(lanes));
             const Value m = b_.Add(b_.Add(first_row_, row), b_.Mul(split, b_.Index(rows)));
             const Value n = b_.Add(first_column_, column);
             const Value exists =
                 b_.And(b_.Compare("lt", m, b_.Index(m_)), b_.Compare("lt", n, b_.Index(n_)));
             b_.If(exists, [&] {
               const Value sum = b_.Load(shared_, accumulator_,
                                         b_.Add(b_.Mul(row, b_.Index(StagedStride())), column),
                                         static_cast<int>(lanes));
               if (sums_.has_value()) {
                 b_.Store(sums_->scratch(), sums_->At(slice_, batch_index_, m, n), sum);
                 return;
               }
               status_.Update(StoreSum(b_, region_, view_, index_, m, n, sum, lanes));
             });
           });
  }

  int64_t StoredLanes() const {
    return sums_.has_value() ? sums_->lanes() : ResultLanes(region_, view_, kLanes);
  }

  const ir::Graph& region_;
  const ContractionView& view_;
  loop::Kernel& kernel_;
  loop::Builder b_;
  const Dim batch_, m_, n_, k_;
  const DType dtype_, accumulator_;
  const bool in_chains_;  // long sums of floats are sums of chains, which keep more digits
  const Tile tile_;
  int64_t slices_ = 1;
  std::optional<SliceSums> sums_;
  Indices index_;  // of the block's batch
  Value slice_, batch_index_;
  Value first_row_, first_column_, row_thread_, column_thread_, shared_;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<EmittedKernel> EmitContraction(const Node& fusion, const std::string& name,
                                              const EmitOptions& options) {
  const ir::Graph& region = fusion.region();
  TEKTITE_ASSIGN_OR_RETURN(const ContractionView view, ContractionView::Create(region));
  TEKTITE_RETURN_IF_ERROR(CheckResults(region, view.root()));
  const bool singles = view.HasFewFeatures();
  if (singles && !view.HasShortSums()) {
    return Unimplemented(view.root().Describe(), ": long sums for few results");
  }
  EmittedKernel result;
  result.kernel = loop::MakeKernel(fusion, name);
  if (IsOfFewRows(view)) {
    TEKTITE_RETURN_IF_ERROR(EmitFewRows(region, view, result.kernel.get()));
    return result;
  }
  if (const auto plan =
          WarpgroupTiling::Of(view, target::ScheduleOf(fusion).implementation, options)) {
    TEKTITE_RETURN_IF_ERROR(EmitWarpgroups(region, view, *plan, result.kernel.get()));
    return result;
  }
  int64_t slices = 1;
  DType sums = MultipliesBytes(view) ? DType::kS32 : DType::kF32;
  if (!singles && HasMatrixInstructions(view, options)) {
    TEKTITE_ASSIGN_OR_RETURN(slices,
                             EmitMatrixContraction(region, view, options, result.kernel.get()));
  } else {
    ContractionEmitter emitter(region, view, result.kernel.get());
    TEKTITE_RETURN_IF_ERROR(emitter.Run(/*by_tiles=*/!singles));
    slices = emitter.slices();
    sums = emitter.accumulator();
  }
  if (slices > 1) {
    result.then.push_back(loop::MakeKernel(fusion, absl::StrCat(name, "_phase2")));
    TEKTITE_RETURN_IF_ERROR(EmitSliceSums(region, view, slices, sums, result.then[0].get()));
  }
  return result;
}

}  // namespace tektite::gpu
