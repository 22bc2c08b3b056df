// Constants, and ops that hand their inputs on.
#include <cstdint>
#include <memory>

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

}  // namespace

absl::Status ImportConst(NodeImport& op) {
  const graph_def::AttrValue* attr = op.attrs().Find("value");
  const auto* proto = attr == nullptr ? nullptr : attr->As<graph_def::TensorProto>();
  if (proto == nullptr) return op.Refuse("no value");
  std::optional<DType> dtype = ir::DTypeFromTensorFlow(static_cast<int>(proto->dtype));
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
