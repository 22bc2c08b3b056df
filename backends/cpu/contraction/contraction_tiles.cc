#include "backends/cpu/contraction/contraction_tiles.h"

#include <algorithm>

#include "backends/cpu/emit/names.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"

namespace tektite::cpu {
namespace {

using target::Tile;

// Panels to have at least where rows are few, since the work is shared by panels.  Not more: wide
// ones are read faster (Zen 5, [1,256] x [256,1024] twice in turn, from L3: 90 GB/s in panels of 16
// vectors, 65 of 8).
constexpr int64_t kWantedPanels = 4;
// An unknown number is assumed to be large.
constexpr int64_t kManyColumns = int64_t{1} << 30;

// What a convolution's tile costs that crosses from one row of pixels into the next, against one
// that does not: an address for each pixel instead of one, more than there are registers for.  (Zen
// 4, 3x3 and 5x5 of 32 channels and 32 to 224 pixels a row: tiles of 11 and 12 rows took 1.01 to
// 1.03 times as long as those of 8, 1x1 as long.)
constexpr double kCrossing = 1.04;

// Addresses so far apart share a set of the first cache, which holds so many lines.  A tile of
// twelve rows 4 KB apart would find none of its lines again at the next k: [128,1024] x [1024,1024]
// in panels takes 2.47 ms so, 2.29 with eight rows (Zen 4).
constexpr int64_t kWayBytes = 4096;
constexpr int kWays = 8;
// Fewer rows are read once or twice, and the right-hand side's memory decides.
constexpr int64_t kManyRows = 32;

// Accumulators that fit beside a panel row and a broadcast value.
int MaxAccumulators(const target::TargetInfo& target) {
  return target.vector_registers >= 32 ? 24 : 12;
}

// Panels of at most so many vectors.  Pairs of bf16 (ReadsPairs) take two panel rows at once.
int WidestPanel(const ContractionTiling& plan, const target::TargetInfo& target) {
  return target.vector_registers >= 32 && plan.dtype != DType::kBF16 ? 3 : 2;
}

// Rows an unknown distance apart take a pointer each, of which there are registers for eight.
// ([12, 128, 128] x [12, 128, 64] of unknown length: 0.63 of the static speed with twelve.)
int MostRows(const ContractionTiling& plan, const target::TargetInfo& target, int vectors) {
  const int most = std::min(MaxAccumulators(target) / vectors, 14);
  const bool known_rows =
      plan.is_convolution || plan.m_loops.empty() || plan.m_loops[0].lhs_stride.is_constant();
  return known_rows ? most : std::min(most, 8);
}

// Whether the elements of one k that a tile reads of its rows lie in one set of the first cache.
bool RowsShareSet(const ContractionTiling& plan) {
  if (plan.is_convolution || plan.m_loops.empty() || plan.k_loops.empty()) return false;
  const Dim& apart = plan.m_loops.back().lhs_stride;
  return plan.k_loops.back().lhs_stride == Dim(1) && apart.is_constant() &&
         apart.value() * ir::DTypeBytes(plan.dtype) % kWayBytes == 0;
}

int BestVectors(const ContractionTiling& plan, const target::TargetInfo& target) {
  if (!plan.n.is_constant()) return 2;
  const int64_t needed = CeilDiv(plan.n.value(), plan.lanes);
  double best_waste = 1e9;
  int best = 1;
  for (int vectors = WidestPanel(plan, target); vectors >= 1; --vectors) {
    const double padded = static_cast<double>(RoundUp(needed, vectors));
    // A narrower panel does fewer multiplications per load.
    const double waste = padded / static_cast<double>(std::max<int64_t>(needed, 1)) *
                         (vectors == 1   ? 1.15
                          : vectors == 2 ? 1.03
                                         : 1.0);
    if (waste < best_waste) {
      best_waste = waste;
      best = vectors;
    }
  }
  return best;
}

// Rows that divide the extent leave no ragged tile; in a convolution tiles should not cross rows,
// in the gradient of a filter they should not cross taps.
int BestRows(const ContractionTiling& plan, const target::TargetInfo& target, int vectors) {
  int most = MostRows(plan, target, vectors);
  if (vectors > 1 && plan.m.value_or(kManyRows) >= kManyRows && RowsShareSet(plan)) {
    most = std::min(most, kWays);
  }
  if (plan.is_filter_gradient && plan.m_loops.size() > 1) {
    for (int rows = most; rows >= std::max(1, most / 2); --rows) {
      if (plan.m_loops.back().trips.value_or(1) % rows == 0) return rows;
    }
  }
  const Dim& extent = plan.is_convolution ? plan.conv.out_width : plan.m;
  int best_rows =
      static_cast<int>(std::min<int64_t>(most, std::max<int64_t>(plan.m.value_or(most), 1)));
  if (!extent.is_constant()) return best_rows;
  double best = 1e9;
  for (int rows = most; rows >= std::max(1, most * 2 / 3); --rows) {
    if (rows > plan.m.value_or(rows)) continue;
    const double tiles = static_cast<double>(CeilDiv(extent.value(), rows));
    double waste = tiles * (rows + 1.5) / static_cast<double>(extent.value());
    if (plan.is_convolution && extent.value() % rows != 0) waste *= kCrossing;
    if (waste < best - 1e-9) {
      best = waste;
      best_rows = rows;
    }
  }
  return best_rows;
}

}  // namespace

bool HasFewRows(const ContractionTiling& plan) {
  return plan.root->op() == ir::Op::kDotGeneral && plan.m.is_constant() && plan.m.value() >= 1 &&
         plan.m.value() <= kFewRows;
}

bool StreamsAlongK(const ContractionTiling& view) {
  return view.rhs != RhsMode::kPacked && view.rhs_n_stride != Dim(1) && view.n != Dim(1) &&
         view.n != Dim(0);
}

int StreamedVectors(const ContractionTiling& plan, int64_t rows, const target::TargetInfo& target,
                    int64_t groups) {
  const bool many_registers = target.vector_registers >= 32;
  const int64_t sums = rows == 1 ? (many_registers ? 16 : 8) : (many_registers ? 24 : 8);
  const int64_t most = std::max<int64_t>(sums / rows / groups, 1);
  const int64_t needed = CeilDiv(plan.n.value_or(kManyColumns) / groups, plan.lanes);
  int64_t vectors = std::clamp<int64_t>(needed / kWantedPanels, 1, most);
  while (groups > 1 && needed % vectors != 0) --vectors;
  // The last panel's empty columns are read as well.
  if (plan.rhs == RhsMode::kPacked) {
    const int64_t widest = vectors;
    for (int64_t fewer = widest - 1; fewer > widest / 2; --fewer) {
      if (RoundUp(needed, fewer) < RoundUp(needed, vectors)) vectors = fewer;
    }
  }
  return static_cast<int>(vectors * groups);
}

Tile ChooseTile(const ContractionTiling& view, const target::TargetInfo& target) {
  ++TilingCounts::tiles;
  if (view.rhs == RhsMode::kPacked && HasFewRows(view)) {
    return {StreamedVectors(view, view.m.value(), target), view.m.value()};
  }
  const int vectors = BestVectors(view, target);
  return {vectors, BestRows(view, target, vectors)};
}

bool CopiesRhs(const ContractionTiling& view, const Tile& tile) {
  const bool contiguous = view.rhs_n_stride == Dim(1) || view.n == Dim(1);
  const bool few_rows = view.m.value_or(4 * tile.rows) < 4 * tile.rows;
  const bool narrow = view.accumulator != view.dtype;
  return !contiguous || !(few_rows || view.is_convolution || view.is_filter_gradient || narrow);
}

absl::Status TakeTile(const Node& fusion, const target::Schedule& schedule,
                      ContractionTiling& plan) {
  plan.vectors = static_cast<int>(schedule.tile.vectors);
  plan.rows = static_cast<int>(schedule.tile.rows);
  const int64_t columns = fusion.Int(ir::Attr::rhs_packed);
  if (plan.rows == 0 || (columns > 0 && columns != plan.panel())) {
    return InvalidArgument("'", schedule.Print(), "' has no tile for panels of ", columns,
                           " columns");
  }
  return absl::OkStatus();
}

bool ReadsPairs(const ContractionTiling& plan, const target::TargetInfo& target) {
  if (plan.dtype != DType::kBF16 || plan.k_loops.empty() || SharesLastVector(plan) ||
      plan.rows * plan.vectors + 2 * plan.vectors + 3 > target.vector_registers) {
    return false;
  }
  const auto is_even = [](const Dim& d) { return Mod(d, 2) == Dim(0); };
  const auto strides_are_even = [&](absl::Span<const AddressLoop> loops) {
    return std::all_of(loops.begin(), loops.end(),
                       [&](const AddressLoop& loop) { return is_even(loop.lhs_stride); });
  };
  const AddressLoop& inner = plan.k_loops.back();
  return inner.lhs_stride == Dim(1) && inner.trips.is_constant() &&
         strides_are_even(absl::MakeConstSpan(plan.k_loops).first(plan.k_loops.size() - 1)) &&
         strides_are_even(plan.m_loops) && strides_are_even(plan.batch_loops) &&
         (!plan.is_convolution || plan.conv.channels % 2 == 0) && !plan.is_filter_gradient;
}

bool SharesLastVector(const ContractionTiling& plan) {
  if (plan.rhs == RhsMode::kRowMajor || plan.blocked_k_loops > 0 || !plan.n.is_constant()) {
    return false;
  }
  const int64_t n = plan.n.value(), last = n % plan.lanes;
  return n <= plan.panel() && n > (plan.vectors - 1) * int64_t{plan.lanes} && last > 0 &&
         last <= plan.lanes / 2;
}

}  // namespace tektite::cpu
