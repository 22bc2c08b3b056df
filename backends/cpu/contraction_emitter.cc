// Contractions as register tiles: a tile of rows x vectors accumulators runs through k with a
// broadcast per row and a panel row of vectors per step, then the epilogue works on the
// accumulators and stores.  contraction_plan.h says what is read, in which order, and in which
// blocks.

#include <algorithm>
#include <functional>

#include "backends/cpu/contraction_plan.h"
#include "backends/cpu/epilogue.h"
#include "backends/cpu/kernel_emitters.h"
#include "backends/cpu/panel_packing.h"
#include "jit/base/status.h"

namespace tektite::cpu {
namespace {

using ir::DType;
using ir::Node;
using ir::Op;
using loop::Value;

// With fewer accumulators than this, k is taken in several interleaved sums to hide FMA latency.
constexpr int kEnoughAccumulators = 8;

// Right-hand sides above this come from beyond L2 in every call.
constexpr int64_t kStreamedBytes = 1 << 20;

// The parameter that an operand of the contraction is read from, through what unpacks panels.
int ParameterIndex(ir::Value v) {
  while (v.node->op() != Op::kParameter) {
    if (v.node->num_operands() == 0) return -1;
    v = v.node->operand(0);
  }
  return static_cast<int>(v.node->Int(ir::Attr::index));
}

class ContractionEmitter {
 public:
  ContractionEmitter(const Node& fusion, const ContractionPlan& plan, const std::string& name)
      : fusion_(fusion), region_(fusion.region()), plan_(plan), name_(name) {}

  absl::StatusOr<EmittedKernel> Run() {
    lhs_parameter_ = ParameterIndex(plan_.root->operand(0));
    rhs_parameter_ = ParameterIndex(plan_.root->operand(1));
    if (lhs_parameter_ < 0 || rhs_parameter_ < 0 ||
        plan_.root->operand(0).node->op() != Op::kParameter) {
      return Unimplemented(plan_.root->Describe(), ": an operand is not in memory");
    }
    EmittedKernel result;
    result.in_place = EpilogueInPlace(region_, *plan_.root);
    result.kernel = MakeKernel(fusion_, name_, result.in_place);
    result.cost_ns = plan_.cost_ns;
    const int64_t m_blocks = plan_.m == 0 ? 0 : plan_.m_blocks();
    const int64_t units = plan_.batch * m_blocks * plan_.n_blocks();
    result.num_chunks = units;
    loop::Builder b(result.kernel.get());
    b_ = &b;
    if (plan_.is_convolution && plan_.conv.padded()) {
      const int64_t rows = plan_.conv.input_rows(plan_.block_rows / plan_.conv.out_width);
      padded_input_ =
          b.AllocateScratch(plan_.dtype, rows * plan_.conv.padded_width() * plan_.conv.channels);
    }
    if (plan_.rhs == RhsMode::kPackInKernel) {
      panel_ = b.AllocateScratch(plan_.dtype, (plan_.k + plan_.lanes) * plan_.panel());
    }
    if (plan_.blocked_k_loops > 0) {
      sums_ = b.AllocateScratch(plan_.accumulator, plan_.block_rows * plan_.panel());
    }
    TEKTITE_ASSIGN_OR_RETURN(epilogue_, Epilogue::Create(region_, plan_));
    PlanPrefetch();
    ForEachUnit(b, units, 1, [&](Value unit) {
      Value n_block = b.Rem(unit, b.Index(plan_.n_blocks()));
      Value rest = b.Div(unit, b.Index(plan_.n_blocks()));
      EmitBlock(b.Div(rest, b.Index(m_blocks)), b.Rem(rest, b.Index(m_blocks)), n_block);
    });
    TEKTITE_RETURN_IF_ERROR(status_);
    return result;
  }

