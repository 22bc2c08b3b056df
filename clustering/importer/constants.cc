// Constants, and ops that hand their inputs on.
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "clustering/graph_def/tensor.h"
#include "clustering/importer/import_table.h"

namespace tektite::importer {
namespace {

// Shares the proto's memory when it is aligned for the elements, so that weights exist once.
Literal LiteralOf(DType dtype, graph_def::TensorValue tensor) {
  std::vector<int64_t> sizes(tensor.dims.begin(), tensor.dims.end());
  auto owner = std::make_shared<const graph_def::TensorValue>(std::move(tensor));
  const char* data = owner->bytes.view().data();
  if (reinterpret_cast<uintptr_t>(data) % ir::DTypeBytes(dtype) != 0) {
    return Literal::CopyOf(dtype, sizes, data);
  }
  return Literal(dtype, sizes, std::shared_ptr<const void>(owner, data));
}

// The parts of n complex numbers, one behind the other.
template <typename T>
std::vector<Literal> PartsOf(DType dtype, const graph_def::TensorValue& tensor) {
  const std::vector<int64_t> sizes(tensor.dims.begin(), tensor.dims.end());
  std::vector<Literal> parts;
  for (const int part : {0, 1}) {
    parts.push_back(Literal::Allocate(dtype, sizes));
    T* const to = parts.back().mutable_data<T>();
    const char* const from = tensor.bytes.view().data() + part * sizeof(T);
    for (int64_t i = 0; i < parts.back().num_elements(); ++i) {
      std::memcpy(to + i, from + 2 * i * sizeof(T), sizeof(T));
    }
  }
  return parts;
}

absl::Status ImportComplexConst(NodeImport& op, const graph_def::TensorProto& proto) {
  absl::StatusOr<graph_def::TensorValue> tensor = graph_def::MaterializeTensor(proto);
  if (!tensor.ok()) return op.Refuse(tensor.status().message());
  const std::vector<Literal> parts = proto.dtype == graph_def::DataType::kComplex64
                                         ? PartsOf<float>(DType::kF32, *tensor)
                                         : PartsOf<double>(DType::kF64, *tensor);
  return op.ReturnComplex(op.b().Constant(parts[0]), op.b().Constant(parts[1]));
}

}  // namespace

absl::Status ImportConst(NodeImport& op) {
  const graph_def::AttrValue* attr = op.attrs().Find("value");
  const auto* proto = attr == nullptr ? nullptr : attr->As<graph_def::TensorProto>();
  if (proto == nullptr) return op.Refuse("no value");
  if (graph_def::PartType(proto->dtype)) return ImportComplexConst(op, *proto);
  std::optional<DType> dtype = graph_def::DTypeOf(proto->dtype);
  if (!dtype) {
    TensorInfo info;
    info.unusable = absl::StrCat("is of type ", graph_def::DataTypeName(proto->dtype));
    op.results().push_back(std::move(info));
    return absl::OkStatus();
  }
  absl::StatusOr<graph_def::TensorValue> tensor = graph_def::MaterializeTensor(*proto);
  if (!tensor.ok()) return op.Refuse(tensor.status().message());
  return op.ReturnLiteral(LiteralOf(*dtype, *std::move(tensor)));
}

absl::Status ImportIdentity(NodeImport& op) {
  return op.num_inputs() == 0 ? op.Refuse("no input") : op.Forward(0);
}

absl::Status ImportIdentityN(NodeImport& op) {
  for (int i = 0; i < op.num_inputs(); ++i) TEKTITE_RETURN_IF_ERROR(op.Forward(i));
  return absl::OkStatus();
}

}  // namespace tektite::importer
