// Products with few rows (a batch of one, a decoding step, a recurrent cell): every element of the
// right-hand side is used M <= 4 times, so the memory that holds it sets the pace.  It is read
// once, where it lies, and never packed in a call: a copy would have to be read as well.  Weights
// that do not stay in L2 are packed once (jit/passes/assign_layouts.cc): a panel is one stream.
//
//   columns contiguous   [k, n]: accumulators run along n; each step of k takes one broadcast per
//                        row and a piece of the right-hand side's row, as wide as registers allow
//   panels               [panels, k, panel]: the same, from one end of the panels to the other
//   either               both of these by one code, whose strides follow from the last operand: it
//                        is the right-hand side once more until there are panels (rhs_panels)
//   panels of groups     the same, each with as many columns of every group that the epilogue reads
//   panels of nibbles    [panels, 1 + k/2, panel] (jit/passes/nibbles.h): two rows of k a step
//   k contiguous         [n, k]: a vector of partial sums per column runs along k; the sums of
//                        `lanes` columns become one vector in the end
//
// Pieces of rows lie a row apart, which no prefetcher follows over page boundaries: the code asks
// for the bytes that it needs some rows later itself.  (Zen 5, [1,768] x [768,50257] from memory:
// 38 GB/s with, 20 without; packed panels read at 37.)
//
// Columns and k may be of unknown size (a cache of keys and values that grows), and so may the rows
// of a product in a batch, whose right-hand side no step packs before the call: such a kernel has
// the code for one row beside the register tiles for many.

#include <algorithm>
#include <functional>
#include <memory>

#include "backends/cpu/contraction/contraction_blocks.h"
#include "backends/cpu/contraction/contraction_code.h"
#include "backends/cpu/contraction/contraction_emitters.h"
#include "backends/cpu/contraction/contraction_schedules.h"
#include "backends/cpu/contraction/contraction_tiles.h"
#include "backends/cpu/contraction/contraction_tiling.h"
#include "backends/cpu/contraction/epilogue.h"
#include "backends/cpu/contraction/nibble_weights.h"
#include "backends/cpu/contraction/operands.h"
#include "backends/cpu/emit/emitter.h"
#include "backends/cpu/emit/lane_reduction.h"
#include "backends/cpu/emit/names.h"
#include "backends/cpu/loops/long_sum.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"
#include "jit/ir/column_groups.h"
#include "jit/ops/ops.h"

namespace tektite::cpu {
namespace {

// Bytes between a read and the prefetch of the same step.
constexpr int64_t kPrefetchBytes = 8 << 10;
// Independent sums that hide the latency of an FMA.
constexpr int kEnoughSums = 8;

// Unknown sizes are assumed to be large.
constexpr int64_t kLarge = int64_t{1} << 30;

class StreamedProduct {
 public:
  // The tile's rows: how many there are, at least where this code runs.
  StreamedProduct(const Node& fusion, const Target& target, ContractionTiling view,
                  const target::Tile& tile)
      : region_(fusion.region()),
        target_(target),
        plan_(std::move(view)),
        rows_(static_cast<int>(tile.rows)),
        along_k_(StreamsAlongK(plan_)),
        later_panel_(fusion.Int(ir::Attr::rhs_panels)),
        groups_(packed() ? ir::ColumnGroupsOf(*plan_.root) : ir::ColumnGroups()) {
    plan_.rows = rows_;
    plan_.vectors = static_cast<int>(tile.vectors);
    const Dim columns = plan_.batch * plan_.n;
    cost_ = Cost(columns * plan_.k, ir::DTypeBytes(plan_.dtype) / target.memory_bytes_per_ns) +
            Cost(columns * Dim(rows_), target.ns(1));
  }

  Dim cost() const { return cost_; }
  Dim num_chunks() const { return CeilDiv(units(), UnitsPerChunk(units(), cost_)); }

  // The code of a call's chunks.
  absl::Status Emit(loop::Builder& b) {
    TEKTITE_ASSIGN_OR_RETURN(parameters_, ParametersOf(*plan_.root));
    b_ = &b;
    FindPanels();
    TEKTITE_ASSIGN_OR_RETURN(epilogue_, Epilogue::Create(region_, plan_, groups_));
    if (groups_.count > 1) {
      sums_ = b.AllocateScratch(plan_.accumulator, Dim(rows_ * plan_.panel()));
    }
    blocks_ = BlocksOfSums(plan_, 0, along_k_ ? plan_.lanes : 1);
    const int sums = along_k_ ? ColumnsTogether() : plan_.vectors;
    cascade_ = SumCascade(&b, plan_.accumulator, plan_.lanes, int64_t{rows_} * sums, blocks_.count);
    for (int m = 0; m < rows_; ++m) row_displacement_.push_back(RowDisplacement(m));
    ForEachUnit(b, units(), UnitsPerChunk(units(), cost_), [&](Value unit) {
      EmitPanel(b.Div(unit, b.Index(plan_.panels())), b.Rem(unit, b.Index(plan_.panels())));
    });
    return status_;
  }