 private:
  void PlanPrefetch() {
    int64_t piece = 1;
    for (size_t i = plan_.blocked_k_loops; i < plan_.k_loops.size(); ++i) {
      piece *= plan_.k_loops[i].trips;
    }
    piece_elements_ = piece * plan_.panel();
    const int64_t bytes = plan_.k * plan_.n * ir::DTypeBytes(plan_.dtype);
    if (plan_.rhs == RhsMode::kPacked && bytes > kStreamedBytes) {
      prefetch_tiles_ = std::min(plan_.block_rows, plan_.m) / plan_.rows;
    }
  }

  void EmitBlock(Value batch, Value m_block, Value n_block) {
    loop::Builder& b = *b_;
    Value m_begin = b.Mul(m_block, b.Index(plan_.block_rows));
    Value lhs = b.Buffer(lhs_parameter_), rhs = b.Buffer(rhs_parameter_);
    Value lhs_offset = b.Index(0), rhs_offset = b.Index(0);
    std::vector<int64_t> batch_sizes;
    for (const AddressLoop& loop : plan_.batch_loops) batch_sizes.push_back(loop.trips);
    std::vector<Value> batch_index = Delinearize(b, batch, batch_sizes);
    for (size_t i = 0; i < batch_index.size(); ++i) {
      const AddressLoop& loop = plan_.batch_loops[i];
      lhs_offset = b.Add(lhs_offset, b.Mul(batch_index[i], b.Index(loop.lhs_stride)));
      rhs_offset = b.Add(rhs_offset, b.Mul(batch_index[i], b.Index(loop.rhs_stride)));
    }
    lhs_ = b.Offset(lhs, plan_.dtype, lhs_offset);
    rhs_ = b.Offset(rhs, plan_.dtype, rhs_offset);
    block_begin_ = m_begin;
    if (plan_.is_convolution) EnterConvolutionBlock(m_begin);

    Value first_panel = b.Mul(n_block, b.Index(plan_.block_panels));
    Value last_panel =
        b.Min(b.Add(first_panel, b.Index(plan_.block_panels)), b.Index(plan_.panels()));
    b.For(first_panel, last_panel, 1, [&](Value panel) { EmitPanel(batch, m_block, panel); });
  }

  // Rows of a convolution block start at a whole output row; its input rows are copied with their
  // padding when there is any.
  void EnterConvolutionBlock(Value m_begin) {
    loop::Builder& b = *b_;
    const ConvolutionGeometry& g = plan_.conv;
    Value out_row = b.Div(m_begin, b.Index(g.out_width));
    Value in_row = b.Mul(out_row, b.Index(g.stride_h));
    if (!g.padded()) {
      lhs_ = b.Offset(lhs_, plan_.dtype, b.Mul(in_row, b.Index(g.width * g.channels)));
      return;
    }
    const int64_t rows = g.input_rows(plan_.block_rows / g.out_width);
    const int64_t padded_row = g.padded_width() * g.channels, row = g.width * g.channels;
    const int64_t bytes = ir::DTypeBytes(plan_.dtype);
    b.For(b.Index(0), b.Index(rows), 1, [&](Value r) {
      Value source = b.Sub(b.Add(in_row, r), b.Index(g.pad_top));
      Value to = b.Offset(padded_input_, plan_.dtype, b.Mul(r, b.Index(padded_row)));
      Value inside =
          b.And(b.Compare("ge", source, b.Index(0)), b.Compare("lt", source, b.Index(g.height)));
      b.If(
          inside,
          [&] {
            if (g.pad_left > 0) b.Zero(to, b.Index(g.pad_left * g.channels * bytes));
            b.Copy(b.Offset(to, plan_.dtype, b.Index(g.pad_left * g.channels)),
                   b.Offset(lhs_, plan_.dtype, b.Mul(source, b.Index(row))), b.Index(row * bytes));
            if (g.pad_right > 0) {
              b.Zero(b.Offset(to, plan_.dtype, b.Index((g.pad_left + g.width) * g.channels)),
                     b.Index(g.pad_right * g.channels * bytes));
            }
          },
          [&] { b.Zero(to, b.Index(padded_row * bytes)); });
    });
    lhs_ = padded_input_;
  }

