// Products with wgmma and copies of tensors, sums in f32.
//
//   a thread of the first warpgroup                 the two other warpgroups
//   for each tile of the block                      for each tile of the block
//     for each step of k                              for each step of k
//       wait until the stage is free                    wait until the stage is full
//       copy a box of lhs, one of rhs                   begin 64 x n products of the step
//                                                       wait for those of the step before,
//                                                       whose stage is free then
//                                                     sums -> shared memory -> epilogue, whole rows
//
// Copies run ahead of the products by as many steps as shared memory has stages, also into the next
// tile while the epilogue of this one runs.  A block walks over tiles, which are numbered so that
// the blocks of a moment share rows and columns in the card's cache.  A warp stages its sums in
// shared memory of its own, some columns at a time, and waits for no other.
#include "backends/gpu/emit/contraction/warpgroup_contraction.h"

#include <algorithm>

#include "backends/gpu/emit/contraction/contraction_sizes.h"
#include "backends/gpu/emit/contraction/matrix_layout.h"
#include "backends/gpu/emit/names.h"
#include "backends/gpu/emit/root_epilogue.h"
#include "jit/base/status.h"
#include "jit/llvm/emit/region_kernel.h"
#include "jit/llvm/warp_matrix.h"
#include "jit/llvm/warpgroup.h"

namespace tektite::gpu {
namespace {

using loop::kGroupThreads;
using loop::kMatrixRows;
using loop::kProductDepth;
using loop::kProductRows;
using Values = std::vector<Value>;

// A warpgroup copies, two multiply.
constexpr int64_t kConsumers = 2, kTileRows = kConsumers * kProductRows;
constexpr int kThreads = kGroupThreads * (1 + kConsumers);
constexpr int64_t kConsumerWarps = kConsumers * loop::kGroupWarps;
// Of a thread: a multiprocessor has 65536, and the sums of a wide tile are 128.
constexpr int kProducerRegisters = 40, kConsumerRegisters = 232;
constexpr int64_t kSquare = 128, kWide = 256;
constexpr int64_t kFewestStages = 3, kMostStages = 6;
// Columns that a warp stages at once; rows of 4 threads begin 8 banks apart.
constexpr int64_t kStagedColumns = 32, kStagedStride = kStagedColumns + 8;
constexpr int64_t kStagedBytes =
    kConsumerWarps * kMatrixRows * kStagedStride * int64_t{sizeof(float)};
// Rows of tiles that blocks walk over together, so that columns are still in the cache.
constexpr int64_t kRowsAtOnce = 8;
// A tile of fewer rows or columns would be half empty; a shorter sum is over before the stages are
// full.
constexpr int64_t kFewest = 64;
// A block's time for a wide tile over that for a square one, 1.57 to 1.74 on an H200 for sums of
// 2048 to 4096 terms; of a short sum most of the time is the epilogue's.
constexpr double kWideTime = 1.65;
constexpr int64_t kLongSum = 256;

constexpr int64_t StageBytes(int64_t columns) {
  return (kTileRows + columns) * loop::kSharedRowBytes;
}

int64_t StagesIn(int64_t columns, int64_t shared_bytes) {
  const int64_t signals = 2 * kMostStages * loop::kSignalBytes;
  return std::min((shared_bytes - kStagedBytes - signals) / StageBytes(columns), kMostStages);
}

// Of an operand, stored as [batch, across, k] or [batch, k, across].
std::optional<WarpgroupTiling::Side> SideOf(const ContractionView& view, bool is_lhs) {
  const ir::Node& root = view.root();
  const int number = is_lhs ? 0 : 1;
  const ir::Node& operand = *root.operand(number).node;
  bool summed_first = false;
  const auto side = is_lhs ? &ops::ContractionAxis::lhs : &ops::ContractionAxis::rhs;
  if (view.k().empty() || operand.op() != ir::Op::kParameter ||
      !IsRowOfMatrices(view.axes(), side, root.operand_shape(number).rank(), &summed_first)) {
    return std::nullopt;
  }
  const Dim row = summed_first ? Product(is_lhs ? view.m() : view.n()) : Product(view.k());
  if (Mod(row, loop::kChunkBytes / 2) != Dim(0)) return std::nullopt;
  return WarpgroupTiling::Side{static_cast<int>(operand.Int(ir::Attr::index)), summed_first};
}

class WarpgroupContraction {
 public:
  WarpgroupContraction(const ir::Graph& region, const ContractionView& view,
                       const WarpgroupTiling& plan, loop::Kernel* kernel)
      : region_(region),
        view_(view),
        plan_(plan),
        kernel_(*kernel),
        b_(kernel),
        batch_(Product(view.batch())),
        m_(Product(view.m())),
        n_(Product(view.n())),
        k_(Product(view.k())),
        steps_(CeilDiv(k_, kProductDepth)),
        row_tiles_(CeilDiv(m_, kTileRows)),
        column_tiles_(CeilDiv(n_, plan.columns)),
        tiles_(batch_ * row_tiles_ * column_tiles_),
        blocks_(Min(tiles_, plan.multiprocessors)),
        dtype_(view.root().operand_shape(0).dtype()) {}

