// Variables: a resource argument stands for the variable's content.
#include "clustering/importer/gathering.h"
#include "clustering/importer/import_table.h"

namespace tektite::importer {

absl::Status ImportReadVariable(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Value content, op.Variable(0));
  TEKTITE_ASSIGN_OR_RETURN(DType dtype, op.Type("dtype", content.dtype()));
  if (dtype != content.dtype()) {
    return op.Refuse("reads ", ir::DTypeName(dtype), " from ", content.shape().ToString());
  }
  return op.Return(content);
}

absl::Status ImportResourceGather(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Value content, op.Variable(0));
  int batch_dims = static_cast<int>(op.attrs().Int("batch_dims", 0));
  return GatherRows(op, content, 1, batch_dims, batch_dims);
}

absl::Status ImportResourceGatherNd(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Value content, op.Variable(0));
  return GatherPoints(op, content, 1);
}

}  // namespace tektite::importer