  void EmitPanel(Value batch, Value m_block, Value panel) {
    loop::Builder& b = *b_;
    Value column = b.Mul(panel, b.Index(plan_.panel()));
    if (plan_.rhs == RhsMode::kPackInKernel) PackPanel(b, plan_, rhs_, column, panel_);
    Value m_begin = b.Mul(m_block, b.Index(plan_.block_rows));
    Value m_count = b.Min(b.Sub(b.Index(plan_.m), m_begin), b.Index(plan_.block_rows));
    if (plan_.blocked_k_loops > 0) {
      b.Zero(sums_, b.Index(plan_.block_rows * plan_.panel() * ir::DTypeBytes(plan_.accumulator)));
      BlockedLoops(0, b.Index(0), b.Index(0), [&](Value lhs_offset, Value rhs_offset) {
        ForEachTile(m_count, [&](Value m, int rows) {
          std::vector<Value> acc = LoadSums(m, rows);
          acc = Accumulate(m, rows, panel, column, std::move(acc), lhs_offset, rhs_offset);
          StoreSums(m, rows, acc);
        });
      });
      ForEachTile(m_count, [&](Value m, int rows) {
        Finish(batch, b.Add(m_begin, m), rows, column, LoadSums(m, rows));
      });
      return;
    }
    ForEachTile(m_count, [&](Value m, int rows) {
      std::vector<Value> acc =
          Accumulate(m, rows, panel, column, Zeros(rows), b.Index(0), b.Index(0));
      Finish(batch, b.Add(m_begin, m), rows, column, std::move(acc));
    });
  }

  // The leading k loops, outside the tiles.
  void BlockedLoops(int depth, Value lhs_offset, Value rhs_offset,
                    const std::function<void(Value, Value)>& body) {
    loop::Builder& b = *b_;
    if (depth == plan_.blocked_k_loops) return body(lhs_offset, rhs_offset);
    const AddressLoop& loop = plan_.k_loops[depth];
    b.For(b.Index(0), b.Index(loop.trips), 1, [&](Value i) {
      BlockedLoops(depth + 1, b.Add(lhs_offset, b.Mul(i, b.Index(loop.lhs_stride))),
                   b.Add(rhs_offset, b.Mul(i, b.Index(RhsStride(loop)))), body);
    });
  }

  // Tiles of the block: body(first row within the block, rows), the last one smaller.
  void ForEachTile(Value m_count, const std::function<void(Value, int)>& body) {
    loop::Builder& b = *b_;
    const int64_t rows = plan_.rows;
    Value whole = b.Mul(b.Div(m_count, b.Index(rows)), b.Index(rows));
    b.For(b.Index(0), whole, rows, [&](Value m) { body(m, plan_.rows); });
    // Blocks have at most two different sizes, known here.
    const int64_t full = std::min(plan_.block_rows, plan_.m) % rows;
    const int64_t last = (plan_.m % plan_.block_rows) % rows;
    Value left = b.Sub(m_count, whole);
    for (int64_t rest : {full, full == last ? int64_t{0} : last}) {
      if (rest == 0) continue;
      b.If(b.Compare("eq", left, b.Index(rest)), [&] { body(whole, static_cast<int>(rest)); });
    }
  }

  std::vector<Value> Zeros(int rows) {
    Value zero = b_->Splat(b_->Constant(plan_.accumulator, 0), plan_.lanes);
    return std::vector<Value>(static_cast<size_t>(rows) * plan_.vectors, zero);
  }

