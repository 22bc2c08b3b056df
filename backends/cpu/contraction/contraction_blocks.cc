#include "backends/cpu/contraction/contraction_blocks.h"

#include <algorithm>

#include "backends/cpu/contraction/filter_gradient_view.h"
#include "backends/cpu/contraction/packing/packed_rows.h"
#include "backends/cpu/emit/chunking.h"
#include "jit/base/rounding.h"

namespace tektite::cpu {
namespace {

using ir::Dim;

Dim Clamp(const Dim& d, const Dim& least, const Dim& most) { return Max(Min(d, most), least); }

// `then` where a <= b (and b >= 1), otherwise `otherwise`.
Dim IfAtMost(const Dim& a, const Dim& b, const Dim& then, const Dim& otherwise) {
  const Dim more = Min(FloorDiv(Max(a - Dim(1), 0), b), 1);  // 0 or 1
  return then + more * (otherwise - then);
}

}  // namespace

void ChooseBlocks(ContractionTiling& plan, const target::TargetInfo& target) {
  ++TilingCounts::blocks;
  const int64_t bytes = ir::DTypeBytes(plan.dtype);
  const double multiply_ns = 1 / (target.vector_fmas_per_ns() * plan.lanes);
  const Dim &m = plan.m, &n = plan.n, &k = plan.k;
  plan.cost = Cost(plan.batch * m * n * k, multiply_ns) +
              Cost(n * k, static_cast<double>(bytes) / target.memory_bytes_per_ns);
  const Dim chunk = Clamp(FloorDiv(plan.cost, 16), Cost(1, 15e3), Cost(1, 200e3));
  const Dim lhs_row_bytes = Max(
      plan.is_convolution ? Dim(plan.conv.channels * plan.conv.stride_w * bytes) : k * Dim(bytes),
      1);
  // A right-hand side of unknown size is assumed to change with every call, and to be large.
  const bool small_rhs = (k * n * Dim(bytes)).value_or(target.l2_bytes) <= target.l2_bytes / 2 &&
                         plan.rhs != RhsMode::kPackInKernel;
  const Dim tiles = 4 * plan.rows;
  Dim rows, panels;
  if (small_rhs) {
    // All columns at once: the right-hand side stays in L2 from chunk to chunk.
    panels = plan.panels();
    rows = FloorDiv(chunk, Max(Cost(n * k, multiply_ns), 1));
    rows = Min(rows, Max(FloorDiv(target.l2_bytes / 4, lhs_row_bytes), tiles));
  } else {
    rows = Max(FloorDiv(target.l2_bytes / 2, lhs_row_bytes), tiles);
    // Wide chunks rather than tall ones where rows are many: results and what the epilogue reads
    // lie pages apart from row to row (a layer's gradient with Adam's moments: 10 % faster).
    if (plan.rhs == RhsMode::kPackInKernel && m.value_or(0) >= 8 * tiles.value()) {
      rows = Min(rows, 4 * tiles);
    }
    rows = IfAtMost(m, rows + FloorDiv(rows, 3), m, Min(rows, m));
    const Dim panel_ns = Cost(k * Dim(plan.panel()), multiply_ns) * rows;
    panels = FloorDiv(chunk, Max(panel_ns, 1));
  }
  rows = Clamp(rows, Min(plan.rows, m), m);
  const Dim row_cost = Cost(n * k, multiply_ns);
  // Every block of rows, whatever its size, reads the right-hand side out of L2 beside the sums.
  const double block_ns =
      small_rhs ? static_cast<double>((k * n).value_or(0) * bytes) / target.l2_bytes_per_ns : 0;
  if (plan.is_convolution) {
    plan.image_rows =
        Clamp(FloorDiv(rows, Max(plan.conv.out_width, 1)), 1, Max(plan.conv.out_height, 1));
    if (small_rhs) {
      plan.image_rows = EvenBlock({plan.batch, plan.conv.out_height, plan.image_rows,
                                   row_cost * plan.conv.out_width, block_ns});
    }
    rows = plan.image_rows * plan.conv.out_width;
  } else if (small_rhs && m.is_constant() && rows.is_constant()) {
    const Dim tiles = CeilDiv(m, plan.rows);
    const Dim block = EvenBlock(
        {plan.batch, tiles, FloorDiv(rows, plan.rows), row_cost * Dim(plan.rows), block_ns});
    rows = Dim(plan.rows) * FittingBlock(tiles, block);
  } else {
    // Blocks of equal size, in whole tiles.
    const Dim blocks = CeilDiv(m, Max(rows, 1));
    const Dim equal = CeilDiv(CeilDiv(m, Max(blocks, 1)), plan.rows) * Dim(plan.rows);
    rows = IfAtMost(blocks, 1, rows, equal);
  }
  plan.block_rows = Max(rows, 1);
  plan.block_panels = Clamp(panels, 1, Max(plan.panels(), 1));
  if (!small_rhs) {
    const Dim panel_cost = Cost(k * Dim(plan.panel()), multiply_ns) * plan.block_rows;
    plan.block_panels =
        EvenBlock({plan.batch * plan.m_blocks(), plan.panels(), plan.block_panels, panel_cost});
  }
  if (plan.is_filter_gradient) return BlockPixels(plan, target);
  if (ChoosePackedRows(plan, target)) return;

  // A panel that does not fit beside the rest is swept in pieces of k.
  const int64_t piece_bytes = target.l2_bytes / 8;
  const int64_t row_bytes = plan.panel() * bytes;
  if (!k.is_constant() || k.value() * row_bytes <= target.l2_bytes / 4 ||
      plan.block_rows.value_or(3 * plan.rows) < 3 * plan.rows) {
    return;
  }
  const AddressLoop inner = plan.k_loops.back();
  const int64_t trips = inner.trips.value();
  int64_t piece = trips;
  for (int64_t parts = 1; parts <= 64; ++parts) {
    if (trips % parts == 0 && trips / parts * row_bytes <= piece_bytes) {
      piece = trips / parts;
      break;
    }
  }
  if (piece < 64) return;
  if (piece < trips) {
    plan.k_loops.back() = {trips / piece, inner.lhs_stride * Dim(piece),
                           inner.rhs_stride * Dim(piece)};
    plan.k_loops.push_back({piece, inner.lhs_stride, inner.rhs_stride});
  }
  plan.blocked_k_loops = static_cast<int>(plan.k_loops.size()) - 1;
}

KBlocks BlocksOfSums(const ContractionTiling& plan, int first, int64_t at_a_time) {
  // TensorFlow's products, oneDNN's, end a block after some 400 products; storing and loading the
  // sums of a tile costs as much as three of them.
  constexpr int64_t kBlock = 512, kOneBlock = 768;
  constexpr int64_t kLarge = int64_t{1} << 30;  // for unknown sizes
  KBlocks blocks;
  const int loops = static_cast<int>(plan.k_loops.size());
  if (loops == 0 || !ir::IsFloat(plan.accumulator)) return blocks;
  first = std::clamp(first, 0, loops);
  auto steps = [&](int i) {
    const int64_t trips = plan.k_loops[i].trips.value_or(kLarge);
    return i + 1 == loops ? CeilDiv(trips, at_a_time) : trips;
  };
  double all = 1;
  for (int i = first; i < loops; ++i) all *= static_cast<double>(steps(i));
  if (all <= kOneBlock) return blocks;
  int64_t inner = 1;  // steps in a trip
  int depth = loops - 1;
  for (; depth > first && inner < kBlock && inner * steps(depth) < kBlock; --depth) {
    inner *= std::max<int64_t>(steps(depth), 1);
  }
  blocks.depth = depth;
  const int64_t most = std::max<int64_t>(kBlock / inner, 1);
  const bool is_known = plan.k_loops[depth].trips.is_constant();
  const int64_t even = is_known ? CeilDiv(steps(depth), CeilDiv(steps(depth), most)) : most;
  const bool is_last = depth == loops - 1;
  blocks.trips = is_last ? RoundUp(even, KBlocks::kMultiple) * at_a_time : even;
  blocks.count = blocks.per_loop(plan);
  for (int i = first; i < depth; ++i) blocks.count = blocks.count * plan.k_loops[i].trips;
  blocks.count = Max(blocks.count, 1);
  return blocks;
}

}  // namespace tektite::cpu
