#include "backends/cpu/contraction/contraction_tiling.h"

#include <algorithm>
#include <set>

#include "backends/cpu/contraction/contraction_blocks.h"
#include "backends/cpu/contraction/contraction_tiles.h"
#include "backends/cpu/contraction/filter_gradient_view.h"
#include "backends/cpu/emit/names.h"
#include "jit/base/status.h"
#include "jit/ops/filter_gradient.h"
#include "jit/ops/ops.h"

namespace tektite::cpu {
namespace {

constexpr int kPairsRank = 4;        // of panels of words: [panels, words, columns, 2 or 4]
constexpr int64_t kUsualRows = 128;  // of a product whose number of rows is not known

absl::Status ViewDot(const ops::ContractionAxes& axes, ContractionTiling& plan) {
  plan.batch = SizeOf(axes.batch);
  plan.m = SizeOf(axes.m);
  plan.n = SizeOf(axes.n);
  plan.k = SizeOf(axes.k);
  plan.batch_loops = Merged(LoopsOf(axes.batch));
  plan.m_loops = Merged(LoopsOf(axes.m));
  plan.k_loops = LoopsOf(axes.k);
  const std::vector<AddressLoop> n_loops = Merged(LoopsOf(axes.n));
  if (plan.rhs == RhsMode::kPacked) {
    // The panels follow k in one sweep.
    Dim stride(1);
    for (size_t i = plan.k_loops.size(); i-- > 0;) {
      plan.k_loops[i].rhs_stride = stride;
      stride = stride * plan.k_loops[i].trips;
    }
  } else if (n_loops.size() > 1) {
    return Unimplemented(plan.root->Describe(),
                         ": columns of the right-hand side are not one stride apart");
  }
  plan.k_loops = Merged(plan.k_loops);
  plan.rhs_n_stride = n_loops.empty() ? Dim(1) : n_loops[0].rhs_stride;
  return absl::OkStatus();
}

// assign_layouts has packed weights [batch, k, n] into panels of two to a byte.
absl::Status ViewNibbles(int64_t width, ContractionTiling& plan) {
  if (plan.k_loops.size() != 1 || plan.batch_loops.size() > 1 || plan.rhs_n_stride != Dim(1)) {
    return Internal(plan.root->Describe(), ": pairs of rows that are no matrix");
  }
  plan.reads_nibbles = true;
  AddressLoop& k = plan.k_loops.front();
  k = {FloorDiv(k.trips, 2), k.lhs_stride * Dim(2), width};
  for (AddressLoop& batch : plan.batch_loops) {
    batch.rhs_stride = CeilDiv(plan.n, width) * (k.trips + Dim(1)) * Dim(width);
  }
  return absl::OkStatus();
}

absl::Status ViewConvolution(const ops::ContractionAxes& axes, ContractionTiling& plan) {
  const Node& node = *plan.root;
  TEKTITE_ASSIGN_OR_RETURN(plan.conv, GeometryOf(node, *axes.convolution));
  const ConvolutionGeometry& g = plan.conv;
  plan.is_convolution = true;
  const Dim& images = node.operand_shape(0).dim(0);
  plan.batch = images * g.out_depth;
  plan.m = g.out_height * g.out_width;
  plan.n = SizeOf(axes.n);
  plan.k = SizeOf(axes.k);
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
void AddressCopiedSlices(ContractionTiling& plan) {
  const ConvolutionGeometry& g = plan.conv;
  if (!plan.is_convolution || g.kernel_depth == 1 || !g.padded()) return;
  plan.k_loops.front().lhs_stride =
      g.input_rows(plan.image_rows) * g.padded_width() * Dim(g.channels);
}

}  // namespace

std::vector<AddressLoop> LoopsOf(const ops::Axes& axes) {
  std::vector<AddressLoop> loops;
  for (const ops::ContractionAxis& axis : axes) {
    loops.push_back({axis.size, axis.lhs_stride, axis.rhs_stride});
  }
  return loops;
}

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
  for (int i = 0; i < dims.spatial; ++i) {
    if (dims.input_spatial[i] != i + 1 || dims.output_spatial[i] != i + 1 ||
        dims.kernel_spatial[i] != i) {
      return Unimplemented(node.Describe(), ": layout is not channels-last");
    }
    if (dims.lhs_dilation[i] != 1) {
      return Unimplemented(node.Describe(), ": dilated input");
    }
    if (dims.low[i] < 0 || dims.high[i] < 0) {
      return Unimplemented(node.Describe(), ": negative padding");
    }
  }
  g.channels = in[rank - 1].value();
  g.width = in[1 + w];
  g.out_width = out[1 + w];
  g.kernel_width = kernel[w];
  g.stride_w = dims.strides[w];
  g.dilation_w = dims.rhs_dilation[w];
  g.pad_left = dims.low[w];
  g.pad_right = dims.high[w];
  if (dims.spatial >= 2) {
    const int h = dims.spatial - 2;
    g.height = in[1 + h];
    g.out_height = out[1 + h];
    g.kernel_height = kernel[h];
    g.stride_h = dims.strides[h];
    g.dilation_h = dims.rhs_dilation[h];
    g.pad_top = dims.low[h];
    g.pad_bottom = dims.high[h];
  }
  if (dims.spatial == 3) {
    g.depth = in[1];
    g.out_depth = out[1];
    g.kernel_depth = kernel[0];
    g.stride_d = dims.strides[0];
    g.dilation_d = dims.rhs_dilation[0];
    g.pad_front = dims.low[0];
    g.pad_back = dims.high[0];
  }
  return g;
}

bool HasPairs(const Node& fusion) {
  if (!fusion.attrs().Has(Attr::rhs_packed)) return false;
  const Node* root = ops::FindContraction(fusion.region());
  const int parameter = ops::ParameterIndex(root->operand(1));
  return parameter >= 0 && fusion.region().parameter(parameter)->shape().rank() == kPairsRank;
}

absl::StatusOr<ContractionTiling> ViewContraction(const Node& fusion,
                                                  const target::TargetInfo& target, bool packed) {
  ContractionTiling plan;
  plan.root = ops::FindContraction(fusion.region());
  if (plan.root == nullptr) return Unimplemented("a contraction fusion without a contraction");
  plan.dtype = plan.root->operand_shape(1).dtype();
  plan.lhs_dtype = plan.root->operand_shape(0).dtype();
  const bool has_bytes =
      plan.dtype == DType::kS8 && (plan.lhs_dtype == DType::kU8 || plan.lhs_dtype == DType::kF32);
  if ((plan.lhs_dtype != plan.dtype && !has_bytes) || plan.dtype == DType::kBool) {
    return Unimplemented(plan.root->Describe(), ": operands of different types");
  }
  const bool narrow = plan.dtype == DType::kF16 || plan.dtype == DType::kBF16;
  plan.accumulator = narrow ? DType::kF32 : plan.root->shape().dtype();
  plan.lanes = target.lanes(std::max(4, ir::DTypeBytes(plan.accumulator)));
  if (packed) plan.rhs = RhsMode::kPacked;
  TEKTITE_ASSIGN_OR_RETURN(const ops::ContractionAxes axes, ops::GetContractionAxes(*plan.root));
  const auto& convolution = axes.convolution;
  if (convolution && !axes.batch.empty()) return Unimplemented(plan.root->Describe(), ": grouped");
  TEKTITE_RETURN_IF_ERROR(!convolution                          ? ViewDot(axes, plan)
                          : ops::IsFilterGradient(*convolution) ? ViewFilterGradient(axes, plan)
                                                                : ViewConvolution(axes, plan));
  if (!packed && plan.rhs_n_stride == Dim(0)) {
    return Unimplemented(plan.root->Describe(), ": a right-hand side without columns");
  }
  if (fusion.attrs().Has(Attr::rhs_nibbles)) {
    const ir::Graph& region = fusion.region();
    const Node* const panels = region.parameter(ops::ParameterIndex(plan.root->operand(1)));
    TEKTITE_RETURN_IF_ERROR(ViewNibbles(panels->shape().dim(3).value(), plan));
  }
  return plan;
}

absl::StatusOr<ContractionTiling> TileContraction(const Node& fusion,
                                                  const target::Schedule& schedule,
                                                  const target::TargetInfo& target) {
  const bool packed = fusion.attrs().Has(Attr::rhs_packed);
  TEKTITE_ASSIGN_OR_RETURN(ContractionTiling plan, ViewContraction(fusion, target, packed));
  TEKTITE_RETURN_IF_ERROR(TakeTile(fusion, schedule, plan));
  if (!packed) plan.rhs = schedule.copies_rhs ? RhsMode::kPackInKernel : RhsMode::kRowMajor;
  ChooseBlocks(plan, target);
  AddressCopiedSlices(plan);
  plan.reads_pairs = ReadsPairs(plan, target);
  return plan;
}

ir::SymbolMap UsualSizes(const ContractionTiling& plan) {
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

}  // namespace tektite::cpu
