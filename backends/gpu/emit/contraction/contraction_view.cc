#include "backends/gpu/emit/contraction/contraction_view.h"

#include <algorithm>

#include "backends/gpu/emit/names.h"
#include "jit/base/status.h"
#include "jit/ops/filter_gradient.h"

namespace tektite::gpu {
namespace {

// Of a group; more fill a tile.
constexpr int64_t kFewFeatures = 16;

}  // namespace

using loop::At;
using loop::LaneIndex;

absl::StatusOr<ContractionView> ContractionView::Create(const ir::Graph& region) {
  ContractionView view;
  view.root_ = ops::FindContraction(region);
  if (view.root_ == nullptr) return Unimplemented("no contraction");
  if (view.root_->operand_shape(0).dtype() == ir::DType::kBool) {
    return Unimplemented(view.root_->Describe(), ": of bool");
  }
  view.is_convolution_ = view.root_->op() == Op::kConvolution;
  if (view.is_convolution_) {
    TEKTITE_RETURN_IF_ERROR(view.TakeConvolution());
  } else {
    view.TakeDot();
  }
  return view;
}

ContractionView ContractionView::OfDot(const ir::Node& dot) {
  ContractionView view;
  view.root_ = &dot;
  view.TakeDot();
  return view;
}

void ContractionView::TakeDot() {
  dot_ = ops::GetDotDimsInOrder(*root_);
  const Dims &lhs = root_->operand_shape(0).dims(), &rhs = root_->operand_shape(1).dims();
  for (int64_t d : dot_.lhs_batch) batch_.push_back(lhs[static_cast<size_t>(d)]);
  for (int64_t d : dot_.lhs_free) m_.push_back(lhs[static_cast<size_t>(d)]);
  for (int64_t d : dot_.rhs_free) n_.push_back(rhs[static_cast<size_t>(d)]);
  for (int64_t d : dot_.lhs_contracting) k_.push_back(lhs[static_cast<size_t>(d)]);

  const auto ends_with = [](const std::vector<int64_t>& dims, const Dims& shape) {
    return !dims.empty() && dims.back() == static_cast<int64_t>(shape.size()) - 1;
  };
  if (ends_with(dot_.lhs_free, lhs)) lhs_along_ = Along::kM;
  if (ends_with(dot_.lhs_contracting, lhs)) lhs_along_ = Along::kK;
  if (ends_with(dot_.rhs_free, rhs)) rhs_along_ = Along::kN;
  if (ends_with(dot_.rhs_contracting, rhs)) rhs_along_ = Along::kK;
  if (!dot_.rhs_free.empty()) result_along_ = Along::kN;
}

absl::Status ContractionView::TakeConvolution() {
  const Dims &x = root_->operand_shape(0).dims(), &kernel = root_->operand_shape(1).dims();
  const Dims& result = root_->shape().dims();
  const int rank = static_cast<int>(x.size());
  TEKTITE_ASSIGN_OR_RETURN(conv_, ops::GetConvDims(rank, root_->attrs()));
  const int64_t groups = conv_.feature_groups * conv_.batch_groups;
  group_features_ = FloorDiv(result[static_cast<size_t>(conv_.output_feature)], groups);
  if (groups > 1) batch_ = {Dim(groups)};
  m_ = {result[static_cast<size_t>(conv_.output_batch)]};
  for (int d : conv_.output_spatial) m_.push_back(result[static_cast<size_t>(d)]);
  n_ = {group_features_};
  for (int d : conv_.kernel_spatial) k_.push_back(kernel[static_cast<size_t>(d)]);
  k_.push_back(kernel[static_cast<size_t>(conv_.kernel_input)]);
  if (conv_.input_feature == rank - 1) lhs_along_ = Along::kK;
  if (conv_.kernel_output == rank - 1) rhs_along_ = Along::kN;
  if (conv_.kernel_input == rank - 1) rhs_along_ = Along::kK;
  if (conv_.output_feature == rank - 1) result_along_ = Along::kN;
  return absl::OkStatus();
}

bool ContractionView::HasFewFeatures() const {
  // Where the features of a group are unknown, tiles may be nearly empty.
  return !batch_.empty() && is_convolution_ && Product(n_).value_or(1) < kFewFeatures;
}

bool ContractionView::HasShortSums() const {
  // The assembler copies the loop over so many pixels, as a filter's gradient has them, and runs
  // out of registers.  (126 terms of f16 on sm_90a: 8 bytes of spills.)
  const int64_t most = is_convolution_ && ops::IsFilterGradient(conv_) ? 64 : 512;
  return Product(k_).value_or(most + 1) <= most;
}

Value ContractionView::Group(Builder& b, const ContractionIndex& index) const {
  return index.batch.empty() ? b.Index(0) : index.batch[0].base;
}

// `at` in the group's own part of a dimension, of which each group has `size`.
LaneIndex ContractionView::InGroup(Builder& b, const ContractionIndex& index, const Dim& size,
                                   const LaneIndex& at) const {
  return At(b.Add(b.Mul(Group(b, index), b.Index(size)), at.base), at.coefficient);
}

ContractionView::Element ContractionView::Lhs(Builder& b, const ContractionIndex& index) const {
  const Dims& x = root_->operand_shape(0).dims();
  Element element{Indices(x.size()), {}};
  const auto at = [&](int64_t d) -> LaneIndex& { return element.at[static_cast<size_t>(d)]; };
  if (!is_convolution_) {
    for (size_t i = 0; i < dot_.lhs_batch.size(); ++i) at(dot_.lhs_batch[i]) = index.batch[i];
    for (size_t i = 0; i < dot_.lhs_free.size(); ++i) at(dot_.lhs_free[i]) = index.m[i];
    for (size_t i = 0; i < index.k.size(); ++i) at(dot_.lhs_contracting[i]) = index.k[i];
    return element;
  }
  at(conv_.input_batch) = index.m[0];
  at(conv_.input_feature) = index.k.back();
  if (conv_.batch_groups > 1) {
    at(conv_.input_batch) = InGroup(b, index, m_[0], index.m[0]);
  } else if (conv_.feature_groups > 1) {
    at(conv_.input_feature) = InGroup(b, index, k_.back(), index.k.back());
  }
  for (size_t i = 0; i < conv_.input_spatial.size(); ++i) {
    const WindowPlace place = PlaceInWindow(b, Axis(i), index.m[i + 1].base, index.k[i].base);
    element.at[static_cast<size_t>(conv_.input_spatial[i])] = At(place.at);
    if (place.inside) {
      element.inside = element.inside ? b.And(element.inside, place.inside) : place.inside;
    }
  }
  return element;
}

WindowAxis ContractionView::Axis(size_t i) const {
  const Dim& size = root_->operand_shape(0).dim(conv_.input_spatial[i]);
  return {conv_.strides[i], conv_.rhs_dilation[i], conv_.low[i],
          conv_.high[i],    conv_.lhs_dilation[i], size};
}

Value ContractionView::ReachesOutside(Builder& b, const ContractionIndex& index) const {
  Value reaches;
  for (size_t i = 0; is_convolution_ && i < conv_.input_spatial.size(); ++i) {
    const Value outside = WindowReachesOutside(b, Axis(i), index.m[i + 1].base, k_[i]);
    if (outside) reaches = reaches ? b.Or(reaches, outside) : outside;
  }
  return reaches;
}

ContractionView::Element ContractionView::Rhs(Builder& b, const ContractionIndex& index) const {
  Element element{Indices(root_->operand_shape(1).dims().size()), {}};
  const auto at = [&](int64_t d) -> LaneIndex& { return element.at[static_cast<size_t>(d)]; };
  if (is_convolution_) {
    at(conv_.kernel_output) = InGroup(b, index, group_features_, index.n[0]);
    at(conv_.kernel_input) = index.k.back();
    for (size_t i = 0; i < conv_.kernel_spatial.size(); ++i) {
      at(conv_.kernel_spatial[i]) = index.k[i];
    }
    return element;
  }
  for (size_t i = 0; i < dot_.rhs_batch.size(); ++i) at(dot_.rhs_batch[i]) = index.batch[i];
  for (size_t i = 0; i < dot_.rhs_free.size(); ++i) at(dot_.rhs_free[i]) = index.n[i];
  for (size_t i = 0; i < index.k.size(); ++i) at(dot_.rhs_contracting[i]) = index.k[i];
  return element;
}

Indices ContractionView::Result(Builder& b, const ContractionIndex& index) const {
  if (!is_convolution_) {
    Indices at = index.batch;
    at.insert(at.end(), index.m.begin(), index.m.end());
    at.insert(at.end(), index.n.begin(), index.n.end());
    return at;
  }
  Indices at(root_->shape().dims().size());
  at[static_cast<size_t>(conv_.output_batch)] = index.m[0];
  at[static_cast<size_t>(conv_.output_feature)] = InGroup(b, index, group_features_, index.n[0]);
  for (size_t i = 0; i < conv_.output_spatial.size(); ++i) {
    at[static_cast<size_t>(conv_.output_spatial[i])] = index.m[i + 1];
  }
  return at;
}

ContractionIndex ContractionView::OfResult(Builder& b, const Indices& at) const {
  ContractionIndex index;
  if (!is_convolution_) {
    const auto m = at.begin() + static_cast<int64_t>(batch_.size());
    const auto n = m + static_cast<int64_t>(m_.size());
    index.batch.assign(at.begin(), m);
    index.m.assign(m, n);
    index.n.assign(n, at.end());
    return index;
  }
  index.m = {at[static_cast<size_t>(conv_.output_batch)]};
  for (int d : conv_.output_spatial) index.m.push_back(at[static_cast<size_t>(d)]);
  const Value feature = at[static_cast<size_t>(conv_.output_feature)].base;
  index.n = {At(feature)};
  if (!batch_.empty()) {
    const Value group = b.Div(feature, b.Index(group_features_));
    index.batch = {At(group)};
    index.n = {At(b.Sub(feature, b.Mul(group, b.Index(group_features_))))};
  }
  return index;
}

}  // namespace tektite::gpu
