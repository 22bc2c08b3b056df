#include "backends/cpu/contraction/contraction_plan.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "backends/cpu/contraction/filter_gradient_plan.h"
#include "backends/cpu/emit/emitter.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"
#include "jit/ops/filter_gradient.h"
#include "jit/ops/ops.h"

namespace tektite::cpu {
namespace {

using ir::Attr;
using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::Node;
using ir::Op;

constexpr int64_t kUsualRows = 128;  // of a product whose number of rows is not known

absl::Status PlanDot(ContractionPlan& plan) {
  const Node& dot = *plan.root;
  const ops::DotDims dims = ops::GetDotDims(dot);
  const Dims &lhs = dot.operand_shape(0).dims(), &rhs = dot.operand_shape(1).dims();
  const Dims lhs_strides = ir::RowMajorStrides(lhs), rhs_strides = ir::RowMajorStrides(rhs);
  for (size_t i = 0; i < dims.lhs_batch.size(); ++i) {
    plan.batch_loops.push_back(
        {lhs[dims.lhs_batch[i]], lhs_strides[dims.lhs_batch[i]], rhs_strides[dims.rhs_batch[i]]});
  }
  for (int64_t d : dims.lhs_free) plan.m_loops.push_back({lhs[d], lhs_strides[d], 0});
  // k in the order in which the left-hand side stores it, as in assign_layouts.
  std::vector<size_t> order(dims.lhs_contracting.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return dims.lhs_contracting[a] < dims.lhs_contracting[b]; });
  for (size_t i : order) {
    const int64_t l = dims.lhs_contracting[i], r = dims.rhs_contracting[i];
    plan.k_loops.push_back({lhs[l], lhs_strides[l], rhs_strides[r]});
  }
  std::vector<AddressLoop> n_loops;
  for (int64_t d : dims.rhs_free) n_loops.push_back({rhs[d], 0, rhs_strides[d]});
  plan.batch = Trips(plan.batch_loops);
  plan.m = Trips(plan.m_loops);
  plan.n = Trips(n_loops);
  plan.k = Trips(plan.k_loops);
  plan.batch_loops = Merged(plan.batch_loops);
  plan.m_loops = Merged(plan.m_loops);
  n_loops = Merged(n_loops);
  if (plan.rhs == RhsMode::kPacked) {
    // The panels follow k in one sweep.
    Dim stride(1);
    for (size_t i = plan.k_loops.size(); i-- > 0;) {
      plan.k_loops[i].rhs_stride = stride;
      stride = stride * plan.k_loops[i].trips;
    }
  } else if (n_loops.size() > 1) {
    return Unimplemented(dot.Describe(),
                         ": columns of the right-hand side are not one stride apart");
  }
  plan.k_loops = Merged(plan.k_loops);
  plan.rhs_n_stride = n_loops.empty() ? Dim(1) : n_loops[0].rhs_stride;
  return absl::OkStatus();
}

absl::Status PlanConvolution(ContractionPlan& plan) {
  const Node& node = *plan.root;
  TEKTITE_ASSIGN_OR_RETURN(ops::ConvDims dims,
                           ops::GetConvDims(node.operand_shape(0).rank(), node.attrs()));
  if (dims.feature_groups != 1 || dims.batch_groups != 1) {
    return Unimplemented(node.Describe(), ": grouped");
  }
  TEKTITE_ASSIGN_OR_RETURN(plan.conv, GeometryOf(node, dims));
  const ConvolutionGeometry& g = plan.conv;
  plan.is_convolution = true;
  const Dim& images = node.operand_shape(0).dim(0);
  plan.batch = images * g.out_depth;
  plan.m = g.out_height * g.out_width;
  plan.n = node.shape().dim(node.shape().rank() - 1);
  plan.k = g.kernel_depth * g.kernel_height * g.kernel_width * g.channels;
  plan.batch_loops = {{images, g.depth * g.slice(), 0},
                      {g.out_depth, Dim(g.stride_d) * g.slice(), 0}};
  const Dim unit = plan.rhs == RhsMode::kPacked ? Dim(1) : plan.n;
  plan.k_loops = Merged({{g.kernel_height, g.padded_width() * Dim(g.dilation_h * g.channels),
                          unit * Dim(g.kernel_width * g.channels)},
                         {g.kernel_width, g.dilation_w * g.channels, unit * Dim(g.channels)},
                         {g.channels, 1, unit}});
  if (g.kernel_depth > 1) {
    // Where the slices are copied with their padding, AddressCopiedSlices says how far apart.
    plan.k_loops.insert(plan.k_loops.begin(),
                        {g.kernel_depth, Dim(g.dilation_d) * g.slice(),
                         unit * Dim(g.kernel_height * g.kernel_width * g.channels)});
  }
  return absl::OkStatus();
}

// The copies of a block's input lie one behind the other, a slice for each of the kernel's.
void AddressCopiedSlices(ContractionPlan& plan) {
  const ConvolutionGeometry& g = plan.conv;
  if (!plan.is_convolution || g.kernel_depth == 1 || !g.padded()) return;
  plan.k_loops.front().lhs_stride =
      g.input_rows(plan.image_rows) * g.padded_width() * Dim(g.channels);
}

// Accumulators that fit beside a panel row and a broadcast value.
int MaxAccumulators(const backend::TargetInfo& target) {
  return target.vector_registers >= 32 ? 24 : 12;
}

// Panels of at most so many vectors.  Pairs of bf16 (ReadsPairs) take two panel rows at once.
int WidestPanel(const ContractionPlan& plan, const backend::TargetInfo& target) {
  return target.vector_registers >= 32 && plan.dtype != DType::kBF16 ? 3 : 2;
}

// Rows an unknown distance apart take a pointer each, of which there are registers for eight.
// ([12, 128, 128] x [12, 128, 64] of unknown length: 0.63 of the static speed with twelve.)
int MostRows(const ContractionPlan& plan, const backend::TargetInfo& target, int vectors) {
  const int most = std::min(MaxAccumulators(target) / vectors, 14);
  const bool known_rows =
      plan.is_convolution || plan.m_loops.empty() || plan.m_loops[0].lhs_stride.is_constant();
  return known_rows ? most : std::min(most, 8);
}

int BestVectors(const ContractionPlan& plan, const backend::TargetInfo& target) {
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
int BestRows(const ContractionPlan& plan, const backend::TargetInfo& target, int vectors) {
  const int most = MostRows(plan, target, vectors);
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
    const double waste = tiles * (rows + 1.5) / static_cast<double>(extent.value());
    if (waste < best - 1e-9) {
      best = waste;
      best_rows = rows;
    }
  }
  return best_rows;
}

// The tile that the fusion names, if it does and this machine has the registers for it.
bool ReadTile(const Node& fusion, const backend::TargetInfo& target, ContractionPlan& plan) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(fusion.String(Attr::target), absl::MaxSplits('x', 1));
  Tile tile;
  if (!absl::SimpleAtoi(parts.first, &tile.vectors) ||
      !absl::SimpleAtoi(parts.second, &tile.rows) || tile.vectors < 1 ||
      tile.vectors > WidestPanel(plan, target) || tile.rows < 1 ||
      tile.rows > MostRows(plan, target, tile.vectors)) {
    return false;
  }
  plan.vectors = tile.vectors;
  plan.rows = tile.rows;
  return true;
}

