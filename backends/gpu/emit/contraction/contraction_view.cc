#include "backends/gpu/emit/contraction/contraction_view.h"

#include <utility>

#include "backends/gpu/emit/names.h"
#include "jit/base/status.h"
#include "jit/ops/filter_gradient.h"

namespace tektite::gpu {
namespace {

// Of a group; more fill a tile.
constexpr int64_t kFewFeatures = 16;

// Which of two lists ends in the operand's innermost dimension.
ContractionView::Along InnermostOf(int rank, const ops::Axes& across, ContractionView::Along name,
                                   const ops::Axes& k, int ops::ContractionAxis::*side) {
  const auto ends_there = [&](const ops::Axes& axes) {
    return !axes.empty() && axes.back().*side == rank - 1 && axes.back().window < 0;
  };
  if (ends_there(k)) return ContractionView::Along::kK;
  return ends_there(across) ? name : ContractionView::Along::kNothing;
}

}  // namespace

using loop::At;
using loop::LaneIndex;
using ops::ContractionAxis;

absl::StatusOr<ContractionView> ContractionView::Create(const ir::Graph& region) {
  const Node* const root = ops::FindContraction(region);
  if (root == nullptr) return Unimplemented("no contraction");
  if (root->operand_shape(0).dtype() == ir::DType::kBool) {
    return Unimplemented(root->Describe(), ": of bool");
  }
  TEKTITE_ASSIGN_OR_RETURN(ops::ContractionAxes axes, ops::GetContractionAxes(*root));
  return ContractionView(*root, std::move(axes));
}

ContractionView::ContractionView(const Node& root, ops::ContractionAxes axes)
    : root_(&root),
      axes_(std::move(axes)),
      batch_(SizesOf(axes_.batch)),
      m_(SizesOf(axes_.m)),
      n_(SizesOf(axes_.n)),
      k_(SizesOf(axes_.k)),
      lhs_along_(InnermostOf(root.operand_shape(0).rank(), axes_.m, Along::kM, axes_.k,
                             &ContractionAxis::lhs)),
      rhs_along_(InnermostOf(root.operand_shape(1).rank(), axes_.n, Along::kN, axes_.k,
                             &ContractionAxis::rhs)),
      result_along_(InnermostOf(root.shape().rank(), axes_.n, Along::kN, /*k=*/{},
                                &ContractionAxis::result)) {}

bool ContractionView::HasFewFeatures() const {
  // Where the features of a group are unknown, tiles may be nearly empty.
  return !batch_.empty() && is_convolution() && Product(n_).value_or(1) < kFewFeatures;
}

bool ContractionView::HasShortSums() const {
  // The assembler copies the loop over so many pixels, as a filter's gradient has them, and runs
  // out of registers.  (126 terms of f16 on sm_90a: 8 bytes of spills.)
  const bool of_filter = is_convolution() && ops::IsFilterGradient(*axes_.convolution);
  const int64_t most = of_filter ? 64 : 512;
  return Product(k_).value_or(most + 1) <= most;
}

Indices ContractionView::Place(Builder& b, const ContractionIndex& index, size_t rank,
                               int ContractionAxis::*side) const {
  Indices place(rank);
  const auto add = [&](const ops::Axes& axes, const Indices& indices) {
    for (size_t i = 0; i < indices.size(); ++i) {
      const bool is_windows = side == &ContractionAxis::lhs && axes[i].window >= 0;
      if (axes[i].*side < 0 || is_windows) continue;
      LaneIndex& at = place[static_cast<size_t>(axes[i].*side)];
      // Behind the group stands the index within it.
      at = at.base ? At(b.Add(b.Mul(at.base, b.Index(axes[i].size)), indices[i].base),
                        indices[i].coefficient)
                   : indices[i];
    }
  };
  add(axes_.batch, index.batch);
  add(axes_.m, index.m);
  add(axes_.n, index.n);
  add(axes_.k, index.k);
  return place;
}

ContractionView::Element ContractionView::Lhs(Builder& b, const ContractionIndex& index) const {
  Element element;
  const auto rank = static_cast<size_t>(root_->operand_shape(0).rank());
  element.at = Place(b, index, rank, &ContractionAxis::lhs);
  for (int i = 0; i < windows(); ++i) {
    const auto w = static_cast<size_t>(i);
    const WindowPlace place = PlaceInWindow(b, Window(i), index.m[w + 1].base, index.k[w].base);
    element.at[static_cast<size_t>(axes_.k[w].lhs)] = At(place.at);
    if (place.inside) {
      element.inside = element.inside ? b.And(element.inside, place.inside) : place.inside;
    }
  }
  return element;
}

WindowAxis ContractionView::Window(int i) const {
  const ops::ConvDims& conv = *axes_.convolution;
  const auto w = static_cast<size_t>(i);
  return {conv.strides[w], conv.rhs_dilation[w], conv.low[w],
          conv.high[w],    conv.lhs_dilation[w], root_->operand_shape(0).dim(axes_.k[w].lhs)};
}

Value ContractionView::ReachesOutside(Builder& b, const ContractionIndex& index) const {
  Value reaches;
  for (int i = 0; i < windows(); ++i) {
    const auto w = static_cast<size_t>(i);
    const Value outside = WindowReachesOutside(b, Window(i), index.m[w + 1].base, k_[w]);
    if (outside) reaches = reaches ? b.Or(reaches, outside) : outside;
  }
  return reaches;
}

ContractionView::Element ContractionView::Rhs(Builder& b, const ContractionIndex& index) const {
  const auto rank = static_cast<size_t>(root_->operand_shape(1).rank());
  return {Place(b, index, rank, &ContractionAxis::rhs), {}};
}

Indices ContractionView::Result(Builder& b, const ContractionIndex& index) const {
  const auto rank = static_cast<size_t>(root_->shape().rank());
  return Place(b, index, rank, &ContractionAxis::result);
}

ContractionIndex ContractionView::OfResult(Builder& b, const Indices& at) const {
  const auto of = [&](const ops::Axes& axes) {
    Indices some;
    for (const ContractionAxis& axis : axes) some.push_back(at[static_cast<size_t>(axis.result)]);
    return some;
  };
  ContractionIndex index = {of(axes_.batch), of(axes_.m), of(axes_.n), {}};
  if (is_convolution() && !batch_.empty()) {
    const Value feature = index.n[0].base, group = b.Div(feature, b.Index(n_[0]));
    index.batch = {At(group)};
    index.n = {At(b.Sub(feature, b.Mul(group, b.Index(n_[0]))))};
  }
  return index;
}

bool MultipliesBytes(const ContractionView& view) {
  const auto is_byte = [&](int operand) {
    const DType dtype = view.root().operand_shape(operand).dtype();
    return dtype == DType::kS8 || dtype == DType::kU8;
  };
  return is_byte(0) && is_byte(1);
}

}  // namespace tektite::gpu
