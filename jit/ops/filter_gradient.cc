#include "jit/ops/filter_gradient.h"

namespace tektite::ops {

bool GivesFilter(const ConvDims& dims) {
  for (int i = 0; i < dims.spatial; ++i) {
    if (dims.output_spatial[i] != i) return false;
  }
  return dims.output_batch == dims.spatial;
}

bool IsFilterGradient(const ConvDims& dims) {
  for (int i = 0; i < dims.spatial; ++i) {
    if (dims.input_spatial[i] != 1 + i || dims.kernel_spatial[i] != 1 + i) return false;
  }
  return GivesFilter(dims) && dims.input_feature == 0 && dims.kernel_input == 0;
}

bool IsFilterGradient(const ir::Node& node) {
  if (node.op() != ir::Op::kConvolution) return false;
  const auto dims = GetConvDims(node.operand_shape(0).rank(), node.attrs());
  return dims.ok() && IsFilterGradient(*dims);
}

}  // namespace tektite::ops