 private:
  bool packed() const { return plan_.rhs == RhsMode::kPacked; }
  // Elements between a step of k and the next one's.
  Dim RhsStride(const AddressLoop& loop) const {
    return packed() ? loop.rhs_stride * Dim(plan_.panel()) : loop.rhs_stride;
  }
  Dim units() const { return plan_.batch * plan_.panels(); }

  // Whether there are panels, and the strides that follow from that.
  void FindPanels() {
    if (later_panel_ == 0) return;
    loop::Builder& b = *b_;
    panels_ = b.Buffer(region_.num_parameters() - 1);
    lacks_panels_ = b.Compare("eq", panels_, b.Buffer(parameters_.rhs));
    row_stride_ = b.Select(lacks_panels_, b.Index(InnerLoop().rhs_stride), b.Index(plan_.panel()));
  }

  Dim RowDisplacement(int64_t m) const {
    Dim displacement;
    for (size_t i = plan_.m_loops.size(); i-- > 0 && m > 0;) {
      const AddressLoop& loop = plan_.m_loops[i];
      const int64_t trips = loop.trips.value();
      displacement = displacement + Dim(m % trips) * loop.lhs_stride;
      m /= trips;
    }
    return displacement;
  }

  void EmitPanel(Value batch, Value panel) {
    loop::Builder& b = *b_;
    const BatchOperands operands = OperandsOf(b, plan_, parameters_, batch);
    lhs_ = operands.lhs;
    const Value rhs = operands.rhs;
    Value column = b.Mul(panel, b.Index(plan_.panel()));
    auto finish = [&](bool ragged) {
      std::vector<Value> acc =
          along_k_ ? AlongK(rhs, column, ragged) : AlongN(rhs, panel, column, ragged);
      const RowTile tile = {b.Index(0), rows_, rows_, {}};
      status_.Update(groups_.count == 1
                         ? epilogue_.Emit(b, batch, tile, column, acc)
                         : epilogue_.EmitGroups(b, batch, rows_,
                                                b.Div(column, b.Index(groups_.count)), acc, sums_));
    };
    const Dim whole = FloorDiv(plan_.n, plan_.panel());
    if (whole == plan_.panels()) return finish(false);
    if (whole == Dim(0)) return finish(true);
    b.If(
        b.Compare("lt", panel, b.Index(whole)), [&] { finish(false); }, [&] { finish(true); });
  }

  Value Widened(Value v) {
    return v.dtype() == plan_.accumulator ? v : b_->Convert(v, plan_.accumulator);
  }
  Value MultiplyAdd(Value a, Value b, Value c) {
    return ir::IsFloat(plan_.accumulator) ? b_->Fma(a, b, c) : b_->Add(b_->Mul(a, b), c);
  }
  std::vector<Value> Zeros(size_t count) {
    return std::vector<Value>(count, b_->Splat(b_->Constant(plan_.accumulator, 0), plan_.lanes));
  }