void ChooseTile(const Node& fusion, ContractionPlan& plan, const backend::TargetInfo& target) {
  if (ReadTile(fusion, target, plan)) return;
  plan.vectors = BestVectors(plan, target);
  plan.rows = BestRows(plan, target, plan.vectors);
}

Dim Clamp(const Dim& d, const Dim& least, const Dim& most) { return Max(Min(d, most), least); }

// `then` where a <= b (and b >= 1), otherwise `otherwise`.
Dim IfAtMost(const Dim& a, const Dim& b, const Dim& then, const Dim& otherwise) {
  const Dim more = Min(FloorDiv(Max(a - Dim(1), 0), b), 1);  // 0 or 1
  return then + more * (otherwise - then);
}

void ChooseBlocks(ContractionPlan& plan, const backend::TargetInfo& target) {
  const int64_t bytes = ir::DTypeBytes(plan.dtype);
  const double multiply_ns = 1 / (target.vector_fmas_per_ns() * plan.lanes);
  const Dim &m = plan.m, &n = plan.n, &k = plan.k;
  plan.cost = Cost(plan.batch * m * n * k, multiply_ns) +
              Cost(n * k, static_cast<double>(bytes) / target.memory_bytes_per_ns);
  const Dim chunk = Clamp(FloorDiv(plan.cost, 16), Cost(1, 15e3), Cost(1, 200e3));
  const Dim lhs_row_bytes = Max(
      plan.is_convolution ? Dim(plan.conv.channels * plan.conv.stride_w * bytes) : k * Dim(bytes),
      1);
  // A right-hand side of unknown size is taken for one that changes with every call, and large.
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
  // What a block of rows reads whatever its size: the right-hand side, out of L2 beside the sums.
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

// The rows' elements of two neighbouring k make an aligned word of 32 bits each, and there are
// registers for two panel rows, the word and both its halves.
bool ReadsPairs(const ContractionPlan& plan, const backend::TargetInfo& target) {
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

}  // namespace

std::vector<AddressLoop> Merged(const std::vector<AddressLoop>& loops) {
  std::vector<AddressLoop> merged;
  for (const AddressLoop& loop : loops) {
    if (loop.trips == Dim(1)) continue;
    if (!merged.empty() && merged.back().lhs_stride == loop.trips * loop.lhs_stride &&
        merged.back().rhs_stride == loop.trips * loop.rhs_stride) {
      merged.back() = {merged.back().trips * loop.trips, loop.lhs_stride, loop.rhs_stride};
    } else {
      merged.push_back(loop);
    }
  }
  return merged;
}

Dim Trips(const std::vector<AddressLoop>& loops) {
  Dim n(1);
  for (const AddressLoop& loop : loops) n = n * loop.trips;
  return n;
}

absl::StatusOr<ConvolutionGeometry> GeometryOf(const Node& node, const ops::ConvDims& dims) {
  const int rank = node.operand_shape(0).rank();
  if (dims.spatial < 1 || dims.spatial > 3) {
    return Unimplemented(node.Describe(), ": ", dims.spatial, " spatial dimensions");
  }
  if (dims.input_batch != 0 || dims.input_feature != rank - 1 || dims.output_batch != 0 ||
      dims.output_feature != rank - 1 || dims.kernel_output != rank - 1 ||
      dims.kernel_input != rank - 2) {
    return Unimplemented(node.Describe(), ": layout is not channels-last");
  }
  const Dims &in = node.operand_shape(0).dims(), &out = node.shape().dims();
  if (!node.operand_shape(1).is_static() || !in[rank - 1].is_constant()) {
    return Unimplemented(node.Describe(), ": a kernel or channels of unknown size");
  }
  const std::vector<int64_t> kernel = node.operand_shape(1).sizes();
  ConvolutionGeometry g;
  const int w = dims.spatial - 1;  // the innermost spatial dimension
  auto pick = [&](const std::vector<int64_t>& v, int i, int64_t otherwise) {
    return v.empty() ? otherwise : v[i];
  };
  for (int i = 0; i < dims.spatial; ++i) {
    if (dims.input_spatial[i] != i + 1 || dims.output_spatial[i] != i + 1 ||
        dims.kernel_spatial[i] != i) {
      return Unimplemented(node.Describe(), ": layout is not channels-last");
    }
    if (pick(dims.lhs_dilation, i, 1) != 1) {
      return Unimplemented(node.Describe(), ": dilated input");
    }
    if (pick(dims.low, i, 0) < 0 || pick(dims.high, i, 0) < 0) {
      return Unimplemented(node.Describe(), ": negative padding");
    }
  }
  g.channels = in[rank - 1].value();
  g.width = in[1 + w];
  g.out_width = out[1 + w];
  g.kernel_width = kernel[w];
  g.stride_w = pick(dims.strides, w, 1);
  g.dilation_w = pick(dims.rhs_dilation, w, 1);
  g.pad_left = pick(dims.low, w, 0);
  g.pad_right = pick(dims.high, w, 0);
  if (dims.spatial >= 2) {
    const int h = dims.spatial - 2;
    g.height = in[1 + h];
    g.out_height = out[1 + h];
    g.kernel_height = kernel[h];
    g.stride_h = pick(dims.strides, h, 1);
    g.dilation_h = pick(dims.rhs_dilation, h, 1);
    g.pad_top = pick(dims.low, h, 0);
    g.pad_bottom = pick(dims.high, h, 0);
  }
  if (dims.spatial == 3) {
    g.depth = in[1];
    g.out_depth = out[1];
    g.kernel_depth = kernel[0];
    g.stride_d = pick(dims.strides, 0, 1);
    g.dilation_d = pick(dims.rhs_dilation, 0, 1);
    g.pad_front = pick(dims.low, 0, 0);
    g.pad_back = pick(dims.high, 0, 0);
  }
  return g;
}

std::string TileName(const Tile& tile) { return absl::StrCat(tile.vectors, "x", tile.rows); }

absl::StatusOr<std::vector<Tile>> CandidateTiles(const Node& fusion,
                                                 const backend::TargetInfo& target) {
  TEKTITE_ASSIGN_OR_RETURN(const ContractionPlan plan,
                           PlanContraction(fusion, target, /*will_be_packed=*/true));
  const Tile usual = {plan.vectors, plan.rows};
  std::vector<Tile> tiles = {usual};
  if (!plan.m.is_constant() || !plan.n.is_constant() || !plan.k.is_constant()) return tiles;
  const int64_t needed = CeilDiv(plan.n.value(), plan.lanes);
  auto add = [&](const Tile& tile) {
    // With few accumulators k is taken in interleaved sums, which is another order.
    const bool few = tile.vectors * tile.rows < kEnoughAccumulators;
    if (few || tile.vectors > needed || tile.rows > plan.m.value()) return;
    if (std::find(tiles.begin(), tiles.end(), tile) == tiles.end()) tiles.push_back(tile);
  };
  if (usual.vectors * usual.rows < kEnoughAccumulators) return tiles;
  for (int vectors = WidestPanel(plan, target); vectors >= 1; --vectors) {
    add({vectors, BestRows(plan, target, vectors)});
    add({vectors, MostRows(plan, target, vectors)});
  }
  return tiles;
}

absl::StatusOr<ContractionPlan> PlanContraction(const Node& fusion,
                                                const backend::TargetInfo& target,
                                                bool will_be_packed) {
  ContractionPlan plan;
  plan.root = ops::FindContraction(fusion.region());
  if (plan.root == nullptr) return Unimplemented("a contraction fusion without a contraction");
  plan.dtype = plan.root->operand_shape(0).dtype();
  if (plan.root->operand_shape(1).dtype() != plan.dtype || plan.dtype == DType::kBool) {
    return Unimplemented(plan.root->Describe(), ": operands of different types");
  }
  const bool narrow = plan.dtype == DType::kF16 || plan.dtype == DType::kBF16;
  plan.accumulator = narrow ? DType::kF32 : plan.dtype;
  plan.lanes = target.lanes(std::max(4, ir::DTypeBytes(plan.accumulator)));
  if (will_be_packed || fusion.attrs().Has(Attr::rhs_packed)) plan.rhs = RhsMode::kPacked;
  TEKTITE_RETURN_IF_ERROR(plan.root->op() == Op::kDotGeneral  ? PlanDot(plan)
                          : ops::IsFilterGradient(*plan.root) ? PlanFilterGradient(plan)
                                                              : PlanConvolution(plan));
  ChooseTile(fusion, plan, target);
  if (plan.rhs != RhsMode::kPacked) {
    const bool contiguous = plan.rhs_n_stride == Dim(1) || plan.n == Dim(1);
    const bool few_rows = plan.m.value_or(4 * plan.rows) < 4 * plan.rows;
    const bool in_place = few_rows || plan.is_convolution || plan.is_filter_gradient || narrow;
    plan.rhs = contiguous && in_place ? RhsMode::kRowMajor : RhsMode::kPackInKernel;
  } else if (!will_be_packed && fusion.Int(Attr::rhs_packed) != plan.panel()) {
    return Internal("panels of ", fusion.Int(Attr::rhs_packed), " columns where ", plan.panel(),
                    " are read");
  }
  if (plan.rhs != RhsMode::kPacked && plan.rhs_n_stride == Dim(0)) {
    return Unimplemented(plan.root->Describe(), ": a right-hand side without columns");
  }
  ChooseBlocks(plan, target);
  AddressCopiedSlices(plan);
  plan.reads_pairs = ReadsPairs(plan, target);
  return plan;
}

ir::SymbolMap UsualSizes(const ContractionPlan& plan) {
  std::set<std::string> symbols;
  plan.m.CollectSymbols(&symbols);
  plan.block_rows.CollectSymbols(&symbols);
  const auto all = [&](int64_t size) {
    ir::SymbolMap sizes;
    for (const std::string& symbol : symbols) sizes.emplace(symbol, size);
    return sizes;
  };
  int64_t size = 1;
  while (!symbols.empty() && size < kUsualRows &&
         plan.m.Substitute(all(size)).value() < kUsualRows) {
    ++size;
  }
  return all(size);
}

KBlocks BlocksOfSums(const ContractionPlan& plan, int first, int64_t at_a_time) {
  // TensorFlow's products, oneDNN's, end a block after some 400 products; storing and loading the
  // sums of a tile costs as much as three of them.
  constexpr int64_t kBlock = 512, kOneBlock = 768;
  constexpr int64_t kLarge = int64_t{1} << 30;  // for what is not known
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

bool SharesLastVector(const ContractionPlan& plan) {
  if (plan.rhs == RhsMode::kRowMajor || plan.blocked_k_loops > 0 || !plan.n.is_constant()) {
    return false;
  }
  const int64_t n = plan.n.value(), last = n % plan.lanes;
  return n <= plan.panel() && n > (plan.vectors - 1) * int64_t{plan.lanes} && last > 0 &&
         last <= plan.lanes / 2;
}

}  // namespace tektite::cpu
