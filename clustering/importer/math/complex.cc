// Ops of complex tensors that are ops of their parts: movement, sums, products, comparisons.
#include "clustering/importer/math/complex.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "clustering/importer/import_table.h"

namespace tektite::importer {
namespace {

using graph_def::DataType;
using Infos = std::vector<TensorInfo>;

bool NamesComplex(const graph_def::AttrValue& value) {
  const auto is_complex = [](DataType type) { return graph_def::PartType(type).has_value(); };
  if (const auto* type = value.As<DataType>()) return is_complex(*type);
  const auto* types = value.AsListOf<DataType>();
  return types != nullptr && std::any_of(types->begin(), types->end(), is_complex);
}

TensorInfo InfoOf(Value value) {
  TensorInfo info;
  info.shape = value.shape();
  info.value = value;
  return info;
}

// What is known of an input, of a complex one only a part.
TensorInfo PartOf(NodeImport& op, int i, bool imaginary) {
  if (!op.InputInfo(i).is_complex) return op.InputInfo(i);
  return InfoOf(imaginary ? op.ImaginaryPart(i) : op.RealPart(i));
}

// The op on these inputs as if it were one of real numbers; a value for each result.
absl::StatusOr<std::vector<Value>> ImportReal(NodeImport& op, Infos inputs) {
  std::vector<TensorInfo*> pointers;
  for (TensorInfo& info : inputs) pointers.push_back(&info);
  NodeImport real(op.node(), std::move(pointers), op.scope());
  TEKTITE_RETURN_IF_ERROR(ImportFunctionOf(clustering::FactsOf(op.op()))(real));
  if (!op.b().status().ok()) return op.Refuse(op.b().status().message());
  std::vector<Value> values;
  for (const TensorInfo& info : real.results()) {
    if (!info.unusable.empty() || info.rows) return op.Refuse("complex numbers");
    values.push_back(info.value ? info.value : Materialize(op.b(), info));
  }
  return values;
}

absl::StatusOr<std::vector<Value>> ImportParts(NodeImport& op, bool imaginary) {
  Infos inputs;
  for (int i = 0; i < op.num_inputs(); ++i) inputs.push_back(PartOf(op, i, imaginary));
  return ImportReal(op, std::move(inputs));
}

// The op on one part of either of its two operands.
absl::StatusOr<Value> ImportProduct(NodeImport& op, Value x, Value y) {
  if (!x || !y) return op.Refuse("no operand");
  TEKTITE_ASSIGN_OR_RETURN(std::vector<Value> values, ImportReal(op, {InfoOf(x), InfoOf(y)}));
  if (values.size() != 1) return op.Refuse("not one result");
  return values[0];
}

// A matrix product's adjoint operand is conjugated, too.
Parts Factor(NodeImport& op, int i, absl::string_view adjoint) {
  Parts parts{op.RealPart(i), op.ImaginaryPart(i)};
  if (op.attrs().Bool(adjoint, false) && parts.im) parts.im = op.b().Neg(parts.im);
  return parts;
}

}  // namespace

bool IsComplex(const graph_def::NodeDef& node, const std::vector<TensorInfo*>& inputs) {
  for (const TensorInfo* input : inputs) {
    if (input->is_complex) return true;
  }
  const auto& attrs = node.attrs.entries();
  return std::any_of(attrs.begin(), attrs.end(), [](const graph_def::Attr& attr) {
    return !absl::StartsWith(attr.name, "_") && NamesComplex(attr.value);
  });
}

TensorInfo SplitParts(Value both, FuncBuilder* b) {
  const int last = both.shape().rank() - 1;
  TensorInfo info;
  if (last < 0) {
    info.unusable = "is complex, without its parts";
    return info;
  }
  Dims dims = both.shape().dims();
  b->AssumeEqual(dims.back(), Dim(2));
  dims.pop_back();
  const auto part = [&](int i) {
    return b->Reshape(b->SliceDim(both, last, Dim(i), Dim(i + 1)), dims);
  };
  info.value = part(0);
  info.imaginary = part(1);
  info.is_complex = true;
  info.shape = Shape(both.dtype(), dims);
  return info;
}

Value JoinParts(NodeImport& op) {
  FuncBuilder& b = op.b();
  std::vector<Value> parts = {op.RealPart(0), op.ImaginaryPart(0)};
  if (!parts[0] || !parts[1]) return Value();
  Dims dims = parts[0].shape().dims();
  dims.push_back(Dim(1));
  for (Value& part : parts) part = b.Reshape(part, dims);
  return b.Concatenate(parts, static_cast<int>(dims.size()) - 1);
}

absl::Status ImportByParts(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const std::vector<Value> re, ImportParts(op, /*imaginary=*/false));
  TEKTITE_ASSIGN_OR_RETURN(const std::vector<Value> im, ImportParts(op, /*imaginary=*/true));
  if (re.size() != im.size()) return op.Refuse("parts of other shapes");
  for (size_t i = 0; i < re.size(); ++i) TEKTITE_RETURN_IF_ERROR(op.ReturnComplex(re[i], im[i]));
  return absl::OkStatus();
}

absl::Status ImportComplexOnesLike(NodeImport& op) {
  const Value re = op.RealPart(0);
  if (!re) return op.Return(re);
  return op.ReturnComplex(op.b().FullLike(re, 1), op.b().FullLike(re, 0));
}

absl::Status ImportConjugateTranspose(NodeImport& op) {
  TEKTITE_RETURN_IF_ERROR(ImportByParts(op));
  TensorInfo& result = op.results().back();
  result.imaginary = op.b().Neg(result.imaginary);
  return absl::OkStatus();
}

// Products of elements or of matrices: whatever is linear in both operands.
absl::Status ImportComplexProduct(NodeImport& op) {
  if (op.num_inputs() == 1) return ImportByParts(op);  // an Einsum
  if (op.num_inputs() != 2) return op.Refuse(op.num_inputs(), " complex operands");
  const Parts x = Factor(op, 0, "adj_x"), y = Factor(op, 1, "adj_y");
  TEKTITE_ASSIGN_OR_RETURN(const Value rr, ImportProduct(op, x.re, y.re));
  TEKTITE_ASSIGN_OR_RETURN(const Value ii, ImportProduct(op, x.im, y.im));
  TEKTITE_ASSIGN_OR_RETURN(const Value ri, ImportProduct(op, x.re, y.im));
  TEKTITE_ASSIGN_OR_RETURN(const Value ir, ImportProduct(op, x.im, y.re));
  return op.ReturnComplex(op.b().Sub(rr, ii), op.b().Add(ri, ir));
}

absl::Status ImportComplexCompare(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const std::vector<Value> re, ImportParts(op, /*imaginary=*/false));
  TEKTITE_ASSIGN_OR_RETURN(const std::vector<Value> im, ImportParts(op, /*imaginary=*/true));
  const Op both = op.op() == "Equal" ? Op::kAnd : Op::kOr;
  return op.Return(op.b().Binary(both, re[0], im[0]));
}

}  // namespace tektite::importer