  // Runs the k loops, the innermost by inner(lhs offset, rhs offset, begin, end, sums).
  using Sums = std::vector<Value>;
  using Inner = std::function<Sums(Value, Value, Value, Value, Sums)>;
  Sums SumOver(Sums sums, const Inner& inner) {
    loop::Builder& b = *b_;
    if (plan_.k == Dim(0)) return sums;
    return cascade_.Total(Loops(0, b.Index(0), b.Index(0), b.Index(0), std::move(sums), inner));
  }
  Sums Loops(size_t depth, Value lhs_at, Value rhs_at, Value block, Sums sums, const Inner& inner) {
    loop::Builder& b = *b_;
    const bool is_last = depth + 1 >= plan_.k_loops.size();
    const AddressLoop loop = is_last ? InnerLoop() : plan_.k_loops[depth];
    auto part = [&](Value begin, Value end, Value number, Sums s) {
      if (is_last) return inner(lhs_at, rhs_at, begin, end, std::move(s));
      return b.For(begin, end, 1, std::move(s), [&](Value i, absl::Span<const Value> carried) {
        return Loops(depth + 1, b.Add(lhs_at, b.Mul(i, b.Index(loop.lhs_stride))),
                     b.Add(rhs_at, b.Mul(i, b.Index(RhsStride(loop)))),
                     b.Add(b.Mul(number, b.Index(loop.trips)), i),
                     Sums(carried.begin(), carried.end()), inner);
      });
    };
    const Value all = b.Index(loop.trips);
    if (static_cast<int>(depth) != blocks_.depth) {
      return part(b.Index(0), all, block, std::move(sums));
    }
    const Dim blocks = blocks_.per_loop(plan_);
    const Value trips = b.Index(blocks_.trips);
    return b.For(b.Index(0), b.Index(blocks), 1, std::move(sums),
                 [&](Value i, absl::Span<const Value> carried) {
                   const Value begin = b.Mul(i, trips), end = b.Min(b.Add(begin, trips), all);
                   const Value number = b.Add(b.Mul(block, b.Index(blocks)), i);
                   return cascade_.EndBlock(
                       number, part(begin, end, number, Sums(carried.begin(), carried.end())));
                 });
  }
  AddressLoop InnerLoop() const {
    return plan_.k_loops.empty() ? AddressLoop{} : plan_.k_loops.back();
  }

  // ---- columns contiguous ----

  std::vector<Value> AlongN(Value rhs, Value panel, Value column, bool ragged) {
    loop::Builder& b = *b_;
    masks_.assign(plan_.vectors, Value());
    if (ragged && !packed() && !plan_.reads_nibbles) masks_ = epilogue_.ColumnMasks(b, column);
    const Value of_panel = b.Mul(panel, b.Index(plan_.k * Dim(plan_.panel())));
    rhs_ = b.Offset(rhs, plan_.dtype, packed() ? of_panel : column);
    if (plan_.reads_nibbles) {
      nibbles_ = NibbleWeights(b, plan_, rhs, panel);
      rhs_ = nibbles_.rows();
    }
    if (lacks_panels_) {
      rhs_ = b.Select(lacks_panels_, rhs_, b.Offset(panels_, plan_.dtype, of_panel));
    }
    const size_t size = static_cast<size_t>(rows_) * plan_.vectors;
    return SumOver(Zeros(size), [&](Value lhs_at, Value rhs_at, Value begin, Value end, Sums sums) {
      return SweepRows(lhs_at, rhs_at, begin, end, std::move(sums));
    });
  }

  // Rows [begin, end); `begin` is a multiple of the steps of a trip.
  Sums SweepRows(Value lhs_at, Value rhs_at, Value begin, Value end, Sums sums) {
    loop::Builder& b = *b_;
    const Dim trips = InnerLoop().trips;
    const int64_t likely = trips.value_or(kLarge);
    const size_t size = sums.size();
    int64_t copies = 1;
    const int64_t enough = plan_.reads_nibbles ? kEnoughSums / 2 : kEnoughSums;  // with more to do
    while (static_cast<int64_t>(size) * copies < enough && copies * 2 <= likely) copies *= 2;
    int64_t steps = copies;
    while (static_cast<int64_t>(size) * steps < 3 * kEnoughSums && steps * 2 <= likely) steps *= 2;
    const Sums zero = Zeros(size);
    for (int64_t c = 1; c < copies; ++c) sums.insert(sums.end(), zero.begin(), zero.end());
    const Value rest = Mod(trips, steps) == Dim(0) ? b.Index(0) : b.Rem(end, b.Index(steps));
    const Value unrolled = b.Sub(end, rest);
    sums = b.For(
        begin, unrolled, steps, std::move(sums), [&](Value k, absl::Span<const Value> carried) {
          Sums s(carried.begin(), carried.end());
          if (lacks_panels_) {
            b.If(
                lacks_panels_, [&] { PrefetchRows(k, steps, rhs_at); },
                [&] { PrefetchPanel(k, steps, rhs_at); });
          } else if (packed() || plan_.reads_nibbles) {
            PrefetchPanel(k, steps, rhs_at);
          } else {
            PrefetchRows(k, steps, rhs_at);
          }
          for (int64_t i = 0; i < steps; ++i) {
            Step(lhs_at, rhs_at, b.Add(k, b.Index(i)), &s[i % copies * static_cast<int64_t>(size)]);
          }
          return s;
        });
    for (int64_t c = copies; c > 1; c /= 2) {
      for (size_t i = 0; i < size * c / 2; ++i) sums[i] = b.Add(sums[i], sums[i + size * c / 2]);
    }
    sums.resize(size);
    return b.For(unrolled, end, 1, std::move(sums), [&](Value k, absl::Span<const Value> carried) {
      Sums s(carried.begin(), carried.end());
      Step(lhs_at, rhs_at, k, s.data());
      return s;
    });
  }