  Value SumIndex(Value m, int row, int vector) {
    return b_->Add(b_->Mul(b_->Add(m, b_->Index(row)), b_->Index(plan_.panel())),
                   b_->Index(static_cast<int64_t>(vector) * plan_.lanes));
  }
  std::vector<Value> LoadSums(Value m, int rows) {
    std::vector<Value> acc;
    for (int r = 0; r < rows; ++r) {
      for (int v = 0; v < plan_.vectors; ++v) {
        acc.push_back(b_->Load(sums_, plan_.accumulator, SumIndex(m, r, v), plan_.lanes));
      }
    }
    return acc;
  }
  void StoreSums(Value m, int rows, const std::vector<Value>& acc) {
    for (int r = 0; r < rows; ++r) {
      for (int v = 0; v < plan_.vectors; ++v) {
        b_->Store(sums_, SumIndex(m, r, v), acc[static_cast<size_t>(r) * plan_.vectors + v]);
      }
    }
  }

  // Pointer and displacement of each row of a tile that starts at row m of the block.
  struct RowAddress {
    Value pointer;
    int64_t displacement = 0;
  };
  std::vector<RowAddress> RowAddresses(Value m, int rows) {
    loop::Builder& b = *b_;
    std::vector<RowAddress> addresses;
    const ConvolutionGeometry& g = plan_.conv;
    const bool regular = plan_.is_convolution ? g.out_width % plan_.rows == 0 || g.out_width == 1
                                              : plan_.m_loops.size() <= 1;
    const int64_t row_stride =
        plan_.is_convolution ? g.stride_h * g.padded_width() * g.channels : 0;
    auto offset_of = [&](Value row) {
      if (plan_.is_convolution) {
        Value y = b.Div(row, b.Index(g.out_width)), x = b.Rem(row, b.Index(g.out_width));
        return b.Add(b.Mul(y, b.Index(row_stride)), b.Mul(x, b.Index(g.stride_w * g.channels)));
      }
      std::vector<int64_t> sizes;
      for (const AddressLoop& loop : plan_.m_loops) sizes.push_back(loop.trips);
      std::vector<Value> index = Delinearize(b, row, sizes);
      Value offset = b.Index(0);
      for (size_t i = 0; i < index.size(); ++i) {
        offset = b.Add(offset, b.Mul(index[i], b.Index(plan_.m_loops[i].lhs_stride)));
      }
      return offset;
    };
    if (regular) {
      const int64_t stride = plan_.is_convolution
                                 ? (g.out_width == 1 ? row_stride : g.stride_w * g.channels)
                                 : (plan_.m_loops.empty() ? 0 : plan_.m_loops[0].lhs_stride);
      Value pointer = b.Offset(lhs_, plan_.dtype, offset_of(RowInBatch(m)));
      for (int r = 0; r < rows; ++r) addresses.push_back({pointer, r * stride});
      return addresses;
    }
    for (int r = 0; r < rows; ++r) {
      Value row = RowInBatch(b.Add(m, b.Index(r)));
      addresses.push_back({b.Offset(lhs_, plan_.dtype, offset_of(row)), 0});
    }
    return addresses;
  }

  // A convolution's lhs_ starts at the block; a dot's at the batch.
  Value RowInBatch(Value m) { return plan_.is_convolution ? m : b_->Add(block_begin_, m); }

  int64_t RhsStride(const AddressLoop& loop) const {
    switch (plan_.rhs) {
      case RhsMode::kRowMajor:
        return loop.rhs_stride;
      case RhsMode::kPacked:
        return loop.rhs_stride * plan_.panel();
      case RhsMode::kPackInKernel:
        break;
    }
    // Panels made in the kernel follow k in one sweep.
    int64_t stride = 1;
    for (size_t i = plan_.k_loops.size(); i-- > 0;) {
      if (&plan_.k_loops[i] == &loop) break;
      stride *= plan_.k_loops[i].trips;
    }
    return stride * plan_.panel();
  }

