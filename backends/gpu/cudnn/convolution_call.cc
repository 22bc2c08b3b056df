#include "backends/gpu/cudnn/convolution_call.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/base/bytes.h"
#include "jit/base/lists.h"
#include "jit/base/status.h"
#include "jit/ir/symbols.h"
#include "jit/ops/filter_gradient.h"
#include "jit/ops/ops.h"

namespace tektite::gpu {
namespace {

using ir::Attr;
using ir::DType;
using ir::Node;
using ir::Op;
using Kind = ConvolutionCall::Kind;
using Sizes = std::vector<int64_t>;

constexpr size_t kFewestPixelDims = 2, kMostPixelDims = 3;

// First one dimension, then the pixels', then another.
bool IsInOrder(int first, const std::vector<int>& pixels, int last) {
  for (size_t i = 0; i < pixels.size(); ++i) {
    if (pixels[i] != static_cast<int>(i) + 1) return false;
  }
  return first == 0 && last == static_cast<int>(pixels.size()) + 1;
}

Kind KindOf(const ops::ConvDims& dims) {
  // Its result's batch counts channels.
  if (ops::GivesFilter(dims)) return Kind::kFilterGradient;
  if (dims.output_feature == 0 && dims.input_batch == dims.spatial + 1) {
    return Kind::kFilterGradient;
  }
  return AllAre(dims.lhs_dilation, 1) ? Kind::kForward : Kind::kInputGradient;
}

// Images are in order, and the filter is where `features_first`.
bool HasLayouts(const ops::ConvDims& d, Kind kind, bool features_first) {
  switch (kind) {
    case Kind::kForward:
      return IsInOrder(d.input_batch, d.input_spatial, d.input_feature) &&
             IsInOrder(d.output_batch, d.output_spatial, d.output_feature) &&
             (!features_first || IsInOrder(d.kernel_output, d.kernel_spatial, d.kernel_input));
    case Kind::kInputGradient:  // its input's features are those of the forward pass
      return IsInOrder(d.input_batch, d.input_spatial, d.input_feature) &&
             IsInOrder(d.output_batch, d.output_spatial, d.output_feature) &&
             (!features_first || IsInOrder(d.kernel_input, d.kernel_spatial, d.kernel_output));
    case Kind::kFilterGradient:  // its features are images
      return IsInOrder(d.input_feature, d.input_spatial, d.input_batch) &&
             IsInOrder(d.kernel_input, d.kernel_spatial, d.kernel_output) &&
             (!features_first || IsInOrder(d.output_feature, d.output_spatial, d.output_batch));
  }
  return false;
}

// Sets `high` to what the windows reach of it, which is all that can be seen of it; false where
// `out` is not the number of windows.
bool FitPadding(ConvolutionCall* call) {
  call->high.clear();
  for (size_t i = 0; i < call->in.size(); ++i) {
    const int64_t reach = (call->window[i] - 1) * call->dilations[i] + 1;
    const int64_t last = (call->out[i] - 1) * call->strides[i] + reach;
    const int64_t high = std::max<int64_t>(last - call->in[i] - call->low[i], 0);
    if (call->low[i] < 0 || high > LibraryOperands::kMostSize) return false;
    const int64_t padded = call->in[i] + call->low[i] + high;
    if (padded < reach || (padded - reach) / call->strides[i] + 1 != call->out[i]) return false;
    call->high.push_back(high);
  }
  return true;
}

void AddPixelDim(ConvolutionCall* call) {
  for (Sizes* sizes : {&call->in, &call->window, &call->out, &call->strides, &call->dilations}) {
    sizes->insert(sizes->begin(), 1);
  }
  call->low.insert(call->low.begin(), 0);
}

bool Fits(const ConvolutionCall& call) {
  for (int64_t size : {call.batch, call.channels, call.features, call.groups}) {
    if (size < 1 || size > LibraryOperands::kMostSize) return false;
  }
  for (const Sizes* sizes : {&call.in, &call.window, &call.out, &call.strides, &call.dilations}) {
    if (sizes->size() != call.in.size()) return false;
    for (int64_t size : *sizes) {
      if (size < 1 || size > LibraryOperands::kMostSize) return false;
    }
  }
  for (const Sizes* sizes : {&call.low, &call.high}) {
    if (sizes->size() != call.in.size()) return false;
    for (int64_t size : *sizes) {
      if (size < 0 || size > LibraryOperands::kMostSize) return false;
    }
  }
  return call.in.size() >= kFewestPixelDims && call.in.size() <= kMostPixelDims &&
         call.channels % call.groups == 0 && call.features % call.groups == 0;
}

absl::StatusOr<ConvolutionCall> OfConvolution(const Node& node, bool features_first, bool tf32) {
  ConvolutionCall call;
  const ir::Shape &lhs = node.operand_shape(0), &rhs = node.operand_shape(1);
  call.dtype = node.shape().dtype();
  call.tf32 = tf32 && call.dtype == DType::kF32;
  if (!ConvolutionCall::IsOffered(call.dtype) || lhs.dtype() != call.dtype ||
      rhs.dtype() != call.dtype) {
    return Unimplemented(node.Describe(), ": not of f32, f16 or bf16 throughout");
  }
  TEKTITE_ASSIGN_OR_RETURN(const ops::ConvDims d, ops::GetConvDims(lhs.rank(), node.attrs()));
  call.kind = KindOf(d);
  if (d.spatial < 1 || d.batch_groups != 1 || !HasLayouts(d, call.kind, features_first)) {
    return Unimplemented(node.Describe(), ": not in the order that cuDNN takes");
  }
  const Sizes x = lhs.sizes(), w = rhs.sizes(), y = node.shape().sizes();
  const auto pixels = [](const Sizes& sizes, const std::vector<int>& dims) {
    Sizes some;
    for (int dim : dims) some.push_back(sizes[static_cast<size_t>(dim)]);
    return some;
  };
  const auto at = [](const Sizes& sizes, int dim) { return sizes[static_cast<size_t>(dim)]; };
  call.groups = d.feature_groups;
  call.low = d.low;
  switch (call.kind) {
    case Kind::kForward:
      call.batch = at(x, d.input_batch);
      call.channels = at(x, d.input_feature);
      call.features = at(y, d.output_feature);
      call.in = pixels(x, d.input_spatial);
      call.window = pixels(w, d.kernel_spatial);
      call.out = pixels(y, d.output_spatial);
      call.strides = d.strides;
      call.dilations = d.rhs_dilation;
      break;
    case Kind::kInputGradient:
      call.batch = at(x, d.input_batch);
      call.channels = at(y, d.output_feature);
      call.features = at(x, d.input_feature);
      call.in = pixels(y, d.output_spatial);
      call.window = pixels(w, d.kernel_spatial);
      call.out = pixels(x, d.input_spatial);
      call.strides = d.lhs_dilation;
      call.dilations = d.rhs_dilation;
      // A window that begins `low` before the first of what is spread out ends so many places
      // behind it, which is where the forward pass, walking backwards, has its first one.
      for (size_t i = 0; i < call.low.size(); ++i) {
        call.low[i] = (call.window[i] - 1) * call.dilations[i] - call.low[i];
      }
      if (!AllAre(d.strides, 1)) return Unimplemented(node.Describe(), ": strides both ways");
      break;
    case Kind::kFilterGradient:
      call.batch = at(x, d.input_feature);
      call.channels = at(x, d.input_batch);
      call.features = at(y, d.output_feature);
      call.in = pixels(x, d.input_spatial);
      call.window = pixels(y, d.output_spatial);
      call.out = pixels(w, d.kernel_spatial);
      // The windows of the gradient are the pixels of the result.
      call.strides = d.rhs_dilation;
      call.dilations = d.strides;
      break;
  }
  const bool is_plain = AllAre(d.lhs_dilation, 1);
  if ((call.kind == Kind::kFilterGradient && !is_plain) ||
      (call.kind != Kind::kForward && call.groups != 1)) {
    return Unimplemented(node.Describe(), ": a gradient in groups, or of what is spread out");
  }
  if (call.in.size() < kFewestPixelDims) AddPixelDim(&call);
  if (!FitPadding(&call) || !Fits(call)) {
    return Unimplemented(node.Describe(), ": sizes that cuDNN does not take");
  }
  return call;
}

absl::StatusOr<const Node*> FindRoot(const ir::Graph& region) {
  const Node* const root = ops::FindContraction(region);
  if (root == nullptr || root->op() != Op::kConvolution || ir::HasSymbols(region)) {
    return Unimplemented("no convolution of static sizes");
  }
  for (const ir::Value& operand : root->operands()) {
    if (operand.node->op() != Op::kParameter) {
      return Unimplemented(root->Describe(), ": computes its operands");
    }
  }
  return root;
}

}  // namespace

absl::StatusOr<ConvolutionCall> ConvolutionCall::OfContraction(const Node& fusion, bool tf32) {
  TEKTITE_ASSIGN_OR_RETURN(const Node* const root, FindRoot(fusion.region()));
  return OfConvolution(*root, /*features_first=*/false, tf32);
}

absl::StatusOr<ConvolutionCall> ConvolutionCall::Of(const Node& fusion, bool tf32) {
  const ir::Graph& region = fusion.region();
  TEKTITE_ASSIGN_OR_RETURN(const Node* const root, FindRoot(region));
  TEKTITE_ASSIGN_OR_RETURN(ConvolutionCall call,
                           OfConvolution(*root, /*features_first=*/true, tf32));
  call.lhs = NumberOf(*root->operand(0).node);
  call.rhs = NumberOf(*root->operand(1).node);
  call.operands = fusion.num_operands();
  if (region.outputs().size() != 1 || region.outputs()[0].node != root) {
    return Unimplemented(root->Describe(), ": does not stand alone");
  }
  return call;
}

namespace {

Sizes Joined(int64_t first, int64_t second, const Sizes& rest) {
  Sizes all = {first, second};
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

}  // namespace

Sizes ConvolutionCall::Image() const { return Joined(batch, channels, in); }
Sizes ConvolutionCall::Filter() const { return Joined(features, channels / groups, window); }
Sizes ConvolutionCall::Result() const { return Joined(batch, features, out); }

std::string ConvolutionCall::ToString() const {
  const auto channels_last = [](const Sizes& sizes) {
    Sizes moved = sizes;
    std::rotate(moved.begin() + 1, moved.begin() + 2, moved.end());
    return absl::StrCat("[", absl::StrJoin(moved, ","), "]");
  };
  std::string text = absl::StrCat(ir::DTypeName(dtype), tf32 ? " (tf32) " : " ");
  switch (kind) {
    case Kind::kForward:
      absl::StrAppend(&text, channels_last(Image()), " * ", channels_last(Filter()));
      break;
    case Kind::kInputGradient:
      absl::StrAppend(&text, "gradient of ", channels_last(Image()), " from ",
                      channels_last(Result()), " by ", channels_last(Filter()));
      break;
    case Kind::kFilterGradient:
      absl::StrAppend(&text, "gradient of ", channels_last(Filter()), " from ",
                      channels_last(Image()), " and ", channels_last(Result()));
      break;
  }
  return text;
}

std::string ConvolutionCall::Write() const {
  ByteWriter w;
  w.I64(static_cast<int64_t>(kind));
  w.I64(static_cast<int64_t>(dtype));
  w.I64(tf32 ? 1 : 0);
  for (int64_t size : {batch, channels, features, groups}) w.I64(size);
  w.U64(in.size());
  for (const Sizes* sizes : {&in, &window, &out, &strides, &dilations, &low, &high}) {
    for (int64_t size : *sizes) w.I64(size);
  }
  WriteOperands(&w);
  return w.Take();
}

absl::StatusOr<ConvolutionCall> ConvolutionCall::Read(absl::string_view bytes) {
  ByteReader r(bytes);
  ConvolutionCall call;
  const int64_t kind = r.I64();
  bool fits = kind >= 0 && kind <= static_cast<int64_t>(Kind::kFilterGradient);
  if (fits) call.kind = static_cast<Kind>(kind);
  fits = ReadType(&r, IsOffered, &call.dtype) && fits;
  call.tf32 = r.I64() != 0;
  for (int64_t* size : {&call.batch, &call.channels, &call.features, &call.groups}) {
    *size = r.I64();
  }
  const size_t dims = r.Count(7 * sizeof(int64_t));
  fits = fits && dims >= kFewestPixelDims && dims <= kMostPixelDims;
  if (!fits) return InvalidArgument("not a convolution");
  for (Sizes* sizes :
       {&call.in, &call.window, &call.out, &call.strides, &call.dilations, &call.low, &call.high}) {
    sizes->resize(dims);
    for (int64_t& size : *sizes) size = r.I64();
  }
  fits = call.ReadOperands(&r) && call.bias == ConvolutionCall::kNone && Fits(call);
  const Sizes high = call.high;
  if (!fits || !r.AtEnd() || !FitPadding(&call) || call.high != high) {
    return InvalidArgument("not a convolution");
  }
  return call;
}

}  // namespace tektite::gpu
