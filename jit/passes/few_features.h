// Convolutions to one to four features, as at the end of a generator of images, and the gradients
// of their filters.  Features are what vectors run along, so most lanes would be idle.
//
//   before  convolution(%x: f32[n,h,w,32], %k: f32[3,3,32,1])        (9 products of 32 terms)
//   after   %z: f32[n,9,h*w] = dot_general(%k as f32[9,32], %x), and the sum of nine slices of it,
//           each moved by its tap
//
// The gradient of such a filter is a product, too: of x and of the result's gradient, moved by each
// tap.  Each image has one of its own, and they are added up.
// Limits: the former for one feature only; stride 1; channels last, and padding that is not
// negative, as legalize has left them.
#ifndef TEKTITE_JIT_PASSES_FEW_FEATURES_H_
#define TEKTITE_JIT_PASSES_FEW_FEATURES_H_

#include "jit/ops/builder.h"
#include "jit/ops/ops.h"

namespace tektite::passes {

// None where another form is better.
ir::Value SumOfTaps(const ir::Node& convolution, const ops::ConvDims& dims, ops::FuncBuilder& b);
ir::Value FilterOfFewFeatures(const ir::Node& gradient, const ops::ConvDims& dims,
                              ops::FuncBuilder& b);

}  // namespace tektite::passes

#endif  // TEKTITE_JIT_PASSES_FEW_FEATURES_H_
