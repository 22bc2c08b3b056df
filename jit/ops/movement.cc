// Data movement: a result's elements are the operands', in other places.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/ops/infer.h"
#include "jit/ops/names.h"

namespace tektite::ops {

namespace {

// a > b for certain.
bool ProvablyGreater(const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  return difference.is_constant() && difference.value() > 0;
}

absl::StatusOr<Shapes> BroadcastInDim(const InferContext& c) {
  const Shape& x = c.operand(0);
  TEKTITE_ASSIGN_OR_RETURN(Dims dims, c.GetSizes(Attr::shape));
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> dimensions,
                           c.DimNumbers(Attr::dimensions, static_cast<int>(dims.size())));
  if (static_cast<int>(dimensions.size()) != x.rank()) {
    return InvalidArgument("'dimensions' has ", dimensions.size(), " values for ", x.ToString());
  }
  for (int i = 0; i < x.rank(); ++i) {
    if (i > 0 && dimensions[i] < dimensions[i - 1]) {
      return InvalidArgument("'dimensions' must increase, got [", absl::StrJoin(dimensions, ","),
                             "]");
    }
    if (x.dim(i) == Dim(1)) continue;
    auto same = c.Same(
        x.dim(i), dims[dimensions[i]],
        absl::StrCat("operand dimension ", i, " and result dimension ", dimensions[i], " differ"));
    if (!same.ok()) return same.status();
  }
  return One(Shape(x.dtype(), dims));
}

absl::StatusOr<Shapes> Concatenate(const InferContext& c) {
  Shape result = c.operand(0);
  TEKTITE_ASSIGN_OR_RETURN(int64_t dimension, c.DimNumber(Attr::dimension, result.rank()));
  Dim total(0);
  for (int i = 0; i < c.num_operands(); ++i) {
    Shape part = c.operand(i);
    if (part.rank() == result.rank()) {
      total = total + part.dim(dimension);
      part.set_dim(dimension, result.dim(dimension));
    }
    auto same = c.SameShape(result, part, absl::StrCat("operands 0 and ", i, " differ"));
    if (!same.ok()) {
      return InvalidArgument("operands 0 and ", i, " differ outside dimension ", dimension, ": ",
                             c.operand(0).ToString(), " and ", c.operand(i).ToString());
    }
    result = *same;
  }
  result.set_dim(dimension, total);
  return One(result);
}

absl::Status CheckStarts(const InferContext& c, int first) {
  if (c.num_operands() != first + c.operand(0).rank()) {
    return InvalidArgument("needs ", c.operand(0).rank(), " starts, has ",
                           c.num_operands() - first);
  }
  for (int i = first; i < c.num_operands(); ++i) TEKTITE_RETURN_IF_ERROR(c.CheckIndex(i));
  return absl::OkStatus();
}

absl::StatusOr<Shapes> DynamicSlice(const InferContext& c) {
  const Shape& x = c.operand(0);
  TEKTITE_RETURN_IF_ERROR(CheckStarts(c, 1));
  TEKTITE_ASSIGN_OR_RETURN(Dims sizes, c.GetSizes(Attr::sizes));
  if (static_cast<int>(sizes.size()) != x.rank()) {
    return InvalidArgument("'sizes' has ", sizes.size(), " values for ", x.ToString());
  }
  for (int i = 0; i < x.rank(); ++i) {
    if (ProvablyGreater(sizes[i], x.dim(i))) {
      return InvalidArgument("size ", sizes[i].ToString(), " of dimension ", i, " exceeds ",
                             x.ToString());
    }
  }
  return One(Shape(x.dtype(), sizes));
}

absl::StatusOr<Shapes> DynamicUpdateSlice(const InferContext& c) {
  const Shape &x = c.operand(0), &update = c.operand(1);
  TEKTITE_RETURN_IF_ERROR(CheckStarts(c, 2));
  bool fits = update.dtype() == x.dtype() && update.rank() == x.rank();
  for (int i = 0; fits && i < x.rank(); ++i) fits = !ProvablyGreater(update.dim(i), x.dim(i));
  if (!fits) {
    return InvalidArgument("update ", update.ToString(), " does not fit ", x.ToString());
  }
  return One(x);
}

absl::StatusOr<Shapes> Iota(const InferContext& c) {
  TEKTITE_ASSIGN_OR_RETURN(Dims dims, c.GetSizes(Attr::shape));
  TEKTITE_ASSIGN_OR_RETURN(DType dtype, c.GetDType(Attr::dtype));
  auto dimension = c.DimNumber(Attr::dimension, static_cast<int>(dims.size()));
  if (!dimension.ok()) return dimension.status();
  if (!IsNumber(dtype)) return InvalidArgument("not defined for bool");
  return One(Shape(dtype, dims));
}

absl::StatusOr<Shapes> Pad(const InferContext& c) {
  const Shape& x = c.operand(0);
  const int rank = x.rank();
  if (c.operand(1) != Shape(x.dtype(), Dims())) {
    return InvalidArgument("the padding value must be a scalar ", ir::DTypeName(x.dtype()),
                           ", got ", c.operand(1).ToString());
  }
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> low, c.IntsPerDim(Attr::low, rank, 0));
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> high, c.IntsPerDim(Attr::high, rank, 0));
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> interior, c.IntsPerDim(Attr::interior, rank, 0, 0));
  Shape result = x;
  for (int i = 0; i < rank; ++i) {
    Dim d = Dilated(x.dim(i), interior[i] + 1) + Dim(low[i]) + Dim(high[i]);
    if (d.is_constant() && d.value() < 0) {
      return InvalidArgument("dimension ", i, " of ", x.ToString(), " would become ", d.value());
    }
    result.set_dim(i, d);
  }
  return One(result);
}