  Value Widened(Value v) {
    return v.dtype() == plan_.accumulator ? v : b_->Convert(v, plan_.accumulator);
  }
  Value MultiplyAdd(Value a, Value b, Value c) {
    return ir::IsFloat(plan_.accumulator) ? b_->Fma(a, b, c) : b_->Add(b_->Mul(a, b), c);
  }

  // Runs the k loops inside the tile.
  std::vector<Value> Accumulate(Value m, int rows, Value panel, Value column,
                                std::vector<Value> acc, Value lhs_offset, Value rhs_offset) {
    loop::Builder& b = *b_;
    std::vector<RowAddress> addresses = RowAddresses(m, rows);
    prefetch_tile_ = b.Div(m, b.Index(plan_.rows));
    Value rhs;
    std::vector<Value> masks(plan_.vectors);
    switch (plan_.rhs) {
      case RhsMode::kPacked:
        rhs = b.Offset(rhs_, plan_.dtype, b.Mul(panel, b.Index(plan_.k * plan_.panel())));
        break;
      case RhsMode::kPackInKernel:
        rhs = panel_;
        break;
      case RhsMode::kRowMajor:
        rhs = b.Offset(rhs_, plan_.dtype, column);
        masks = epilogue_.ColumnMasks(b, column);
        break;
    }
    return Nest(plan_.blocked_k_loops, lhs_offset, rhs_offset, std::move(acc), addresses, rhs,
                masks);
  }

  std::vector<Value> Nest(size_t depth, Value lhs_offset, Value rhs_offset, std::vector<Value> acc,
                          const std::vector<RowAddress>& addresses, Value rhs,
                          const std::vector<Value>& masks) {
    loop::Builder& b = *b_;
    if (plan_.k == 0) return acc;
    if (depth >= plan_.k_loops.size()) {
      return Step(lhs_offset, rhs_offset, std::move(acc), addresses, rhs, masks);
    }
    const AddressLoop& loop = plan_.k_loops[depth];
    const int64_t rhs_stride = RhsStride(loop);
    auto at = [&](Value i) {
      return std::pair(b.Add(lhs_offset, b.Mul(i, b.Index(loop.lhs_stride))),
                       b.Add(rhs_offset, b.Mul(i, b.Index(rhs_stride))));
    };
    if (depth + 1 < plan_.k_loops.size()) {
      return b.For(b.Index(0), b.Index(loop.trips), 1, std::move(acc),
                   [&](Value i, absl::Span<const Value> carried) {
                     auto [l, r] = at(i);
                     return Nest(depth + 1, l, r,
                                 std::vector<Value>(carried.begin(), carried.end()), addresses, rhs,
                                 masks);
                   });
    }
    // Interleaved partial sums when one step has too few independent operations.
    const size_t size = acc.size();
    int copies = 1;
    while (static_cast<int>(size) * copies < kEnoughAccumulators &&
           loop.trips % (copies * 2) == 0) {
      copies *= 2;
    }
    std::vector<Value> zero(size, b.Splat(b.Constant(plan_.accumulator, 0), plan_.lanes));
    for (int c = 1; c < copies; ++c) acc.insert(acc.end(), zero.begin(), zero.end());
    int unroll = 1;
    for (int u : {4, 3, 2}) {
      if ((loop.trips / copies) % u == 0 && loop.trips / copies > u) {
        unroll = u;
        break;
      }
    }
    const int64_t steps = static_cast<int64_t>(copies) * unroll;
    acc =
        b.For(b.Index(0), b.Index(loop.trips), steps, std::move(acc),
              [&](Value i, absl::Span<const Value> carried) {
                std::vector<Value> sums(carried.begin(), carried.end());
                for (int64_t s = 0; s < steps; ++s) {
                  auto [l, r] = at(b.Add(i, b.Index(s)));
                  auto part = sums.begin() + (s % copies) * static_cast<int64_t>(size);
                  std::vector<Value> next = Step(l, r, {part, part + size}, addresses, rhs, masks);
                  std::copy(next.begin(), next.end(), part);
                }
                PrefetchNextPiece(at(i).second, steps, rhs);
                return sums;
              });
    for (int c = copies; c > 1; c /= 2) {
      for (size_t i = 0; i < size * c / 2; ++i) acc[i] = b.Add(acc[i], acc[i + size * c / 2]);
    }
    acc.resize(size);
    return acc;
  }

