// A contraction as products [batch][m, k] x [k, n], whatever its layouts: which dimensions of the
// operands and of the result batch, m, n and k stand for.
//
// Example(const ir::Node& contraction):
//   auto axes = ops::GetContractionAxes(contraction);   // of %d: f32[8,16] = dot_general(%x, %w)
//   if (!axes.ok()) return;
//   ir::Dim rows = ops::SizeOf(axes->m);                // 8
//   int column_dim = axes->n.back().rhs;                // 1
//
// Why: back ends address operands by it, passes pack weights by it, and profiles count by it.  A
// convolution is such a product, too, which is never laid out in memory: batch is its group, m
// counts images and windows, n the features of a group, k taps and channels.
//
// Limits: a list of axes says nothing of padding and of inputs that are spread out, which
// `convolution` does.  The reference interpreter does without, so that tests compare two views.
#ifndef TEKTITE_JIT_OPS_CONTRACTION_AXES_H_
#define TEKTITE_JIT_OPS_CONTRACTION_AXES_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/ir/graph.h"
#include "jit/ops/ops.h"

namespace tektite::ops {

struct ContractionAxis {
  static constexpr int kNone = -1;

  ir::Dim size;
  // Its dimension in the operands and in the result.  Of two axes with the same one the first
  // counts the groups, each of which has as many elements as the second; or they are windows and
  // the elements of one.
  int lhs = kNone, rhs = kNone, result = kNone;
  // Elements from one index to the next in a row-major operand; 0 where it has no dimension.
  ir::Dim lhs_stride = 0, rhs_stride = 0;
  // The spatial dimension of whose windows, in m, or of whose taps, in k, it is an axis.
  int window = kNone;
};
using Axes = std::vector<ContractionAxis>;

struct ContractionAxes {
  Axes batch, m, n, k;  // outermost first; k in the order in which the left-hand side stores it
  std::optional<ConvDims> convolution;  // none: a dot_general
};

// Of a dot_general or a convolution; InvalidArgument for attributes that no convolution has.
absl::StatusOr<ContractionAxes> GetContractionAxes(const ir::Node& contraction);
ContractionAxes GetDotAxes(const ir::Node& dot);

// Of all axes together, and of each.
ir::Dim SizeOf(const Axes& axes);
ir::Dims SizesOf(const Axes& axes);

}  // namespace tektite::ops

#endif  // TEKTITE_JIT_OPS_CONTRACTION_AXES_H_