  // One row of the right-hand side; `sums` row by row.
  void Step(Value lhs_at, Value rhs_at, Value k, Value* sums) {
    loop::Builder& b = *b_;
    const AddressLoop loop = InnerLoop();
    Value left = b.Add(lhs_at, b.Mul(k, b.Index(loop.lhs_stride)));
    const Value stride = lacks_panels_ ? row_stride_ : b.Index(RhsStride(loop));
    Value right = b.Add(rhs_at, b.Mul(k, stride));
    const auto spread = [&](const Dim& further) {
      std::vector<Value> of_rows;
      for (const Dim& displacement : row_displacement_) {
        const Value at = b.Add(left, b.Index(displacement + further));
        of_rows.push_back(b.Splat(Widened(b.Load(lhs_, plan_.lhs_dtype, at)), plan_.lanes));
      }
      return of_rows;
    };
    const auto add = [&](int v, const std::vector<Value>& x, Value w) {
      for (int m = 0; m < rows_; ++m) {
        Value& sum = sums[m * plan_.vectors + v];
        sum = MultiplyAdd(x[m], w, sum);
      }
    };
    const Sums x = spread(Dim(0));
    const Sums second = plan_.reads_nibbles ? spread(FloorDiv(loop.lhs_stride, 2)) : Sums();
    for (int v = 0; v < plan_.vectors; ++v) {
      Value at = b.Add(right, b.Index(int64_t{v} * plan_.lanes));
      const Value loaded = b.Load(rhs_, plan_.dtype, at, plan_.lanes, masks_[v]);
      if (plan_.reads_nibbles) {
        const auto [weight, other] = nibbles_.InF32(b, loaded, v);
        add(v, x, weight);
        add(v, second, other);
      } else {
        add(v, x, Widened(loaded));
      }
    }
  }

  // Fetches the bytes that steps k, k + 1, ... will read kPrefetchBytes later: of this panel, or of
  // the next one.
  void PrefetchRows(Value k, int64_t steps, Value rhs_at) {
    loop::Builder& b = *b_;
    const int64_t bytes = ir::DTypeBytes(plan_.dtype);
    const AddressLoop loop = InnerLoop();
    // Narrow types have more to do for each byte: what lies between products evicts them sooner.
    const Dim matrix = plan_.batch * plan_.n * plan_.k * Dim(ir::DTypeBytes(plan_.accumulator));
    // Of unknown size: unless the pieces are one stream, which the hardware follows.
    const bool worth = matrix.is_constant() ? matrix.value() >= target_.l2_bytes / 2
                                            : loop.rhs_stride != Dim(plan_.panel());
    if (!worth) return;
    const int64_t width = plan_.panel() * bytes;
    const int64_t ahead = std::max<int64_t>(kPrefetchBytes / (plan_.panel() * bytes), 1);
    Value at = b.Add(k, b.Index(ahead)), trips = b.Index(loop.trips);
    Value here = b.Mul(at, b.Index(loop.rhs_stride));
    Value next = b.Add(b.Mul(b.Sub(at, trips), b.Index(loop.rhs_stride)), b.Index(plan_.panel()));
    Value from = b.Add(rhs_at, b.Select(b.Compare("lt", at, trips), here, next));
    for (int64_t i = 0; i < steps; ++i) {
      for (int64_t line = 0; line < width; line += kLineBytes) {
        const Dim at_line = Dim(i) * loop.rhs_stride + Dim(line / bytes);
        b.Prefetch(rhs_, plan_.dtype, b.Add(from, b.Index(at_line)));
      }
    }
  }