  // The first tile of a piece of the right-hand side would wait for memory in every step; instead,
  // each tile fetches its share of the piece that comes next (panels and their pieces lie one after
  // the other).  Worth 10 % where weights stream from L3 or memory.
  void PrefetchNextPiece(Value rhs_offset, int64_t steps, Value rhs) {
    if (prefetch_tiles_ < 2) return;
    loop::Builder& b = *b_;
    const int64_t lines = (steps * plan_.vectors + prefetch_tiles_ - 1) / prefetch_tiles_;
    // Tile t takes lines t * lines ... of the steps' share, spread evenly over the piece.
    Value share = b.Mul(prefetch_tile_, b.Index(lines * plan_.lanes));
    for (int64_t i = 0; i < lines; ++i) {
      b.Prefetch(rhs, plan_.dtype,
                 b.Add(b.Add(rhs_offset, share), b.Index(piece_elements_ + i * plan_.lanes)));
    }
  }

  // One value of k: a panel row times a broadcast of each row's element.
  std::vector<Value> Step(Value lhs_offset, Value rhs_offset, std::vector<Value> acc,
                          const std::vector<RowAddress>& addresses, Value rhs,
                          const std::vector<Value>& masks) {
    loop::Builder& b = *b_;
    std::vector<Value> columns;
    for (int v = 0; v < plan_.vectors; ++v) {
      columns.push_back(Widened(b.Load(
          rhs, plan_.dtype, b.Add(rhs_offset, b.Index(static_cast<int64_t>(v) * plan_.lanes)),
          plan_.lanes, masks[v])));
    }
    for (size_t r = 0; r < addresses.size(); ++r) {
      Value x = b.Load(addresses[r].pointer, plan_.dtype,
                       b.Add(lhs_offset, b.Index(addresses[r].displacement)));
      Value spread = b.Splat(Widened(x), plan_.lanes);
      for (int v = 0; v < plan_.vectors; ++v) {
        Value& a = acc[r * plan_.vectors + v];
        a = MultiplyAdd(spread, columns[v], a);
      }
    }
    return acc;
  }

  void Finish(Value batch, Value m, int rows, Value column, const std::vector<Value>& acc) {
    absl::Status status = epilogue_.Emit(*b_, batch, m, rows, column, acc);
    if (status_.ok()) status_ = status;
  }

  const Node& fusion_;
  const ir::Graph& region_;
  const ContractionPlan& plan_;
  const std::string& name_;
  loop::Builder* b_ = nullptr;
  absl::Status status_;
  Epilogue epilogue_;
  int lhs_parameter_ = 0, rhs_parameter_ = 0;
  Value padded_input_, panel_, sums_;
  Value lhs_, rhs_, block_begin_;  // of the current block
  Value prefetch_tile_;            // of the current tile: its number within the block
  int64_t prefetch_tiles_ = 0, piece_elements_ = 0;
};

}  // namespace

int64_t ContractionPanelWidth(const Node& fusion, const Target& target) {
  if (StreamsRightHandSide(fusion, target)) return 0;
  auto plan = PlanContraction(fusion, target, /*will_be_packed=*/true);
  return plan.ok() ? plan->panel() : 0;
}

absl::StatusOr<EmittedKernel> EmitContraction(const Node& fusion, const Target& target,
                                              const std::string& name) {
  TEKTITE_ASSIGN_OR_RETURN(ContractionPlan plan, PlanContraction(fusion, target));
  return ContractionEmitter(fusion, plan, name).Run();
}

}  // namespace tektite::cpu
