// Control and structure.
//
// conditional(which, operands...) runs one region on all operands: region 0 when a bool is true and
// region 1 when it is false, or region `which` of an s32, the last one when that is out of range.
// while(operands...): region 0 is the condition, region 1 the body.  size_value() has the values of
// the dimensions `sizes` as data, s64[k] for k of them: the runtime provides it.
#include <variant>

#include "jit/ops/infer.h"
#include "jit/ops/names.h"

namespace tektite::ops {

namespace {

Shapes OutputShapes(const ir::Graph& graph) {
  Shapes shapes;
  for (ir::Value v : graph.outputs()) shapes.push_back(v.shape());
  return shapes;
}

absl::Status CheckKind(const InferContext& c) {
  TEKTITE_RETURN_IF_ERROR(c.Require(Attr::kind));
  if (std::holds_alternative<ir::FusionKind>(c.attrs.values().at(Attr::kind))) {
    return absl::OkStatus();
  }
  return InvalidArgument("'kind' must be a kind of fusions, as row");
}

absl::StatusOr<Shapes> Conditional(const InferContext& c) {
  const Shape& which = c.operand(0);
  const bool two = which == Shape(DType::kBool, Dims());
  if (!two && which != Shape(DType::kS32, Dims())) {
    return InvalidArgument("the first operand must be bool[] or s32[], got ", which.ToString());
  }
  if (two) TEKTITE_RETURN_IF_ERROR(c.CheckRegions(2));
  if (c.regions.empty()) return InvalidArgument("has no region");
  const Shapes results = OutputShapes(*c.regions[0]);
  for (int i = 0; i < static_cast<int>(c.regions.size()); ++i) {
    TEKTITE_RETURN_IF_ERROR(c.CheckRegionParameters(i, c.operands.subspan(1)));
    TEKTITE_RETURN_IF_ERROR(c.CheckRegionOutputs(i, results));
  }
  return results;
}

absl::StatusOr<Shapes> While(const InferContext& c) {
  TEKTITE_RETURN_IF_ERROR(c.CheckRegions(2));
  TEKTITE_RETURN_IF_ERROR(c.CheckRegionParameters(0, c.operands));
  TEKTITE_RETURN_IF_ERROR(c.CheckRegionOutputs(0, {Shape(DType::kBool, Dims())}));
  TEKTITE_RETURN_IF_ERROR(c.CheckRegionParameters(1, c.operands));
  TEKTITE_RETURN_IF_ERROR(c.CheckRegionOutputs(1, c.operands));
  return Shapes(c.operands.begin(), c.operands.end());
}

}  // namespace

absl::StatusOr<Shapes> InferStructure(const InferContext& c) {
  switch (c.op) {
    case Op::kFusion:
      TEKTITE_RETURN_IF_ERROR(CheckKind(c));
      [[fallthrough]];
    case Op::kCall:
      TEKTITE_RETURN_IF_ERROR(c.CheckRegions(1));
      TEKTITE_RETURN_IF_ERROR(c.CheckRegionParameters(0, c.operands));
      return OutputShapes(*c.regions[0]);
    case Op::kConditional:
      return Conditional(c);
    case Op::kParameter:
      return InvalidArgument("a parameter's shape is not inferred");
    case Op::kSizeValue: {
      TEKTITE_ASSIGN_OR_RETURN(Dims sizes, c.GetDims(Attr::sizes));
      return One(Shape(DType::kS64, {Dim(static_cast<int64_t>(sizes.size()))}));
    }
    case Op::kWhile:
      return While(c);
    default:
      return Internal("no structural op");
  }
}

}  // namespace tektite::ops