  // The same of panels, which are one stream.  The hardware keeps up with f32, not with bytes: 36
  // products of [1,768] and s8 [768,3072] took 0.6 to 1.1 of the time in eight pairs of runs,
  // 0.87 in the middle, and those of f32 1.08 (Xeon with AMX, one thread).
  void PrefetchPanel(Value k, int64_t steps, Value rhs_at) {
    const int64_t bytes = ir::DTypeBytes(plan_.dtype);
    if (bytes == ir::DTypeBytes(plan_.accumulator)) return;
    loop::Builder& b = *b_;
    const Value from = b.Add(rhs_at, b.Mul(k, b.Index(plan_.panel())));
    for (int64_t line = 0; line < steps * plan_.panel() * bytes; line += kLineBytes) {
      b.Prefetch(rhs_, plan_.dtype, b.Add(from, b.Index((kPrefetchBytes + line) / bytes)));
    }
  }

  // ---- k contiguous ----

  std::vector<Value> AlongK(Value rhs, Value column, bool ragged) {
    std::vector<Value> totals(static_cast<size_t>(rows_) * plan_.vectors);
    for (int v = 0; v < plan_.vectors; ++v) {
      const std::vector<Value> of_rows = VectorAlongK(rhs, column, v, ragged);
      for (int m = 0; m < rows_; ++m) totals[m * plan_.vectors + v] = of_rows[m];
    }
    return totals;
  }

  // Vector `v` of the panel, of every row.
  std::vector<Value> VectorAlongK(Value rhs, Value column, int v, bool ragged) {
    loop::Builder& b = *b_;
    const int lanes = plan_.lanes;
    std::vector<Value> pointers;
    for (int j = 0; j < lanes; ++j) {
      Value n = b.Add(column, b.Index(j));
      // Columns beyond n repeat the last one; their results are never stored.
      if (ragged) n = b.Min(n, b.Index(plan_.n - Dim(1)));
      n = b.Add(n, b.Index(int64_t{v} * plan_.lanes));
      pointers.push_back(b.Offset(rhs, plan_.dtype, b.Mul(n, b.Index(plan_.rhs_n_stride))));
    }
    const int together = ColumnsTogether();
    std::vector<std::vector<Value>> columns(rows_);
    for (int first = 0; first < lanes; first += together) {
      const std::vector<Value> of_step(pointers.begin() + first,
                                       pointers.begin() + first + together);
      Sums sums = SumOver(Zeros(static_cast<size_t>(together) * rows_),
                          [&](Value lhs_at, Value rhs_at, Value begin, Value end, Sums s) {
                            return SweepColumns(of_step, lhs_at, rhs_at, begin, end, std::move(s));
                          });
      for (int m = 0; m < rows_; ++m) {
        auto of_row = sums.begin() + static_cast<int64_t>(m) * together;
        columns[m].insert(columns[m].end(), of_row, of_row + together);
      }
    }
    std::vector<Value> totals;
    for (std::vector<Value>& of_row : columns)
      totals.push_back(
          ReduceLanesOfEach(b, std::move(of_row), [&](Value x, Value y) { return b.Add(x, y); }));
    return totals;
  }

  // Elements [begin, end) of k; `begin` is a multiple of lanes.
  Sums SweepColumns(const std::vector<Value>& pointers, Value lhs_at, Value rhs_at, Value begin,
                    Value end, Sums sums) {
    loop::Builder& b = *b_;
    const bool is_ragged = Mod(InnerLoop().trips, plan_.lanes) != Dim(0);
    const Value left = is_ragged ? b.Rem(end, b.Index(plan_.lanes)) : b.Index(0);
    const Value whole = b.Sub(end, left);
    auto step = [&](Value k, Value mask, Sums s) {
      std::vector<Value> x;
      for (const Dim& displacement : row_displacement_) {
        Value at = b.Add(b.Add(lhs_at, k), b.Index(displacement));
        x.push_back(Widened(b.Load(lhs_, plan_.lhs_dtype, at, plan_.lanes, mask)));
      }
      for (size_t j = 0; j < pointers.size(); ++j) {
        Value w = Widened(b.Load(pointers[j], plan_.dtype, b.Add(rhs_at, k), plan_.lanes, mask));
        for (int m = 0; m < rows_; ++m) {
          Value& sum = s[m * pointers.size() + j];
          sum = MultiplyAdd(x[m], w, sum);
        }
      }
      return s;
    };
    sums = b.For(begin, whole, plan_.lanes, std::move(sums),
                 [&](Value k, absl::Span<const Value> carried) {
                   return step(k, {}, Sums(carried.begin(), carried.end()));
                 });
    if (!is_ragged) return sums;
    auto last = [&] { return step(whole, b.MaskUpTo(left, plan_.lanes), sums); };
    // Blocks before the last one have no such rest.
    if (blocks_.depth < 0) return last();
    return b.IfElse(b.Compare("gt", left, b.Index(0)), last, [&] { return sums; });
  }

