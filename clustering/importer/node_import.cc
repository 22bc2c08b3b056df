#include "clustering/importer/node_import.h"

#include <numeric>

namespace tektite::importer {
const TensorInfo& NodeImport::InputInfo(int i) const {
  static const TensorInfo& missing = *[] {
    auto* info = new TensorInfo;
    info->unusable = "is missing";
    return info;
  }();
  return i >= 0 && i < num_inputs() ? *inputs_[i] : missing;
}

Value NodeImport::Input(int i) {
  const TensorInfo& known = InputInfo(i);
  if (!known.unusable.empty()) return builder_.Fail(Refuse("input ", i, " ", known.unusable));
  if (known.is_resource) return builder_.Fail(Refuse("input ", i, " is a resource handle"));
  if (known.is_complex) return builder_.Fail(Refuse("input ", i, " is complex"));
  TensorInfo& info = *inputs_[i];
  if (!info.value) info.value = Materialize(builder_, info);
  return info.value;
}

Value NodeImport::RealPart(int i) {
  return InputInfo(i).is_complex ? InputInfo(i).value : Input(i);
}

Value NodeImport::ImaginaryPart(int i) {
  if (InputInfo(i).is_complex) return InputInfo(i).imaginary;
  const Value real = Input(i);
  return real ? builder_.FullLike(real, 0) : real;
}

absl::StatusOr<Value> NodeImport::Variable(int i) {
  if (!InputInfo(i).is_resource) return Refuse("input ", i, " is not a variable");
  return InputInfo(i).value;
}

absl::Status NodeImport::SetVariable(int i, Value content) {
  if (!InputInfo(i).is_resource) return Refuse("input ", i, " is not a variable");
  inputs_[i]->value = content;
  return absl::OkStatus();
}

absl::StatusOr<TensorList> NodeImport::List(int i) const {
  if (!InputInfo(i).list) return Refuse("input ", i, " is no list of tensors");
  return *InputInfo(i).list;
}

std::vector<Value> NodeImport::Inputs(int first, int last) {
  std::vector<Value> values;
  for (int i = first; i < last; ++i) values.push_back(Input(i));
  return values;
}

DType AccumulatorType(DType dtype) {
  return ir::IsFloat(dtype) && ir::DTypeBytes(dtype) == 2 ? DType::kF32 : dtype;
}

bool AssumeSameDims(FuncBuilder& b, absl::Span<const Dim> x, absl::Span<const Dim> y) {
  bool same = x.size() == y.size();
  for (size_t d = 0; same && d < x.size(); ++d) same = b.AssumeEqual(x[d], y[d]);
  return same;
}

absl::Status NodeImport::RequireSameDims(int i, int j) {
  if (AssumeSameDims(builder_, InputDims(i), InputDims(j))) return absl::OkStatus();
  return Refuse("inputs ", i, " and ", j, " are ", InputShape(i).ToString(), " and ",
                InputShape(j).ToString());
}

absl::Status NodeImport::RequireScalar(int i) const {
  if (InputRank(i) == 0) return absl::OkStatus();
  return Refuse("input ", i, " is ", InputShape(i).ToString(), ", not a scalar");
}

absl::StatusOr<Dims> NodeImport::RequireContents(int i) const {
  const TensorInfo& info = InputInfo(i);
  if (info.contents) return *info.contents;
  if (info.literal && ir::IsInteger(info.literal->dtype())) {
    std::vector<int64_t> ints = info.literal->AsInts();
    return Dims(ints.begin(), ints.end());
  }
  return Refuse("input ", i, " must be known when code is made");
}

absl::StatusOr<std::vector<int64_t>> NodeImport::RequireInts(int i) const {
  TEKTITE_ASSIGN_OR_RETURN(Dims dims, RequireContents(i));
  std::vector<int64_t> ints;
  for (const Dim& d : dims) {
    if (!d.is_constant()) return Refuse("input ", i, " depends on a size: ", d.ToString());
    ints.push_back(d.value());
  }
  return ints;
}

absl::StatusOr<int64_t> NodeImport::RequireInt(int i) const {
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> ints, RequireInts(i));
  if (ints.size() != 1) return Refuse("input ", i, " must have one element, not ", ints.size());
  return ints[0];
}

absl::StatusOr<int> NodeImport::NormalizeAxis(int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank) return Refuse("axis ", axis, " of a tensor of rank ", rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

absl::StatusOr<int> NodeImport::RequireAxis(int i, int rank) const {
  TEKTITE_ASSIGN_OR_RETURN(int64_t axis, RequireInt(i));
  return NormalizeAxis(axis, rank);
}

absl::StatusOr<std::vector<int64_t>> NodeImport::RequireAxes(int i, int rank) const {
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> axes, RequireInts(i));
  for (int64_t& axis : axes) {
    TEKTITE_ASSIGN_OR_RETURN(axis, NormalizeAxis(axis, rank));
  }
  return axes;
}

