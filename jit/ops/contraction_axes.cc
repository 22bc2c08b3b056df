#include "jit/ops/contraction_axes.h"

#include <utility>

#include "jit/base/status.h"
#include "jit/ops/names.h"

namespace tektite::ops {
namespace {

constexpr int kNone = ContractionAxis::kNone;

// Makes axes with their strides.
class AxisMaker {
 public:
  explicit AxisMaker(const Node& root)
      : lhs_(ir::RowMajorStrides(root.operand_shape(0).dims())),
        rhs_(ir::RowMajorStrides(root.operand_shape(1).dims())) {}

  ContractionAxis Axis(Dim size, int64_t lhs, int64_t rhs, int64_t result) const {
    ContractionAxis axis;
    axis.size = std::move(size);
    axis.lhs = static_cast<int>(lhs);
    axis.rhs = static_cast<int>(rhs);
    axis.result = static_cast<int>(result);
    if (lhs != kNone) axis.lhs_stride = lhs_[static_cast<size_t>(lhs)];
    if (rhs != kNone) axis.rhs_stride = rhs_[static_cast<size_t>(rhs)];
    return axis;
  }
  // Moves `step` elements along the left-hand side's dimension.
  ContractionAxis Window(int spatial, int64_t step, Dim size, int lhs, int rhs, int result) const {
    ContractionAxis axis = Axis(std::move(size), lhs, rhs, result);
    axis.lhs_stride = axis.lhs_stride * step;
    axis.window = spatial;
    return axis;
  }

 private:
  const ir::Dims lhs_, rhs_;
};

absl::StatusOr<ContractionAxes> OfConvolution(const Node& node) {
  const Shape &x = node.operand_shape(0), &kernel = node.operand_shape(1), &result = node.shape();
  TEKTITE_ASSIGN_OR_RETURN(const ConvDims c, GetConvDims(x.rank(), node.attrs()));
  const AxisMaker make(node);
  const int64_t groups = c.feature_groups * c.batch_groups;
  ContractionAxes axes;
  axes.convolution = c;
  axes.m = {make.Axis(result.dim(c.output_batch), c.input_batch, kNone, c.output_batch)};
  axes.n = {make.Axis(FloorDiv(result.dim(c.output_feature), groups), kNone, c.kernel_output,
                      c.output_feature)};
  for (int i = 0; i < c.spatial; ++i) {
    const int in = c.input_spatial[i], tap = c.kernel_spatial[i], out = c.output_spatial[i];
    axes.m.push_back(make.Window(i, c.strides[i], result.dim(out), in, kNone, out));
    axes.k.push_back(make.Window(i, c.rhs_dilation[i], kernel.dim(tap), in, tap, kNone));
  }
  axes.k.push_back(make.Axis(kernel.dim(c.kernel_input), c.input_feature, c.kernel_input, kNone));
  if (groups > 1) {
    const ContractionAxis& within = c.batch_groups > 1 ? axes.m.front() : axes.k.back();
    ContractionAxis group = make.Axis(groups, within.lhs, c.kernel_output, c.output_feature);
    group.lhs_stride = group.lhs_stride * within.size;
    group.rhs_stride = group.rhs_stride * axes.n.front().size;
    axes.batch = {std::move(group)};
  }
  return axes;
}

}  // namespace

ContractionAxes GetDotAxes(const Node& dot) {
  const DotDims dims = GetDotDimsInOrder(dot);
  const AxisMaker make(dot);
  const auto size = [&](int operand, int64_t d) {
    return dot.operand_shape(operand).dim(static_cast<int>(d));
  };
  ContractionAxes axes;
  int result = 0;
  for (size_t i = 0; i < dims.lhs_batch.size(); ++i) {
    const int64_t l = dims.lhs_batch[i];
    axes.batch.push_back(make.Axis(size(0, l), l, dims.rhs_batch[i], result++));
  }
  for (int64_t d : dims.lhs_free) axes.m.push_back(make.Axis(size(0, d), d, kNone, result++));
  for (int64_t d : dims.rhs_free) axes.n.push_back(make.Axis(size(1, d), kNone, d, result++));
  for (size_t i = 0; i < dims.lhs_contracting.size(); ++i) {
    const int64_t l = dims.lhs_contracting[i];
    axes.k.push_back(make.Axis(size(0, l), l, dims.rhs_contracting[i], kNone));
  }
  return axes;
}

absl::StatusOr<ContractionAxes> GetContractionAxes(const Node& contraction) {
  if (contraction.op() == Op::kConvolution) return OfConvolution(contraction);
  return GetDotAxes(contraction);
}

ir::Dims SizesOf(const Axes& axes) {
  ir::Dims sizes;
  for (const ContractionAxis& axis : axes) sizes.push_back(axis.size);
  return sizes;
}

Dim SizeOf(const Axes& axes) { return ir::Product(SizesOf(axes)); }

}  // namespace tektite::ops
