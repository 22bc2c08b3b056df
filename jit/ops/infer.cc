#include "jit/ops/infer.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/base/saturating.h"
#include "jit/ops/names.h"

namespace tektite::ops {

using ir::AttrName;
using ir::OpFamily;

bool ProvablyDifferent(const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  return difference.is_constant() && difference.value() != 0;
}

bool IsNumber(DType dtype) { return dtype != DType::kBool; }

Shapes One(Shape shape) {
  Shapes shapes;
  shapes.push_back(std::move(shape));
  return shapes;
}

absl::StatusOr<Dim> InferContext::Same(const Dim& a, const Dim& b, const std::string& what) const {
  if (a == b) return a;
  if (ProvablyDifferent(a, b)) {
    return InvalidArgument(what, ": ", a.ToString(), " and ", b.ToString());
  }
  if (assumed != nullptr) assumed->push_back({a, b});
  return b.is_constant() ? b : a;
}

absl::StatusOr<Shape> InferContext::SameShape(const Shape& a, const Shape& b,
                                              const std::string& what) const {
  if (a == b) return a;
  auto differ = [&] { return InvalidArgument(what, ": ", a.ToString(), " and ", b.ToString()); };
  if (a.dtype() != b.dtype() || a.rank() != b.rank()) return differ();
  Shape result = a;
  for (int i = 0; i < a.rank(); ++i) {
    if (ProvablyDifferent(a.dim(i), b.dim(i))) return differ();
    TEKTITE_ASSIGN_OR_RETURN(Dim d, Same(a.dim(i), b.dim(i), what));
    result.set_dim(i, d);
  }
  return result;
}

absl::StatusOr<Shape> InferContext::SameOperands() const {
  Shape shape = operand(0);
  for (int i = 1; i < num_operands(); ++i) {
    TEKTITE_ASSIGN_OR_RETURN(shape, SameShape(shape, operand(i), "operands differ"));
  }
  return shape;
}

absl::Status InferContext::Require(Attr attr) const {
  if (attrs.Has(attr)) return absl::OkStatus();
  return InvalidArgument("needs attribute '", AttrName(attr), "'");
}

absl::StatusOr<std::vector<int64_t>> InferContext::Ints(Attr attr) const {
  TEKTITE_RETURN_IF_ERROR(Require(attr));
  const auto* ints = std::get_if<std::vector<int64_t>>(&attrs.values().at(attr));
  if (ints == nullptr) return InvalidArgument("'", AttrName(attr), "' must be a list of integers");
  return *ints;
}

absl::StatusOr<std::vector<int64_t>> InferContext::IntsPerDim(Attr attr, int rank,
                                                              int64_t otherwise,
                                                              int64_t at_least) const {
  if (!attrs.Has(attr)) return std::vector<int64_t>(rank, otherwise);
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> ints, Ints(attr));
  if (ints.empty()) return std::vector<int64_t>(rank, otherwise);
  if (static_cast<int>(ints.size()) != rank) {
    return InvalidArgument("'", AttrName(attr), "' has ", ints.size(), " values for ", rank,
                           " dimensions");
  }
  for (int64_t v : ints) {
    if (v < at_least || v > (int64_t{1} << 40) || v < -(int64_t{1} << 40)) {
      return InvalidArgument("'", AttrName(attr), "' must be at least ",
                             at_least == INT64_MIN ? "-2^40" : absl::StrCat(at_least),
                             " and at most 2^40, got [", absl::StrJoin(ints, ","), "]");
    }
  }
  return ints;
}

absl::StatusOr<std::vector<int64_t>> InferContext::DimNumbers(Attr attr, int rank) const {
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> ints, Ints(attr));
  std::vector<bool> seen(rank, false);
  for (int64_t d : ints) {
    if (d < 0 || d >= rank || seen[d]) {
      return InvalidArgument("'", AttrName(attr), "' must name distinct dimensions below ", rank,
                             ", got [", absl::StrJoin(ints, ","), "]");
    }
    seen[d] = true;
  }
  return ints;
}

absl::StatusOr<int64_t> InferContext::DimNumber(Attr attr, int rank) const {
  TEKTITE_RETURN_IF_ERROR(Require(attr));
  const auto* value = std::get_if<int64_t>(&attrs.values().at(attr));
  if (value == nullptr || *value < 0 || *value >= rank) {
    return InvalidArgument("'", AttrName(attr), "' must be a dimension below ", rank, ", got ",
                           value == nullptr ? "no integer" : absl::StrCat(*value));
  }
  return *value;
}

absl::StatusOr<Dims> InferContext::GetDims(Attr attr) const {
  TEKTITE_RETURN_IF_ERROR(Require(attr));
  const auto* dims = std::get_if<Dims>(&attrs.values().at(attr));
  if (dims == nullptr)
    return InvalidArgument("'", AttrName(attr), "' must be dimensions, as (n, 4)");
  return *dims;
}

absl::StatusOr<Dims> InferContext::GetSizes(Attr attr) const {
  TEKTITE_ASSIGN_OR_RETURN(Dims dims, GetDims(attr));
  for (const Dim& d : dims) {
    if (d.is_constant() && d.value() < 0) {
      return InvalidArgument("'", AttrName(attr), "' must not be negative, got ", d.value());
    }
  }
  return dims;
}

absl::StatusOr<DType> InferContext::GetDType(Attr attr) const {
  TEKTITE_RETURN_IF_ERROR(Require(attr));
  const auto* dtype = std::get_if<DType>(&attrs.values().at(attr));
  if (dtype == nullptr) return InvalidArgument("'", AttrName(attr), "' must be an element type");
  return *dtype;
}