absl::StatusOr<Shapes> Reshape(const InferContext& c) {
  TEKTITE_ASSIGN_OR_RETURN(Dims dims, c.GetSizes(Attr::shape));
  Shape result(c.operand(0).dtype(), dims);
  auto same = c.Same(c.operand(0).NumElements(), result.NumElements(),
                     absl::StrCat(c.operand(0).ToString(), " and ", result.ToString(),
                                  " differ in their number of elements"));
  if (!same.ok()) return same.status();
  return One(result);
}

absl::StatusOr<Shapes> Slice(const InferContext& c) {
  const Shape& x = c.operand(0);
  TEKTITE_ASSIGN_OR_RETURN(Dims starts, c.GetDims(Attr::starts));
  TEKTITE_ASSIGN_OR_RETURN(Dims limits, c.GetDims(Attr::limits));
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> strides,
                           c.IntsPerDim(Attr::strides, x.rank(), 1, 1));
  if (static_cast<int>(starts.size()) != x.rank() || limits.size() != starts.size()) {
    return InvalidArgument("needs ", x.rank(), " starts and limits, has ", starts.size(), " and ",
                           limits.size());
  }
  Shape result = x;
  for (int i = 0; i < x.rank(); ++i) {
    if (ProvablyGreater(Dim(0), starts[i]) || ProvablyGreater(starts[i], limits[i]) ||
        ProvablyGreater(limits[i], x.dim(i))) {
      return InvalidArgument("[", starts[i].ToString(), ", ", limits[i].ToString(),
                             ") is no part of dimension ", i, " of ", x.ToString());
    }
    result.set_dim(i, CeilDiv(limits[i] - starts[i], Dim(strides[i])));
  }
  return One(result);
}

absl::StatusOr<Shapes> Transpose(const InferContext& c) {
  const Shape& x = c.operand(0);
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> permutation,
                           c.DimNumbers(Attr::permutation, x.rank()));
  if (static_cast<int>(permutation.size()) != x.rank()) {
    return InvalidArgument("'permutation' has ", permutation.size(), " values for ", x.ToString());
  }
  Shape result = x;
  for (int i = 0; i < x.rank(); ++i) result.set_dim(i, x.dim(static_cast<int>(permutation[i])));
  return One(result);
}

absl::StatusOr<Shapes> Constant(const InferContext& c) {
  TEKTITE_RETURN_IF_ERROR(c.Require(Attr::value));
  const auto* literal = std::get_if<ir::Literal>(&c.attrs.values().at(Attr::value));
  if (literal == nullptr) return InvalidArgument("'value' must be a literal, as f32[2]{1, 2}");
  return One(literal->shape());
}

}  // namespace

absl::StatusOr<Shapes> InferMovement(const InferContext& c) {
  switch (c.op) {
    case Op::kBroadcastInDim:
      return BroadcastInDim(c);
    case Op::kConcatenate:
      return Concatenate(c);
    case Op::kConstant:
      return Constant(c);
    case Op::kDynamicSlice:
      return DynamicSlice(c);
    case Op::kDynamicUpdateSlice:
      return DynamicUpdateSlice(c);
    case Op::kIota:
      return Iota(c);
    case Op::kPad:
      return Pad(c);
    case Op::kReshape:
      return Reshape(c);
    case Op::kReverse: {
      auto dimensions = c.DimNumbers(Attr::dimensions, c.operand(0).rank());
      if (!dimensions.ok()) return dimensions.status();
      return One(c.operand(0));
    }
    case Op::kSlice:
      return Slice(c);
    case Op::kTranspose:
      return Transpose(c);
    default:
      return Internal("no movement op");
  }
}

}  // namespace tektite::ops
