// XLA's own ops that move data: padding, slices and updates at computed places, gather and scatter
// with dimension numbers.  Places out of range are clamped, or left out by a scatter, and are no
// errors.
#include "clustering/importer/import_table.h"
#include "clustering/importer/xla/xla_functions.h"

namespace tektite::importer {
namespace {

using ir::Attr;

// The elements of an integer vector, which must have one for each dimension of `x`.
absl::StatusOr<std::vector<Value>> Starts(NodeImport& op, int input, Value x) {
  FuncBuilder& b = op.b();
  const int rank = x.shape().rank();
  if (op.InputDims(input) != Dims{Dim(rank)}) return op.Refuse("as many places as dimensions");
  const Value places = op.Input(input);
  std::vector<Value> starts;
  for (int i = 0; places && i < rank; ++i) {
    starts.push_back(b.Reshape(b.SliceDim(places, 0, Dim(i), Dim(i + 1)), {}));
  }
  return starts;
}

// Windows inside of windows have no dimensions in the IR.
absl::Status RefuseBatches(const NodeImport& op, const graph_def::IntegerFields& fields) {
  if (AllOf(fields, 5).empty() && AllOf(fields, 6).empty()) return absl::OkStatus();
  return op.Refuse("batching dimensions");
}

}  // namespace

absl::Status ImportXlaPad(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> low, op.RequireInts(2));
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> high, op.RequireInts(3));
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> interior, op.RequireInts(4));
  const size_t rank = static_cast<size_t>(op.InputRank(0));
  if (low.size() != rank || high.size() != rank || interior.size() != rank) {
    return op.Refuse("a padding for each dimension");
  }
  const Value x = op.Input(0), value = op.Input(1);
  if (!x || !value) return op.Return(Value());
  return op.Return(op.b().Pad(x, value, std::move(low), std::move(high), std::move(interior)));
}

absl::Status ImportXlaDynamicSlice(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const Dims sizes, op.RequireContents(2));
  const Value x = op.Input(0);
  if (!x) return op.Return(x);
  TEKTITE_ASSIGN_OR_RETURN(const std::vector<Value> starts, Starts(op, 1, x));
  if (starts.empty()) return op.Return(x);
  return op.Return(op.b().DynamicSlice(x, starts, sizes));
}

absl::Status ImportXlaDynamicUpdateSlice(NodeImport& op) {
  const Value x = op.Input(0), update = op.Input(1);
  if (!x || !update) return op.Return(Value());
  if (update.shape().rank() != x.shape().rank()) return op.Refuse("ranks");
  TEKTITE_ASSIGN_OR_RETURN(const std::vector<Value> starts, Starts(op, 2, x));
  if (starts.empty()) return op.Return(update);
  return op.Return(op.b().DynamicUpdateSlice(x, update, starts));
}

absl::Status ImportXlaGather(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const graph_def::IntegerFields fields, RequireDimensionNumbers(op));
  TEKTITE_RETURN_IF_ERROR(RefuseBatches(op, fields));
  TEKTITE_ASSIGN_OR_RETURN(const Dims sizes, op.RequireContents(2));
  const Value x = op.Input(0), indices = op.Input(1);
  if (!x || !indices) return op.Return(Value());
  return op.Return(op.b().AddOne(Op::kGather, {x, indices},
                                 {{Attr::offset_dims, AllOf(fields, 1)},
                                  {Attr::collapsed_slice_dims, AllOf(fields, 2)},
                                  {Attr::start_index_map, AllOf(fields, 3)},
                                  {Attr::index_vector_dim, OneOf(fields, 4)},
                                  {Attr::slice_sizes, sizes}}));
}

absl::Status ImportXlaScatter(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const graph_def::IntegerFields fields, RequireDimensionNumbers(op));
  TEKTITE_RETURN_IF_ERROR(RefuseBatches(op, fields));
  TEKTITE_ASSIGN_OR_RETURN(std::string reducer, RequireReducer(op, "update_computation"));
  const Value x = op.Input(0), indices = op.Input(1), updates = op.Input(2);
  if (!x || !indices || !updates) return op.Return(Value());
  return op.Return(op.b().AddOne(Op::kScatter, {x, indices, updates},
                                 {{Attr::offset_dims, AllOf(fields, 1)},
                                  {Attr::collapsed_slice_dims, AllOf(fields, 2)},
                                  {Attr::scatter_dims_to_operand_dims, AllOf(fields, 3)},
                                  {Attr::index_vector_dim, OneOf(fields, 4)},
                                  {Attr::reducer, std::move(reducer)}}));
}

// The operand of lower rank with dimensions of size 1, so that both can be broadcast as NumPy does.
// Its dimension i is broadcast_dims[i] of the other's.
absl::Status ImportXlaBroadcastHelper(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const std::vector<int64_t> places, op.RequireInts(2));
  Value operands[] = {op.Input(0), op.Input(1)};
  if (!operands[0] || !operands[1]) return op.Return(Value());
  Value& lower = operands[operands[0].shape().rank() <= operands[1].shape().rank() ? 0 : 1];
  const Value& higher = operands[&lower == operands ? 1 : 0];
  const int rank = higher.shape().rank(), lower_rank = lower.shape().rank();
  if (!places.empty() && lower_rank < rank) {
    if (static_cast<int>(places.size()) != lower_rank) return op.Refuse("broadcast_dims");
    Dims dims(rank, Dim(1));
    int64_t last = -1;
    for (int i = 0; i < lower_rank; ++i) {
      if (places[i] <= last || places[i] >= rank) return op.Refuse("broadcast_dims");
      last = places[i];
      dims[last] = lower.shape().dim(i);
    }
    lower = op.b().Reshape(lower, dims);
  } else if (lower_rank != rank && lower_rank != 0) {
    return op.Refuse("ranks ", lower_rank, " and ", rank, " without broadcast_dims");
  }
  return op.Return(operands);
}

}  // namespace tektite::importer
