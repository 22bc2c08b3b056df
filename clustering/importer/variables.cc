// Variables: a resource argument stands for the variable's content, which an assignment replaces
// for all that is ordered behind it.
#include "clustering/importer/import_table.h"
#include "clustering/importer/movement/gathering.h"

namespace tektite::importer {

absl::Status ImportReadVariable(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Value content, op.Variable(0));
  TEKTITE_ASSIGN_OR_RETURN(DType dtype, op.Type("dtype", content.dtype()));
  if (dtype != content.dtype()) {
    return op.Refuse("reads ", ir::DTypeName(dtype), " from ", content.shape().ToString());
  }
  return op.Return(content);
}

absl::Status ImportAssign(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Value content, op.Variable(0));
  Value value = op.Input(1);
  if (!value) return op.Return(value);
  // Otherwise the host has an error to raise, or a variable to give another shape.
  if (value.shape() != content.shape()) {
    return op.Refuse("puts ", value.shape().ToString(), " into ", content.shape().ToString());
  }
  if (op.op() == "AssignAddVariableOp") value = op.b().Add(content, value);
  if (op.op() == "AssignSubVariableOp") value = op.b().Sub(content, value);
  return op.SetVariable(0, value);
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
