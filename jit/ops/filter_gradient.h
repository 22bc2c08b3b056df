// The gradient of a convolution's filter, which is itself a convolution: channels take the place of
// images, images that of input features, and the window is the whole gradient of the result.
//
//   %df: f32[3,3,c,o] = convolution(%x: f32[n,9,9,c], %dy: f32[n,7,7,o])
//       {input_layout = "f01b", kernel_layout = "i01o", output_layout = "01bf"}
//
// Both operands are as the forward pass left them, so a back end can read them in place: channel c
// of tap t is a row of x moved by t, and the sum is over images and pixels.  Limits: neither groups
// nor dilated inputs; legalize takes those apart, and puts padding outside.
#ifndef TEKTITE_JIT_OPS_FILTER_GRADIENT_H_
#define TEKTITE_JIT_OPS_FILTER_GRADIENT_H_

#include "jit/ops/ops.h"

namespace tektite::ops {

// Whether the result has the layout of a filter: spatial dimensions, channels, features.
bool GivesFilter(const ConvDims& dims);
// Whether, beyond that, the operands have the layouts above.  Groups, padding and dilation may be
// any.
bool IsFilterGradient(const ConvDims& dims);
bool IsFilterGradient(const ir::Node& node);

}  // namespace tektite::ops

#endif  // TEKTITE_JIT_OPS_FILTER_GRADIENT_H_