absl::Status InferContext::CheckReducer(DType dtype) const {
  const std::string& name = attrs.String(Attr::reducer);
  if (!IsReducer(name)) return InvalidArgument("unknown reducer '", name, "'");
  const bool logical = name == "and" || name == "or";
  if (logical ? ir::IsFloat(dtype) : !IsNumber(dtype)) {
    return InvalidArgument("reducer '", name, "' is not defined for ", ir::DTypeName(dtype));
  }
  return absl::OkStatus();
}

absl::Status InferContext::CheckIndex(int i) const {
  if (operand(i).rank() == 0 && ir::IsInteger(operand(i).dtype())) return absl::OkStatus();
  return InvalidArgument("operand ", i, " must be an integer scalar, got ", operand(i).ToString());
}

absl::Status InferContext::CheckRegions(int count) const {
  if (static_cast<int>(regions.size()) == count) return absl::OkStatus();
  return InvalidArgument("needs ", count, " regions, has ", regions.size());
}

absl::Status InferContext::CheckRegionParameters(int region, absl::Span<const Shape> shapes) const {
  const ir::Graph& graph = *regions[region];
  if (graph.num_parameters() != static_cast<int>(shapes.size())) {
    return InvalidArgument("region ", region, " takes ", graph.num_parameters(), " values, gets ",
                           shapes.size());
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    auto same = SameShape(shapes[i], graph.parameter(static_cast<int>(i))->shape(),
                          absl::StrCat("region ", region, ", parameter ", i));
    if (!same.ok()) return same.status();
  }
  return absl::OkStatus();
}

absl::Status InferContext::CheckRegionOutputs(int region, absl::Span<const Shape> shapes) const {
  const ir::Graph& graph = *regions[region];
  if (graph.outputs().size() != shapes.size()) {
    return InvalidArgument("region ", region, " returns ", graph.outputs().size(),
                           " values, should give ", shapes.size());
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    auto same = SameShape(shapes[i], graph.outputs()[i].shape(),
                          absl::StrCat("region ", region, ", output ", i));
    if (!same.ok()) return same.status();
  }
  return absl::OkStatus();
}

Dim Dilated(const Dim& size, int64_t dilation) {
  if (dilation == 1) return size;
  if (size.is_constant()) return size.value() == 0 ? Dim(0) : (size - Dim(1)) * dilation + 1;
  return Max(Dim(0), (size - Dim(1)) * dilation + 1);
}

absl::StatusOr<Dim> WindowCount(const Dim& size, const Dim& window, int64_t stride, int64_t low,
                                int64_t high, int64_t lhs_dilation, int64_t window_dilation,
                                int dimension) {
  const Dim padded = Dilated(size, lhs_dilation) + Dim(low) + Dim(high);
  const Dim reach = Dilated(window, window_dilation);
  const Dim count = FloorDiv(padded - reach, Dim(stride)) + 1;
  if (count.is_constant() && count.value() < 0) {
    return InvalidArgument("dimension ", dimension, ": a window of ", reach.ToString(),
                           " does not fit the padded size ", padded.ToString());
  }
  return count;
}

absl::Status CheckCountable(const Shape& shape) {
  int64_t elements = 1;
  for (const Dim& d : shape.dims()) {
    if (d.is_constant() && d.value() != 0) elements = SaturatingMul(elements, d.value());
  }
  if (elements <= kMostElements) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the sizes of ", shape.ToString(), " are too large to count with"));
}

namespace {

absl::StatusOr<Shapes> InferOfFamily(const InferContext& c, ir::OpFamily family) {
  switch (family) {
    case OpFamily::unary:
      return InferUnary(c);
    case OpFamily::binary:
      return InferBinary(c);
    case OpFamily::ternary:
      return InferTernary(c);
    case OpFamily::convert:
      return InferConvert(c);
    case OpFamily::movement:
      return InferMovement(c);
    case OpFamily::indexed:
      return InferIndexed(c);
    case OpFamily::reduction:
      return InferReduction(c);
    case OpFamily::contraction:
      return InferContraction(c);
    case OpFamily::order:
      return InferOrder(c);
    case OpFamily::selection:
      return InferSelection(c);
    case OpFamily::spectrum:
      return InferSpectrum(c);
    case OpFamily::matrix:
      return InferMatrix(c);
    case OpFamily::structure:
      return InferStructure(c);
  }
  return Internal("no family");
}

}  // namespace

absl::StatusOr<Shapes> Infer(const InferContext& c) {
  const ir::OpInfo& info = ir::GetOpInfo(c.op);
  const int n = c.num_operands();
  if (n < info.fewest_operands || (info.most_operands >= 0 && n > info.most_operands)) {
    return InvalidArgument("takes ", info.most_operands < 0 ? "at least " : "",
                           info.fewest_operands, " operands, has ", n);
  }
  absl::StatusOr<Shapes> shapes = InferOfFamily(c, info.family);
  if (shapes.ok()) {
    for (const Shape& shape : *shapes) TEKTITE_RETURN_IF_ERROR(CheckCountable(shape));
  }
  return shapes;
}

absl::StatusOr<Shapes> InferShapes(ir::Op op, absl::Span<const Shape> operands,
                                   const ir::Attributes& attrs,
                                   absl::Span<const ir::Graph* const> regions) {
  auto shapes = Infer({op, operands, attrs, regions, nullptr});
  if (shapes.ok()) return shapes;
  return absl::Status(shapes.status().code(),
                      absl::StrCat(ir::OpName(op), ": ", shapes.status().message()));
}

}  // namespace tektite::ops