  absl::Status Run() {
    // Blocks count their steps, too.
    for (const Dim& size : {m_, n_, k_, tiles_, CeilDiv(tiles_, plan_.multiprocessors) * steps_}) {
      status_.Update(RequireNarrow(kernel_, size));
    }
    kernel_.launch.threads = kThreads;
    kernel_.launch.blocks = blocks_;
    kernel_.launch.resident_threads = kThreads;
    AddMap(0, m_, kTileRows);
    AddMap(1, n_, plan_.columns);
    shared_ = b_.AllocateShared(dtype_, plan_.stages * StageElements());
    signals_ = b_.AllocateShared(DType::kS64, 2 * plan_.stages);
    staged_ = b_.AllocateShared(DType::kF32, kStagedBytes / int64_t{sizeof(float)});
    b_.If(b_.Compare("eq", b_.ThreadIndex(), b_.Index(0)), [&] {
      for (int64_t stage = 0; stage < plan_.stages; ++stage) {
        b_.InitSignal(signals_, Full(b_.Index(stage)), 1);
        b_.InitSignal(signals_, Free(b_.Index(stage)), kConsumerWarps);
      }
    });
    b_.Barrier();
    b_.Roles(
        kGroupThreads, {kProducerRegisters, kConsumerRegisters}, [&] { Produce(); },
        [&] { Consume(); });
    return status_;
  }

 private:
  void AddMap(size_t number, const Dim& across, int64_t width) {
    const WarpgroupTiling::Side& side = plan_.sides[number];
    const Dim &inner = side.transposed ? across : k_, &outer = side.transposed ? k_ : across;
    loop::TensorMap map;
    map.buffer = side.buffer;
    map.sizes = {inner, outer, batch_};
    map.strides = {inner, inner * outer};
    map.box = {kProductDepth, side.transposed ? kProductDepth : static_cast<int>(width), 1};
    kernel_.tensor_maps.push_back(std::move(map));
  }

  int64_t StageElements() const { return StageBytes(plan_.columns) / ir::DTypeBytes(dtype_); }
  int64_t PieceElements() const { return loop::kPieceBytes / ir::DTypeBytes(dtype_); }
  // Signals of a stage: its copies are there; it has been read.
  Value Full(Value stage) { return stage; }
  Value Free(Value stage) { return b_.Add(stage, b_.Index(plan_.stages)); }

  // Where a block stands in its steps, of all its tiles.
  struct Step {
    Value stage, at, parity;
  };
  Step StepAt(Value tile, Value step) {
    const Value number = b_.Add(b_.Mul(tile, b_.Index(steps_)), step);
    const Value stage = b_.RemNarrow(number, plan_.stages);
    return {stage, b_.Mul(stage, b_.Index(StageElements())),
            b_.RemNarrow(b_.DivNarrow(number, plan_.stages), 2)};
  }

