#include "backends/cpu/contraction/winograd/winograd_tiling.h"

#include <algorithm>
#include <cmath>

#include "backends/cpu/contraction/contraction_tiles.h"
#include "backends/cpu/emit/chunking.h"
#include "backends/cpu/emit/names.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"
#include "jit/ops/ops.h"

namespace tektite::cpu {
namespace {

// Cycles of the transforms' loads, additions and stores, a vector of channels each.
constexpr double kInputVectorCycles = 24;   // 16 inputs to 16 transformed ones
constexpr double kKernelVectorCycles = 32;  // 9 weights to 16
constexpr double kResultVectorCycles = 48;  // 16 products to 4 results, with their epilogue
// Their 16 transformed kernels take a quarter of 1 MiB for panels of 32.
constexpr int64_t kMostBlockChannels = 128;
// Where the estimate says less, the direct kernel stays.
constexpr double kLeastGain = 1.15;

absl::Status CheckConvolution(const ContractionTiling& plan, const target::TargetInfo& target) {
  const Node& node = *plan.root;
  const ConvolutionGeometry& g = plan.conv;
  const auto refuse = [&](const char* why) {
    return Unimplemented(node.Describe(), ": Winograd's algorithm is not used for ", why);
  };
  if (plan.dtype != DType::kF32) return refuse("types other than f32");
  if (plan.rhs != RhsMode::kPacked) return refuse("weights that are not packed");
  if (g.kernel_height != 3 || g.kernel_width != 3 || g.kernel_depth != 1 ||
      node.operand_shape(0).rank() != 4) {
    return refuse("kernels other than 3x3");
  }
  if (g.stride_h != 1 || g.stride_w != 1 || g.dilation_h != 1 || g.dilation_w != 1) {
    return refuse("strides and dilations");
  }
  if (node.shape().NumElements() == Dim(0)) return refuse("results without elements");
  if (g.channels < target.winograd_channels) return refuse("so few channels");
  if (g.channels % plan.lanes != 0) return refuse("channels that are no whole vectors");
  return absl::OkStatus();
}

// Squares of a block: their transformed inputs and products may take somewhat more than L2, since
// the fewer blocks there are, the more rarely kernels are transformed (28x28x128: 98 squares take
// 0.9 of the time of 50; 14x14x256: 49 take 0.83 of that of 27).
int64_t MostSquares(const WinogradTiling& plan, const target::TargetInfo& target) {
  const int64_t bytes = 4 * WinogradTiling::kProducts * (plan.input_stride() + plan.direct.panel());
  return std::max<int64_t>(target.l2_bytes * 5 / 4 / bytes, 48);
}

int BestRows(int64_t squares, int most) {
  int best = most;
  double least = 1e30;
  for (int rows = most; rows >= std::max(1, most * 2 / 3); --rows) {
    const double cost = static_cast<double>(CeilDiv(squares, rows)) * (rows + 1.5);
    if (cost >= least - 1e-9) continue;
    least = cost;
    best = rows;
  }
  return static_cast<int>(std::min<int64_t>(best, squares));
}

// The sizes that decisions assume.
struct UsualImages {
  int64_t results, squares;
};

UsualImages UsualFor(const WinogradTiling& plan, const target::TargetInfo& target) {
  if (!plan.height.is_constant() || !plan.width.is_constant()) {
    const int64_t squares = MostSquares(plan, target);
    return {4 * squares, squares};
  }
  const int64_t images = plan.images.value_or(1);
  return {images * (plan.height * plan.width).value(),
          images * (plan.squares_high * plan.squares_wide).value()};
}

// Of blocks of at most `most`, in whole tiles.
Dim EvenSquares(const Dim& squares, int64_t most, int rows) {
  const Dim even = CeilDiv(squares, Max(CeilDiv(squares, most), 1));
  return Max(Min(CeilDiv(even, rows) * Dim(rows), squares), 1);
}

void TakeSizes(WinogradTiling& plan) {
  const ir::Dims& result = plan.direct.root->shape().dims();
  plan.images = result[0];
  plan.height = result[1];
  plan.width = result[2];
  plan.squares_high = CeilDiv(plan.height, 2);
  plan.squares_wide = CeilDiv(plan.width, 2);
}

int64_t ChannelsOfBlock(const WinogradTiling& plan) {
  int64_t channels = plan.channels();
  while (channels > kMostBlockChannels || plan.channels() % channels != 0) {
    channels -= plan.direct.lanes;
  }
  return channels;
}

// Cuts squares into blocks of tiles.  Returns how many blocks there are of the usual images.
int64_t CutSquares(WinogradTiling& plan, int64_t usual, const target::TargetInfo& target) {
  const int64_t most = MostSquares(plan, target);
  plan.block_squares = EvenSquares(plan.squares(), most, plan.rows);
  plan.most_squares = plan.block_squares.value_or(CeilDiv(most, plan.rows) * plan.rows);
  const int64_t usual_block = EvenSquares(usual, most, plan.rows).value();
  // An image of unknown size may be a small one; with too many tiles expected, none would fetch
  // enough weights ahead.
  const bool known = plan.height.is_constant() && plan.width.is_constant();
  plan.usual_tiles = CeilDiv(usual_block, plan.rows);
  if (!known) plan.usual_tiles = std::min<int64_t>(plan.usual_tiles, 2);
  return CeilDiv(usual, usual_block);
}

// Nanoseconds of all products, of one transformation of all inputs, and so on.
struct Costs {
  double products, inputs, kernels, results;
  double all() const { return products + inputs + kernels + results; }
};

Costs CostsOf(const WinogradTiling& plan, const target::TargetInfo& target, double squares,
              double blocks) {
  const double lanes = plan.direct.lanes, vectors = plan.direct.vectors;
  const double channels = static_cast<double>(plan.channels());
  const double columns = static_cast<double>(plan.panels()) * vectors;
  Costs costs = {};
  costs.products =
      WinogradTiling::kProducts * squares * channels * columns / target.vector_fmas_per_ns();
  costs.inputs = squares * channels / lanes * target.ns(kInputVectorCycles);
  costs.kernels = blocks * channels * columns * target.ns(kKernelVectorCycles);
  costs.results = squares * columns * target.ns(kResultVectorCycles);
  return costs;
}

}  // namespace

absl::Status CheckWinograd(const Node& fusion, const absl::StatusOr<ContractionTiling>& view,
                           const target::TargetInfo& target) {
  const Node* const root = ops::FindContraction(fusion.region());
  if (root == nullptr || root->op() != Op::kConvolution) {
    return Unimplemented("Winograd's algorithm is for convolutions");
  }
  TEKTITE_RETURN_IF_ERROR(view.status());
  return CheckConvolution(*view, target);
}

absl::Status ChooseWinograd(WinogradTiling& plan, const target::TargetInfo& target) {
  TakeSizes(plan);
  const UsualImages usual = UsualFor(plan, target);
  const int64_t most = std::min(MostSquares(plan, target), usual.squares);
  const int64_t sums = target.vector_registers >= 32 ? 24 : 12;
  plan.rows = BestRows(CeilDiv(usual.squares, CeilDiv(usual.squares, most)),
                       static_cast<int>(std::min<int64_t>(sums / plan.direct.vectors, 14)));
  plan.block_channels = ChannelsOfBlock(plan);
  const int64_t usual_blocks = CutSquares(plan, usual.squares, target);
  const auto squares = static_cast<double>(usual.squares);
  const auto blocks = static_cast<double>(usual_blocks);
  const Costs costs = CostsOf(plan, target, squares, blocks);
  const double direct_ns = static_cast<double>(usual.results * 9 * plan.channels() * plan.panels() *
                                               plan.direct.vectors) /
                           target.vector_fmas_per_ns();
  if (direct_ns < kLeastGain * costs.all()) {
    return Unimplemented(plan.direct.root->Describe(),
                         ": Winograd's algorithm would gain too little");
  }
  // Threads share blocks; a chunk that has its own panels only transforms its block's inputs again,
  // which must be a small part of it.
  const double panel_ns = (costs.products + costs.kernels + costs.results) /
                          (blocks * static_cast<double>(plan.panels()));
  const double block_inputs_ns = costs.inputs / blocks;
  const double chunk_ns = std::max(20 * block_inputs_ns, 50e3);
  const double panels_a_chunk = std::ceil(chunk_ns / panel_ns);
  plan.block_panels = std::clamp<int64_t>(static_cast<int64_t>(panels_a_chunk), 1, plan.panels());
  plan.block_panels = EvenBlock({usual_blocks, plan.panels(), plan.block_panels, Cost(1, panel_ns),
                                 block_inputs_ns})
                          .value();
  return absl::OkStatus();
}

absl::StatusOr<WinogradTiling> TileWinograd(const Node& fusion, const target::Schedule& schedule,
                                            const target::TargetInfo& target) {
  const auto view = ViewContraction(fusion, target, fusion.attrs().Has(ir::Attr::rhs_packed));
  TEKTITE_RETURN_IF_ERROR(CheckWinograd(fusion, view, target));
  ++TilingCounts::blocks;
  WinogradTiling plan;
  plan.direct = *view;
  TEKTITE_RETURN_IF_ERROR(TakeTile(fusion, schedule, plan.direct));
  plan.rows = plan.direct.rows;
  plan.block_channels = schedule.blocks.channels;
  plan.block_panels = schedule.blocks.panels;
  TakeSizes(plan);
  const UsualImages usual = UsualFor(plan, target);
  const auto blocks = static_cast<double>(CutSquares(plan, usual.squares, target));
  const auto squares = static_cast<double>(usual.squares);
  const Costs costs = CostsOf(plan, target, squares, blocks);
  plan.cost = Cost(plan.squares(), (costs.all() - costs.kernels) / squares) +
              Cost(plan.blocks(), costs.kernels / blocks);
  return plan;
}

}  // namespace tektite::cpu