std::vector<int64_t> NodeImport::Ints(absl::string_view attr) const {
  const graph_def::AttrValue* value = node_.attrs.Find(attr);
  const auto* list = value == nullptr ? nullptr : value->AsListOf<int64_t>();
  return list == nullptr ? std::vector<int64_t>() : *list;
}

std::vector<std::string> NodeImport::Strings(absl::string_view attr) const {
  const graph_def::AttrValue* value = node_.attrs.Find(attr);
  const auto* list = value == nullptr ? nullptr : value->AsListOf<std::string>();
  return list == nullptr ? std::vector<std::string>() : *list;
}

absl::StatusOr<DType> NodeImport::Type(absl::string_view attr, DType otherwise) const {
  graph_def::DataType type = node_.attrs.Type(attr);
  if (type == graph_def::DataType::kInvalid) return otherwise;
  type = graph_def::PartType(type).value_or(type);
  std::optional<DType> dtype = graph_def::DTypeOf(type);
  if (!dtype) return Refuse("type ", graph_def::DataTypeName(type), " is not supported");
  return *dtype;
}

absl::Status NodeImport::Return(Value value) {
  const absl::Status& status = builder_.status();
  if (absl::IsUnimplemented(status)) return status;  // names the node already
  if (!status.ok()) return Refuse(status.message());
  if (!value) return Refuse("no result");
  TensorInfo info;
  info.shape = value.shape();
  info.value = value;
  results_.push_back(std::move(info));
  return absl::OkStatus();
}

absl::Status NodeImport::Return(absl::Span<const Value> values) {
  for (Value v : values) TEKTITE_RETURN_IF_ERROR(Return(v));
  return absl::OkStatus();
}

absl::Status NodeImport::ReturnComplex(Value real, Value imaginary) {
  TEKTITE_RETURN_IF_ERROR(Return(imaginary));
  results_.pop_back();
  TEKTITE_RETURN_IF_ERROR(Return(real));
  results_.back().is_complex = true;
  results_.back().imaginary = imaginary;
  return absl::OkStatus();
}

absl::Status NodeImport::ReturnRows(Value value, Value rows) {
  TEKTITE_RETURN_IF_ERROR(Return(value));
  results_.back().rows = rows;
  return absl::OkStatus();
}

absl::Status NodeImport::ReturnContents(DType dtype, const Dims& dims, Dims contents) {
  if (dtype != DType::kS32 && dtype != DType::kS64 && dtype != DType::kBool) {
    return Refuse("elements of type ", ir::DTypeName(dtype));
  }
  TensorInfo info;
  info.shape = Shape(dtype, dims);
  if (!info.shape.is_static() ||
      info.shape.num_elements() != static_cast<int64_t>(contents.size())) {
    return Refuse(contents.size(), " known elements of ", info.shape.ToString());
  }
  info.contents = std::move(contents);
  results_.push_back(std::move(info));
  return absl::OkStatus();
}

absl::Status NodeImport::ReturnLiteral(Literal literal) {
  TensorInfo info;
  info.shape = literal.shape();
  info.contents = ContentsOf(literal);
  info.literal = std::move(literal);
  results_.push_back(std::move(info));
  return absl::OkStatus();
}

absl::Status NodeImport::ReturnList(TensorList list) {
  if (!builder_.status().ok()) return Refuse(builder_.status().message());
  results_.push_back(InfoOfList(std::move(list)));
  return absl::OkStatus();
}

absl::Status NodeImport::Forward(int i) {
  const TensorInfo& info = InputInfo(i);
  if (!info.unusable.empty() && !info.list && !info.array)
    return Refuse("input ", i, " ", info.unusable);
  results_.push_back(info);
  return absl::OkStatus();
}

Value NodeImport::DimValue(const Dim& dim, DType dtype) {
  TensorInfo info;
  info.shape = Shape(DType::kS64, Dims());
  info.contents = Dims{dim};
  return builder_.Convert(Materialize(builder_, info), dtype);
}

void NodeImport::Check(Value condition) {
  if (!condition) return;
  std::vector<int64_t> all(condition.shape().rank());
  std::iota(all.begin(), all.end(), 0);
  scope_.checks.push_back(all.empty() ? condition : builder_.Reduce(condition, all, "and"));
}

}  // namespace tektite::importer