  struct Tile {
    Value batch, first_row, first_column;
  };
  // kRowsAtOnce rows of tiles, column by column, then the next ones.
  Tile TileAt(Value tile) {
    const Value number = b_.Add(b_.BlockIndex(), b_.Mul(tile, b_.BlockCount()));
    const Dim matrix = row_tiles_ * column_tiles_;
    const Value in_matrix = b_.RemNarrow(number, matrix);
    const Dim at_once = kRowsAtOnce * column_tiles_, rest = Mod(row_tiles_, kRowsAtOnce);
    const Value first = b_.Mul(b_.DivNarrow(in_matrix, at_once), b_.Index(kRowsAtOnce));
    const Value in_rows = b_.RemNarrow(in_matrix, at_once);
    Value row = b_.RemNarrow(in_rows, kRowsAtOnce), column = b_.DivNarrow(in_rows, kRowsAtOnce);
    if (rest != Dim(0)) {  // the last ones are fewer
      const Value whole =
          b_.Compare("le", b_.Add(first, b_.Index(kRowsAtOnce)), b_.Index(row_tiles_));
      row = b_.Select(whole, row, b_.RemNarrow(in_rows, rest));
      column = b_.Select(whole, column, b_.DivNarrow(in_rows, rest));
    }
    return {b_.DivNarrow(number, matrix), b_.Mul(b_.Add(first, row), b_.Index(kTileRows)),
            b_.Mul(column, b_.Index(plan_.columns))};
  }

  void ForEachTile(const std::function<void(Value)>& body) {
    const bool is_one = tiles_.is_constant() && tiles_.value() <= plan_.multiprocessors;
    const Value left = b_.Sub(b_.Index(tiles_ + blocks_ - 1), b_.BlockIndex());
    b_.For(b_.Index(0), is_one ? b_.Index(1) : b_.DivNarrow(left, blocks_), 1, body);
  }

  void Produce() {
    b_.If(b_.Compare("eq", b_.ThreadIndex(), b_.Index(0)), [&] {
      b_.AcquireTensor(0);
      b_.AcquireTensor(1);
      ForEachTile([&](Value tile) {
        const Tile at = TileAt(tile);
        b_.For(b_.Index(0), b_.Index(steps_), 1, [&](Value step) {
          const Step here = StepAt(tile, step);
          b_.WaitForSignal(signals_, Free(here.stage), b_.Sub(b_.Index(1), here.parity));
          b_.Arrive(signals_, Full(here.stage), b_.Index(StageBytes(plan_.columns)));
          const Value k = b_.Mul(step, b_.Index(kProductDepth));
          Copy(0, kTileRows, here.at, k, at.first_row, at.batch, here.stage);
          Copy(1, plan_.columns, b_.Add(here.at, b_.Index(RightAt())), k, at.first_column, at.batch,
               here.stage);
        });
      });
    });
  }

  // Elements of lhs in a stage.
  int64_t RightAt() const { return kTileRows * kProductDepth; }

  void Copy(int number, int64_t width, Value to, Value k, Value across, Value batch, Value stage) {
    if (!plan_.sides[static_cast<size_t>(number)].transposed) {
      return b_.CopyTensor(shared_, to, number, {k, across, batch}, signals_, Full(stage));
    }
    for (int64_t piece = 0; piece < width / kProductDepth; ++piece) {
      b_.CopyTensor(shared_, b_.Add(to, b_.Index(piece * PieceElements())), number,
                    {b_.Add(across, b_.Index(piece * kProductDepth)), k, batch}, signals_,
                    Full(stage));
    }
  }