  // Columns whose sums a sweep along k takes side by side.
  int ColumnsTogether() const {
    const int half = target_.vector_registers / 2;
    int together = std::min(plan_.lanes, half);
    while (together > 1 && together * rows_ > half) together /= 2;
    return together;
  }

  const ir::Graph& region_;
  const Target& target_;
  ContractionTiling plan_;
  const int rows_;
  const bool along_k_;
  const int64_t later_panel_;  // columns of the panels that may be there; 0: there are none
  const ir::ColumnGroups groups_;
  Value sums_;  // scratch for a panel's, where there are groups
  Dim cost_;
  loop::Builder* b_ = nullptr;
  absl::Status status_;
  Epilogue epilogue_;
  std::vector<Dim> row_displacement_;  // of each row of the left-hand side
  OperandParameters parameters_;
  Value panels_, lacks_panels_, row_stride_;  // with later_panel_
  Value lhs_, rhs_;                           // of the current batch and panel
  std::vector<Value> masks_;
  NibbleWeights nibbles_;  // of the panel, with two weights to a byte
  KBlocks blocks_;
  SumCascade cascade_;
};

}  // namespace

absl::Status CheckStreamed(const Node& fusion, const ContractionTiling& view) {
  const Node* root = view.root;
  if (root->op() != Op::kDotGeneral) return Unimplemented("not a dot_general");
  const bool is_packed = view.rhs == RhsMode::kPacked;
  if (root->operand(0).node->op() != Op::kParameter ||
      (root->operand(1).node->op() != Op::kParameter && !is_packed && !view.reads_nibbles)) {
    return Unimplemented(root->Describe(), ": an operand is not in memory");
  }
  if (view.m.is_constant() && (view.m.value() < 1 || view.m.value() > kFewRows)) {
    return Unimplemented(root->Describe(), ": not a matrix of a few rows");
  }
  if (is_packed && !view.m.is_constant()) {
    return Unimplemented(root->Describe(), ": panels for an unknown number of rows");
  }
  const bool columns = is_packed || view.rhs_n_stride == Dim(1) || view.n == Dim(1);
  const bool along_k = view.k_loops.empty() || (view.k_loops.back().lhs_stride == Dim(1) &&
                                                view.k_loops.back().rhs_stride == Dim(1));
  if (!columns && !along_k) {
    return Unimplemented(root->Describe(), ": neither columns nor k are contiguous");
  }
  return absl::OkStatus();
}

absl::StatusOr<EmittedKernel> EmitStreamedProduct(const Node& fusion,
                                                  const target::Schedule& schedule,
                                                  const Target& target, const std::string& name) {
  TEKTITE_ASSIGN_OR_RETURN(
      ContractionTiling plan,
      ViewContraction(fusion, target, fusion.attrs().Has(ir::Attr::rhs_packed)));
  TEKTITE_RETURN_IF_ERROR(CheckStreamed(fusion, plan));
  TEKTITE_RETURN_IF_ERROR(TakeTile(fusion, schedule, plan));
  if (plan.m != Dim(plan.rows)) return InvalidArgument("'", schedule.Print(), "' of other rows");
  StreamedProduct product(fusion, target, std::move(plan), schedule.tile);
  EmittedKernel result;
  result.in_place = EpilogueInPlace(fusion.region(), *ops::FindContraction(fusion.region()));
  result.kernel = MakeKernel(fusion, name, result.in_place);
  result.num_chunks = product.num_chunks();
  result.cost = product.cost();
  loop::Builder b(result.kernel.get());
  TEKTITE_RETURN_IF_ERROR(product.Emit(b));
  return result;
}

absl::StatusOr<ContractionCode> CodeForOneRow(const Node& fusion, const target::Schedule& schedule,
                                              const Target& target) {
  TEKTITE_ASSIGN_OR_RETURN(ContractionTiling view,
                           ViewContraction(fusion, target, /*packed=*/false));
  TEKTITE_RETURN_IF_ERROR(CheckStreamed(fusion, view));
  auto product = std::make_shared<StreamedProduct>(fusion, target, std::move(view),
                                                   target::Tile{schedule.blocks.row_vectors, 1});
  return ContractionCode{product->num_chunks(), product->cost(),
                         [product](loop::Builder& b) { return product->Emit(b); }};
}

}  // namespace tektite::cpu
