// Reductions over dimensions and over windows.
//
// reduce comes in two forms: `reducer` names the function and there is one operand; or a region
// computes it, for n operands followed by n scalar initial values, from n accumulators and n
// elements to n accumulators.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "jit/ops/infer.h"
#include "jit/ops/names.h"

namespace tektite::ops {

bool IsReducer(absl::string_view name) {
  return name == "add" || name == "mul" || name == "max" || name == "min" || name == "and" ||
         name == "or";
}

Op ReducerOp(absl::string_view name) {
  if (name == "mul") return Op::kMul;
  if (name == "max") return Op::kMax;
  if (name == "min") return Op::kMin;
  if (name == "and") return Op::kAnd;
  if (name == "or") return Op::kOr;
  return Op::kAdd;
}

Literal ReducerIdentity(absl::string_view name, ir::DType dtype) {
  if (name == "max") return Literal::LowestOf(dtype);
  if (name == "min") return Literal::HighestOf(dtype);
  if (name == "and") {
    return ir::IsSigned(dtype) ? Literal::ScalarOf(dtype, -1) : Literal::HighestOf(dtype);
  }
  return Literal::ScalarOf(dtype, name == "mul" ? 1 : 0);
}

WindowDims GetWindowDims(int rank, const ir::Attributes& attrs) {
  auto get = [&](Attr attr, int64_t otherwise) {
    const std::vector<int64_t>& values = attrs.Ints(attr);
    return values.empty() ? std::vector<int64_t>(rank, otherwise) : values;
  };
  return {get(Attr::window, 1), get(Attr::strides, 1),      get(Attr::low, 0),
          get(Attr::high, 0),   get(Attr::lhs_dilation, 1), get(Attr::window_dilation, 1)};
}

namespace {

absl::StatusOr<Shape> Windowed(const InferContext& c, const Shape& x) {
  const int rank = x.rank();
  // Checks the lists' types and lengths before GetWindowDims reads them.
  for (Attr attr : {Attr::window, Attr::strides, Attr::lhs_dilation, Attr::window_dilation}) {
    auto checked = c.IntsPerDim(attr, rank, 1, 1);
    if (!checked.ok()) return checked.status();
  }
  for (Attr attr : {Attr::low, Attr::high}) {
    auto checked = c.IntsPerDim(attr, rank, 0);
    if (!checked.ok()) return checked.status();
  }
  const WindowDims w = GetWindowDims(rank, c.attrs);
  Shape result = x;
  for (int i = 0; i < rank; ++i) {
    TEKTITE_ASSIGN_OR_RETURN(Dim d,
                             WindowCount(x.dim(i), w.window[i], w.strides[i], w.low[i], w.high[i],
                                         w.lhs_dilation[i], w.window_dilation[i], i));
    result.set_dim(i, d);
  }
  return result;
}

absl::StatusOr<Shapes> Reduce(const InferContext& c) {
  const bool named = c.attrs.Has(Attr::reducer);
  const int n = named ? 1 : c.num_operands() / 2;
  if (c.num_operands() != (named ? 1 : 2 * n) || n == 0) {
    return InvalidArgument(named ? "takes one operand with a reducer, has "
                                 : "takes as many initial values as operands with a region, has ",
                           c.num_operands());
  }
  TEKTITE_RETURN_IF_ERROR(c.CheckRegions(named ? 0 : 1));
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> dimensions,
                           c.DimNumbers(Attr::dimensions, c.operand(0).rank()));
  if (named) TEKTITE_RETURN_IF_ERROR(c.CheckReducer(c.operand(0).dtype()));
  Shape common = c.operand(0);
  for (int i = 1; i < n; ++i) {
    TEKTITE_ASSIGN_OR_RETURN(
        common, c.SameShape(common, c.operand(i).WithDType(common.dtype()), "operands differ"));
  }
  Dims kept;
  for (int i = 0; i < common.rank(); ++i) {
    if (std::find(dimensions.begin(), dimensions.end(), i) == dimensions.end()) {
      kept.push_back(common.dim(i));
    }
  }
  Shapes results, scalars;
  for (int i = 0; i < n; ++i) {
    results.push_back(Shape(c.operand(i).dtype(), kept));
    scalars.push_back(Shape(c.operand(i).dtype(), Dims()));
  }
  if (named) return results;
  for (int i = 0; i < n; ++i) {
    if (c.operand(n + i) != scalars[i]) {
      return InvalidArgument("initial value ", i, " must be ", scalars[i].ToString(), ", got ",
                             c.operand(n + i).ToString());
    }
  }
  TEKTITE_RETURN_IF_ERROR(c.CheckRegionOutputs(0, scalars));
  scalars.insert(scalars.end(), scalars.begin(), scalars.begin() + n);
  TEKTITE_RETURN_IF_ERROR(c.CheckRegionParameters(0, scalars));
  return results;
}

absl::StatusOr<Shapes> SelectAndScatter(const InferContext& c) {
  const Shape &x = c.operand(0), &source = c.operand(1);
  if (!IsNumber(x.dtype())) return InvalidArgument("not defined for ", x.ToString());
  if (c.attrs.Has(Attr::lhs_dilation) || c.attrs.Has(Attr::window_dilation)) {
    return InvalidArgument("windows cannot be dilated");
  }
  TEKTITE_ASSIGN_OR_RETURN(Shape windows, Windowed(c, x));
  auto same = c.SameShape(windows, source, "windows and source differ");
  if (!same.ok()) return same.status();
  return One(x);
}

absl::StatusOr<Shapes> Cumulative(const InferContext& c) {
  auto dimension = c.DimNumber(Attr::dimension, c.operand(0).rank());
  if (!dimension.ok()) return dimension.status();
  TEKTITE_RETURN_IF_ERROR(c.CheckReducer(c.operand(0).dtype()));
  return One(c.operand(0));
}

}  // namespace

absl::StatusOr<Shapes> InferReduction(const InferContext& c) {
  switch (c.op) {
    case Op::kReduce:
      return Reduce(c);
    case Op::kReduceWindow: {
      TEKTITE_RETURN_IF_ERROR(c.CheckReducer(c.operand(0).dtype()));
      TEKTITE_ASSIGN_OR_RETURN(Shape result, Windowed(c, c.operand(0)));
      return One(result);
    }
    case Op::kSelectAndScatter:
      return SelectAndScatter(c);
    case Op::kCumulative:
      return Cumulative(c);
    default:
      return Internal("no reduction");
  }
}

}  // namespace tektite::ops