  void Consume() {
    const Value thread = b_.Sub(b_.ThreadIndex(), b_.Index(kGroupThreads));
    warp_ = b_.DivNarrow(thread, kWarpThreads);
    lane_ = b_.RemNarrow(thread, kWarpThreads);
    const Value own = b_.Mul(b_.DivNarrow(warp_, loop::kGroupWarps), b_.Index(PieceElements()));
    const Value is_first = b_.Compare("eq", lane_, b_.Index(0));
    ForEachTile([&](Value tile) {
      Values zeros(static_cast<size_t>(plan_.columns / loop::kProductColumnsStep),
                   b_.Splat(b_.Float(DType::kF32, 0), loop::kSumLanes));
      const auto release = [&](Value step, const char* direction, Value than) {
        b_.If(b_.And(is_first, b_.Compare(direction, step, than)), [&] {
          const Step before = StepAt(tile, b_.Sub(step, b_.Index(1)));
          b_.Arrive(signals_, Free(before.stage));
        });
      };
      Values sums =
          b_.For(b_.Index(0), b_.Index(steps_), 1, std::move(zeros),
                 [&](Value step, absl::Span<const Value> carried) {
                   const Step here = StepAt(tile, step);
                   b_.WaitForSignal(signals_, Full(here.stage), here.parity);
                   Values next = b_.BeginProduct(
                       shared_, dtype_, {b_.Add(here.at, own), plan_.sides[0].transposed},
                       {b_.Add(here.at, b_.Index(RightAt())), plan_.sides[1].transposed}, carried);
                   next = b_.WaitForProducts(1, next);
                   release(step, "gt", b_.Index(0));
                   return next;
                 });
      sums = b_.WaitForProducts(0, sums);
      release(b_.Index(steps_), "gt", b_.Index(0));
      Finish(TileAt(tile), sums);
    });
  }

  void Finish(const Tile& tile, const Values& sums) {
    constexpr int64_t kParts = kStagedColumns / loop::kProductColumnsStep;
    const Value own = b_.Mul(warp_, b_.Index(kMatrixRows * kStagedStride));
    const Value row = b_.Add(tile.first_row, b_.Mul(warp_, b_.Index(kMatrixRows)));
    const Indices batch = SplitNarrowIndex(b_, tile.batch, view_.batch());
    const int64_t chunks = plan_.columns / kStagedColumns;
    b_.For(b_.Index(0), b_.Index(chunks), 1, [&](Value chunk) {
      b_.WarpBarrier();
      for (int64_t c = 0; c < chunks; ++c) {
        b_.If(b_.Compare("eq", chunk, b_.Index(c)), [&] {
          Stage(own, absl::MakeConstSpan(sums).subspan(static_cast<size_t>(c * kParts), kParts));
        });
      }
      b_.WarpBarrier();
      StoreStaged(own, row, b_.Add(tile.first_column, b_.Mul(chunk, b_.Index(kStagedColumns))),
                  batch);
    });
  }

  void Stage(Value own, absl::Span<const Value> sums) {
    // As SumPlace has it.
    const Value at = b_.Add(own, b_.Add(b_.Mul(b_.DivNarrow(lane_, 4), b_.Index(kStagedStride)),
                                        b_.Mul(b_.RemNarrow(lane_, 4), b_.Index(2))));
    for (size_t i = 0; i < sums.size(); ++i) {
      const auto to = static_cast<int64_t>(i) * loop::kProductColumnsStep;
      b_.Store(staged_, b_.Add(at, b_.Index(to)), b_.Shuffle(sums[i], {}, {0, 1}));
      b_.Store(staged_, b_.Add(at, b_.Index(to + kMatrixRows / 2 * kStagedStride)),
               b_.Shuffle(sums[i], {}, {2, 3}));
    }
  }

  // A warp's rows, from `first_row` and `first_column` of the result on.
  void StoreStaged(Value own, Value first_row, Value first_column, const Indices& batch) {
    const int64_t lanes =
        std::min(ResultLanes(region_, view_, VectorElements(region_)), kStagedColumns);
    const int64_t vectors = kStagedColumns / lanes;
    b_.For(lane_, b_.Index(kMatrixRows * vectors), kWarpThreads, [&](Value v) {
      const Value row = b_.DivNarrow(v, vectors),
                  column = b_.Mul(b_.RemNarrow(v, vectors), b_.Index(lanes));
      const Value m = b_.Add(first_row, row), n = b_.Add(first_column, column);
      const Value exists =
          b_.And(b_.Compare("lt", m, b_.Index(m_)), b_.Compare("lt", n, b_.Index(n_)));
      b_.If(exists, [&] {
        const Value at = b_.Add(own, b_.Add(b_.Mul(row, b_.Index(kStagedStride)), column));
        const Value sum = b_.Load(staged_, DType::kF32, at, static_cast<int>(lanes));
        status_.Update(StoreSum(b_, region_, view_, batch, m, n, sum, lanes));
      });
    });
  }

