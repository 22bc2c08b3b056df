// dot_general and convolution.
#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/ops/infer.h"
#include "jit/ops/names.h"

namespace tektite::ops {

namespace {

std::vector<int64_t> Rest(int rank, const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  std::vector<int64_t> rest;
  for (int64_t i = 0; i < rank; ++i) {
    if (std::find(a.begin(), a.end(), i) == a.end() &&
        std::find(b.begin(), b.end(), i) == b.end()) {
      rest.push_back(i);
    }
  }
  return rest;
}

DotDims MakeDotDims(int lhs_rank, int rhs_rank, const ir::Attributes& attrs) {
  DotDims d;
  d.lhs_batch = attrs.Ints(Attr::lhs_batch);
  d.rhs_batch = attrs.Ints(Attr::rhs_batch);
  d.lhs_contracting = attrs.Ints(Attr::lhs_contracting);
  d.rhs_contracting = attrs.Ints(Attr::rhs_contracting);
  d.lhs_free = Rest(lhs_rank, d.lhs_batch, d.lhs_contracting);
  d.rhs_free = Rest(rhs_rank, d.rhs_batch, d.rhs_contracting);
  return d;
}

absl::Status CheckPair(const InferContext& c, const Shape& lhs, const Shape& rhs,
                       const std::vector<int64_t>& l, const std::vector<int64_t>& r,
                       const char* what) {
  if (l.size() != r.size()) {
    return InvalidArgument(what, " dimensions differ in number: ", l.size(), " and ", r.size());
  }
  for (size_t i = 0; i < l.size(); ++i) {
    const Dim &a = lhs.dim(static_cast<int>(l[i])), &b = rhs.dim(static_cast<int>(r[i]));
    if (ProvablyDifferent(a, b)) {
      return InvalidArgument(what, " sizes differ, lhs[", l[i], "] = ", a.ToString(), " and rhs[",
                             r[i], "] = ", b.ToString());
    }
    auto same = c.Same(a, b, what);
    if (!same.ok()) return same.status();
  }
  return absl::OkStatus();
}

// Whose products with bytes are summed in f32.
bool IsFloatBesideBytes(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

// The operands have one type.  Where `dtype` says how they are summed, weights may be bytes beside
// u8 or floats: u8 times s8, f32, f16 or bf16 times s8.
bool TypesAgree(const InferContext& c) {
  const DType lhs = c.operand(0).dtype(), rhs = c.operand(1).dtype();
  const bool has_bytes =
      rhs == DType::kS8 && c.attrs.Has(Attr::dtype) &&
      (lhs == DType::kU8 || (IsFloatBesideBytes(lhs) && c.op == Op::kDotGeneral));
  return (lhs == rhs || has_bytes) && IsNumber(lhs);
}

// The type of the sums: that of the operands, or what the attribute `dtype` says, which holds every
// product of two of them.
absl::StatusOr<DType> TypeOfSums(const InferContext& c) {
  const DType lhs = c.operand(0).dtype(), operands = c.operand(1).dtype();
  if (!c.attrs.Has(Attr::dtype)) return operands;
  TEKTITE_ASSIGN_OR_RETURN(const DType sums, c.GetDType(Attr::dtype));
  const bool holds_products = (IsFloatBesideBytes(lhs) && operands == DType::kS8)
                                  ? sums == DType::kF32
                                  : (operands == DType::kBF16 && sums == DType::kF32) ||
                                        (operands == DType::kS8 && sums == DType::kS32);
  if (holds_products) return sums;
  return InvalidArgument("products of ", ir::DTypeName(operands), " are not summed in ",
                         ir::DTypeName(sums));
}

absl::StatusOr<Shapes> DotGeneral(const InferContext& c) {
  const Shape &lhs = c.operand(0), &rhs = c.operand(1);
  if (!TypesAgree(c)) {
    return InvalidArgument("not defined for ", lhs.ToString(), " and ", rhs.ToString());
  }
  // Absent lists are empty ones.
  for (Attr attr :
       {Attr::lhs_batch, Attr::rhs_batch, Attr::lhs_contracting, Attr::rhs_contracting}) {
    if (!c.attrs.Has(attr)) continue;
    const bool left = attr == Attr::lhs_batch || attr == Attr::lhs_contracting;
    auto checked = c.DimNumbers(attr, left ? lhs.rank() : rhs.rank());
    if (!checked.ok()) return checked.status();
  }
  const DotDims d = MakeDotDims(lhs.rank(), rhs.rank(), c.attrs);
  if (d.lhs_free.size() + d.lhs_batch.size() + d.lhs_contracting.size() !=
          static_cast<size_t>(lhs.rank()) ||
      d.rhs_free.size() + d.rhs_batch.size() + d.rhs_contracting.size() !=
          static_cast<size_t>(rhs.rank())) {
    return InvalidArgument("a dimension is both batch and contracting");
  }
  TEKTITE_RETURN_IF_ERROR(CheckPair(c, lhs, rhs, d.lhs_batch, d.rhs_batch, "batch"));
  TEKTITE_RETURN_IF_ERROR(
      CheckPair(c, lhs, rhs, d.lhs_contracting, d.rhs_contracting, "contracting"));
  Dims dims;
  for (size_t i = 0; i < d.lhs_batch.size(); ++i) {
    const Dim &a = lhs.dim(d.lhs_batch[i]), &b = rhs.dim(d.rhs_batch[i]);
    dims.push_back(b.is_constant() ? b : a);
  }
  for (int64_t i : d.lhs_free) dims.push_back(lhs.dim(static_cast<int>(i)));
  for (int64_t i : d.rhs_free) dims.push_back(rhs.dim(static_cast<int>(i)));
  TEKTITE_ASSIGN_OR_RETURN(const DType sums, TypeOfSums(c));
  return One(Shape(sums, dims));
}

// Places of `a`, `b` and of '0', '1', ... in a layout string; false if it is no permutation of
// them.
bool ReadLayout(absl::string_view layout, char a, char b, int spatial, int* place_a, int* place_b,
                std::vector<int>* places) {
  if (static_cast<int>(layout.size()) != spatial + 2) return false;
  *place_a = *place_b = -1;
  places->assign(spatial, -1);
  for (int i = 0; i < spatial + 2; ++i) {
    const int digit = layout[i] - '0';
    int* place = layout[i] == a                  ? place_a
                 : layout[i] == b                ? place_b
                 : digit >= 0 && digit < spatial ? &(*places)[digit]
                                                 : nullptr;
    if (place == nullptr || *place >= 0) return false;
    *place = i;
  }
  return true;
}

absl::StatusOr<Shapes> Convolution(const InferContext& c) {
  const Shape &x = c.operand(0), &kernel = c.operand(1);
  if (!TypesAgree(c) || x.rank() != kernel.rank()) {
    return InvalidArgument("not defined for ", x.ToString(), " and ", kernel.ToString());
  }
  TEKTITE_ASSIGN_OR_RETURN(ConvDims d, GetConvDims(x.rank(), c.attrs));
  const Dim groups(d.feature_groups), batches(d.batch_groups);
  auto same = c.Same(
      x.dim(d.input_feature), kernel.dim(d.kernel_input) * groups,
      absl::StrCat("input features of ", x.ToString(),
                   " are not feature_group_count times those of the kernel ", kernel.ToString()));
  if (!same.ok()) return same.status();
  const Dim& features = kernel.dim(d.kernel_output);
  for (const Dim& divisor : {groups, batches}) {
    const Dim rest = Mod(features, divisor);
    if (rest.is_constant() && rest.value() != 0) {
      return InvalidArgument("output features ", features.ToString(), " do not divide by ",
                             divisor.ToString(), " groups");
    }
  }
  const Dim batch_rest = Mod(x.dim(d.input_batch), batches);
  if (batch_rest.is_constant() && batch_rest.value() != 0) {
    return InvalidArgument("batch ", x.dim(d.input_batch).ToString(), " does not divide by ",
                           batches.ToString(), " batch groups");
  }
  TEKTITE_ASSIGN_OR_RETURN(const DType sums, TypeOfSums(c));
  Shape result = x.WithDType(sums);
  result.set_dim(d.output_batch, FloorDiv(x.dim(d.input_batch), batches));
  result.set_dim(d.output_feature, features);
  for (int i = 0; i < d.spatial; ++i) {
    TEKTITE_ASSIGN_OR_RETURN(
        Dim count,
        WindowCount(x.dim(d.input_spatial[i]), kernel.dim(d.kernel_spatial[i]), d.strides[i],
                    d.low[i], d.high[i], d.lhs_dilation[i], d.rhs_dilation[i], i));
    result.set_dim(d.output_spatial[i], count);
  }
  return One(result);
}

}  // namespace

DotDims GetDotDims(const ir::Node& dot) {
  return MakeDotDims(dot.operand_shape(0).rank(), dot.operand_shape(1).rank(), dot.attrs());
}

DotDims GetDotDimsInOrder(const ir::Node& dot) {
  DotDims dims = GetDotDims(dot);
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (size_t i = 0; i < dims.lhs_contracting.size(); ++i) {
    pairs.emplace_back(dims.lhs_contracting[i], dims.rhs_contracting[i]);
  }
  std::sort(pairs.begin(), pairs.end());
  for (size_t i = 0; i < pairs.size(); ++i) {
    std::tie(dims.lhs_contracting[i], dims.rhs_contracting[i]) = pairs[i];
  }
  return dims;
}

absl::StatusOr<ConvDims> GetConvDims(int rank, const ir::Attributes& attrs) {
  ConvDims d;
  d.spatial = rank - 2;
  if (d.spatial < 0 || d.spatial > 9) {
    return InvalidArgument("needs a rank of 2 to 11, got ", rank);
  }
  struct Layout {
    Attr attr;
    char a, b;
    int *place_a, *place_b;
    std::vector<int>* places;
  };
  const Layout layouts[] = {
      {Attr::input_layout, 'b', 'f', &d.input_batch, &d.input_feature, &d.input_spatial},
      {Attr::kernel_layout, 'i', 'o', &d.kernel_input, &d.kernel_output, &d.kernel_spatial},
      {Attr::output_layout, 'b', 'f', &d.output_batch, &d.output_feature, &d.output_spatial}};
  for (const Layout& l : layouts) {
    if (!ReadLayout(attrs.String(l.attr), l.a, l.b, d.spatial, l.place_a, l.place_b, l.places)) {
      return InvalidArgument("'", ir::AttrName(l.attr), "' must be made of '", std::string(1, l.a),
                             "', '", std::string(1, l.b), "' and ", d.spatial, " digits, got '",
                             attrs.String(l.attr), "'");
    }
  }
  const InferContext c{Op::kConvolution, {}, attrs, {}, nullptr};
  TEKTITE_ASSIGN_OR_RETURN(d.strides, c.IntsPerDim(Attr::strides, d.spatial, 1, 1));
  TEKTITE_ASSIGN_OR_RETURN(d.low, c.IntsPerDim(Attr::low, d.spatial, 0));
  TEKTITE_ASSIGN_OR_RETURN(d.high, c.IntsPerDim(Attr::high, d.spatial, 0));
  TEKTITE_ASSIGN_OR_RETURN(d.lhs_dilation, c.IntsPerDim(Attr::lhs_dilation, d.spatial, 1, 1));
  TEKTITE_ASSIGN_OR_RETURN(d.rhs_dilation, c.IntsPerDim(Attr::rhs_dilation, d.spatial, 1, 1));
  d.feature_groups = attrs.Int(Attr::feature_group_count, 1);
  d.batch_groups = attrs.Int(Attr::batch_group_count, 1);
  if (d.feature_groups < 1 || d.batch_groups < 1 || (d.feature_groups > 1 && d.batch_groups > 1)) {
    return InvalidArgument("group counts must be positive and one of them 1, got ",
                           d.feature_groups, " and ", d.batch_groups);
  }
  return d;
}

ir::Node* FindContraction(const ir::Graph& region) {
  for (const auto& node : region.nodes()) {
    if (node->op() == Op::kDotGeneral || node->op() == Op::kConvolution) return node.get();
  }
  return nullptr;
}

int ParameterIndex(ir::Value operand) {
  while (operand.node->op() != ir::Op::kParameter) {
    if (operand.node->num_operands() == 0) return -1;
    operand = operand.node->operand(0);
  }
  return static_cast<int>(operand.node->Int(ir::Attr::index));
}

absl::StatusOr<Shapes> InferContraction(const InferContext& c) {
  return c.op == Op::kDotGeneral ? DotGeneral(c) : Convolution(c);
}

}  // namespace tektite::ops
