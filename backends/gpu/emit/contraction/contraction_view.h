// A contraction as products [batch][m, k] x [k, n], whatever the layouts: which element of an
// operand stands at an index.
//
//   TEKTITE_ASSIGN_OR_RETURN(ContractionView view, ContractionView::Create(region));
//   ContractionView::Element x = view.Lhs(b, {batch, m, n, k});
//   b.If(x.inside, [&] { ... e.Emit(view.root().operand(0), x.at) ... });
//
// batch, m, n and k are lists of dimensions, outermost first.  In a convolution batch is the group,
// m counts images and pixels, n features of a group, and k taps and channels: the product is never
// laid out in memory.  Strides, dilations, padding and groups are those of the tensor IR, so
// transposed convolutions and gradients of filters need no code of their own.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_CONTRACTION_VIEW_H_
#define TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_CONTRACTION_VIEW_H_

#include "absl/status/statusor.h"
#include "backends/gpu/emit/reduction/window_place.h"
#include "jit/ir/graph.h"
#include "jit/llvm/emit/element_emitter.h"
#include "jit/ops/contraction_axes.h"

namespace tektite::gpu {

// An index for each dimension of the view; those that an operand does not have may be left out.
struct ContractionIndex {
  loop::Indices batch, m, n, k;
};

class ContractionView {
 public:
  // Unimplemented for a region without a contraction of numbers.
  static absl::StatusOr<ContractionView> Create(const ir::Graph& region);

  // Of one product, a dot_general, among several.
  static ContractionView OfDot(const ir::Node& dot) { return {dot, ops::GetDotAxes(dot)}; }

  const ir::Node& root() const { return *root_; }
  const ops::ContractionAxes& axes() const { return axes_; }
  const ir::Dims& batch() const { return batch_; }
  const ir::Dims& m() const { return m_; }
  const ir::Dims& n() const { return n_; }
  const ir::Dims& k() const { return k_; }

  struct Element {
    loop::Indices at;    // in the operand
    loop::Value inside;  // whether there is such an element; none: always
  };
  Element Lhs(loop::Builder& b, const ContractionIndex& index) const;
  Element Rhs(loop::Builder& b, const ContractionIndex& index) const;
  // Whether the sum at batch, m and n has terms without an element of lhs; none: never.
  loop::Value ReachesOutside(loop::Builder& b, const ContractionIndex& index) const;
  loop::Indices Result(loop::Builder& b, const ContractionIndex& index) const;
  // batch, m and n of an element of the result.
  ContractionIndex OfResult(loop::Builder& b, const loop::Indices& at) const;

  // The list whose last dimension is the innermost one in memory: neighbours there are neighbours
  // here, as long as it is not left.
  enum class Along { kNothing, kM, kN, kK };
  Along lhs_along() const { return lhs_along_; }
  Along rhs_along() const { return rhs_along_; }
  Along result_along() const { return result_along_; }

  // A convolution whose groups have so few features that they fill no tiles.
  bool HasFewFeatures() const;
  // Whether a thread alone adds up the terms of one of its results.
  bool HasShortSums() const;

 private:
  ContractionView(const ir::Node& root, ops::ContractionAxes axes);
  bool is_convolution() const { return axes_.convolution.has_value(); }
  int windows() const { return is_convolution() ? axes_.convolution->spatial : 0; }
  WindowAxis Window(int i) const;  // of the image's spatial dimension i
  // An index for each of `rank` dimensions, but for an image's windows; `side` is the dimension
  // that an axis has there.
  loop::Indices Place(loop::Builder& b, const ContractionIndex& index, size_t rank,
                      int ops::ContractionAxis::*side) const;

  const ir::Node* root_;
  ops::ContractionAxes axes_;
  ir::Dims batch_, m_, n_, k_;
  Along lhs_along_, rhs_along_, result_along_;
};

// Whether both operands are of s8 or u8, whose products have sums of s32.
bool MultipliesBytes(const ContractionView& view);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_CONTRACTION_VIEW_H_