  const ir::Graph& region_;
  const ContractionView& view_;
  const WarpgroupTiling plan_;
  loop::Kernel& kernel_;
  loop::Builder b_;
  const Dim batch_, m_, n_, k_, steps_, row_tiles_, column_tiles_, tiles_, blocks_;
  const DType dtype_;
  Value shared_, signals_, staged_;
  Value warp_, lane_;  // of those that multiply
  absl::Status status_;
};

// The tile's columns where the rule is for warpgroups; 0: it is not.
int64_t UsualColumns(const ContractionView& view, const EmitOptions& options) {
  const Dim batch = Product(view.batch()), m = Product(view.m()), n = Product(view.n());
  const int64_t columns = n.value_or(kUsual);
  if (options.warpgroups == Warpgroups::kAlways) return columns > kSquare ? kWide : kSquare;
  if (m.value_or(kUsual) <= kFewest || columns <= kFewest ||
      Product(view.k()).value_or(kUsual) < kFewest) {
    return 0;
  }
  const auto tiles = [&](int64_t width) {
    return batch * CeilDiv(m, kTileRows) * CeilDiv(n, width);
  };
  if (tiles(kSquare).value_or(kManyBlocks) < kManyBlocks / 2) return 0;
  if (columns <= kSquare || Product(view.k()).value_or(kUsual) < kLongSum) return kSquare;
  const Dim wide = CeilDiv(tiles(kWide), options.multiprocessors);
  const Dim square = CeilDiv(tiles(kSquare), options.multiprocessors);
  if (!wide.is_constant() || !square.is_constant()) return kWide;
  return static_cast<double>(wide.value()) * kWideTime < static_cast<double>(square.value())
             ? kWide
             : kSquare;
}

}  // namespace

std::optional<WarpgroupTiling> WarpgroupTiling::Of(const ContractionView& view,
                                                   absl::string_view way,
                                                   const EmitOptions& options) {
  const ir::Node& root = view.root();
  const DType dtype = root.operand_shape(0).dtype();
  if (options.warpgroups == Warpgroups::kNever || way == kWarpMatrices ||
      root.op() != ir::Op::kDotGeneral || (dtype != DType::kF16 && dtype != DType::kBF16) ||
      root.operand_shape(1).dtype() != dtype) {
    return std::nullopt;
  }
  const std::optional<Side> lhs = SideOf(view, true), rhs = SideOf(view, false);
  if (!lhs.has_value() || !rhs.has_value()) return std::nullopt;
  const int64_t columns = way == kSquareTiles ? kSquare
                          : way == kWideTiles ? kWide
                                              : UsualColumns(view, options);
  if (columns == 0) return std::nullopt;
  const int64_t stages = StagesIn(columns, options.shared_bytes);
  if (stages < kFewestStages) return std::nullopt;
  return WarpgroupTiling{{*lhs, *rhs}, columns, stages, options.multiprocessors};
}

std::vector<const char*> OtherWays(const ir::Node& fusion, const EmitOptions& options) {
  const absl::StatusOr<ContractionView> view = ContractionView::Create(fusion.region());
  if (!view.ok() || Product(view->m()).value_or(kUsual) < kFewest ||
      Product(view->n()).value_or(kUsual) < kFewest) {
    return {};
  }
  const auto columns = [&](absl::string_view way) {
    const std::optional<WarpgroupTiling> plan = WarpgroupTiling::Of(*view, way, options);
    return plan.has_value() ? plan->columns : 0;
  };
  std::vector<const char*> ways;
  const int64_t usual = columns("");
  if (usual != 0) ways.emplace_back(kWarpMatrices);
  for (const char* way : {kSquareTiles, kWideTiles}) {
    if (columns(way) != 0 && columns(way) != usual) ways.emplace_back(way);
  }
  return ways;
}

absl::Status EmitWarpgroups(const ir::Graph& region, const ContractionView& view,
                            const WarpgroupTiling& plan, loop::Kernel* kernel) {
  return WarpgroupContraction(region, view, plan, kernel).Run();
}

}  // namespace tektite::gpu
