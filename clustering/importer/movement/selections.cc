// Ops whose values decide how many rows a result has (row_counts.h).
#include "clustering/importer/import_table.h"
#include "clustering/importer/movement/row_counts.h"

namespace tektite::importer {

// A number is true unless it is 0; NaN is not.
absl::Status ImportWhere(NodeImport& op) {
  FuncBuilder& b = op.b();
  Value mask = op.Input(0);
  if (!mask) return op.Return(mask);
  // TensorFlow has no kernel for others either.
  if (op.InputRank(0) < 1 || op.InputRank(0) > 8) return op.Refuse("rank ", op.InputRank(0));
  if (mask.dtype() != DType::kBool) mask = b.Compare(mask, b.FullLike(mask, 0), "ne");
  const std::vector<Value> results = b.AddMulti(Op::kNonzero, {mask});
  return op.ReturnRows(results[0], results[1]);
}

// Values, numbers and, if asked for, counts.
absl::Status ImportUnique(NodeImport& op) {
  const bool along_axis = op.num_inputs() > 1 && op.InputShape(1).NumElements() != Dim(0);
  if (along_axis) {
    TEKTITE_ASSIGN_OR_RETURN(int axis, op.RequireAxis(1, op.InputRank(0)));
    if (axis != 0) return op.Refuse("unique along axis ", axis);
  } else if (op.InputRank(0) != 1) {
    return op.Refuse("unique values of rank ", op.InputRank(0));
  }
  TEKTITE_ASSIGN_OR_RETURN(DType dtype, op.Type("out_idx", DType::kS32));
  Value x = op.Input(0);
  if (!x) return op.Return(x);
  const std::vector<Value> r = op.b().AddMulti(Op::kUnique, {x}, {{ir::Attr::dtype, dtype}});
  TEKTITE_RETURN_IF_ERROR(op.ReturnRows(r[0], r[3]));
  TEKTITE_RETURN_IF_ERROR(op.Return(r[1]));
  return op.op() == "Unique" || op.op() == "UniqueV2" ? absl::OkStatus()
                                                      : op.ReturnRows(r[2], r[3]);
}

// The values of x that y does not have, and where in x they are.
absl::Status ImportListDiff(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(DType dtype, op.Type("out_idx", DType::kS32));
  Value x = op.Input(0), y = op.Input(1);
  if (!x || !y) return op.Return(Value());
  Value stays = b.Not(b.AddOne(Op::kIsMember, {x, y}));
  for (Value rows : {x, b.Iota(dtype, x.shape().dims(), 0)}) {
    const std::vector<Value> kept = b.AddMulti(Op::kCompact, {stays, rows});
    if (kept.size() != 2) return op.Return(Value());
    TEKTITE_RETURN_IF_ERROR(op.ReturnRows(kept[0], kept[1]));
  }
  return absl::OkStatus();
}

// data[p..., q...] and partitions[p...]: result i has the rows [q...] whose partition is i.
absl::Status ImportDynamicPartition(NodeImport& op) {
  FuncBuilder& b = op.b();
  const int64_t count = op.attrs().Int("num_partitions", 0);
  const int depth = op.InputRank(1);
  const Dims &dims = op.InputDims(0), &places = op.InputDims(1);
  if (count < 1 || count > kMostPartitions) return op.Refuse("num_partitions is ", count);
  if (op.InputRank(0) < depth) return op.Refuse("partitions of rank ", depth);
  for (int i = 0; i < depth; ++i) b.AssumeEqual(dims[i], places[i]);
  const Dim n = op.InputShape(1).NumElements();
  Dims rows = {n};
  rows.insert(rows.end(), dims.begin() + depth, dims.end());
  Value data = op.Input(0), partitions = op.Input(1);
  if (!data || !partitions) return op.Return(Value());
  data = b.Reshape(data, rows);
  partitions = b.Reshape(partitions, {n});
  Value below = b.Compare(partitions, b.FullLike(partitions, static_cast<double>(count)), "lt");
  op.Check(b.Binary(Op::kAnd, b.Compare(partitions, b.FullLike(partitions, 0), "ge"), below));
  for (int64_t i = 0; i < count; ++i) {
    Value mask = b.Compare(partitions, b.FullLike(partitions, static_cast<double>(i)), "eq");
    const std::vector<Value> part = b.AddMulti(Op::kCompact, {mask, data});
    TEKTITE_RETURN_IF_ERROR(op.ReturnRows(part[0], part[1]));
  }
  return absl::OkStatus();
}

}  // namespace tektite::importer
