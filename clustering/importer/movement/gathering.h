// Indexed reads and writes shared by the ops on tensors, on variables and on segments.
//
// TensorFlow's CPU kernels raise an error for an index out of range, where the IR clamps; so every
// read whose indices are not known to be good adds a check (importer.h).
#ifndef TEKTITE_CLUSTERING_IMPORTER_MOVEMENT_GATHERING_H_
#define TEKTITE_CLUSTERING_IMPORTER_MOVEMENT_GATHERING_H_

#include "clustering/importer/node_import.h"

namespace tektite::importer {

bool ProvablyEmpty(const Dims& dims);

// Checks that every index i of an input has 0 <= i < limit.
absl::Status CheckRange(NodeImport& op, int input, Value indices, const Dim& limit);
// The same for points of `depth` coordinates, along the last dimension, in the first of a tensor's
// dims.  A point in a tensor without elements is TensorFlow's error wherever it lies.
absl::Status CheckPoints(NodeImport& op, Value indices, const Dims& dims, int depth);

// [i...] -> [i..., batch_dims + 1]: the numbers of the batch dimensions before the index itself.
Value WithBatchNumbers(FuncBuilder& b, Value indices, int batch_dims);

// Rows of the operand's first `depth` dimensions, at the points in `indices`, are added to (or
// replaced by, ...) the updates.
Value ScatterRows(FuncBuilder& b, Value operand, Value indices, Value updates, int depth,
                  int index_vector_dim, absl::string_view reducer);

// How an op whose name ends in Add, Sub, Max, Min, Mul or Update takes in its updates: by a scatter
// with that reducer, negated where it subtracts.
struct RowReducer {
  absl::string_view reducer;
  bool negates = false;
};
RowReducer RowReducerOf(absl::string_view op);

// The operand's elements or rows at points are added to (or replaced by, ...) the updates.
// indices: [i..., depth], updates: [i..., the operand's dimensions from depth on].
absl::StatusOr<Value> ScatterPoints(NodeImport& op, Value operand, Value indices, Value updates,
                                    absl::string_view reducer);

// x with one number in the rows that do not count: those from `rows` on.
Value WithNumberBehind(FuncBuilder& b, Value x, Value rows, double number);

// Slices of x of size 1 in the dimensions `indexed`, at the points whose coordinates lie along
// dimension `index_vector_dim` of indices (or its rank, for one coordinate); `offsets` is where x's
// other dimensions stand in the result.
Value Gather(FuncBuilder& b, Value x, Value indices, const std::vector<int64_t>& indexed,
             const std::vector<int64_t>& offsets, int index_vector_dim);

// params[b..., p..., indices[b..., i...], q...] -> [b..., p..., i..., q...]: rows of dimension
// `axis`; the first `batch_dims` dimensions of both go together.
absl::Status GatherRows(NodeImport& op, Value params, int indices_input, int axis, int batch_dims);

// params[indices[i..., :], ...]: the last dimension of indices is a point in params' first ones.
absl::Status GatherPoints(NodeImport& op, Value params, int indices_input);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_MOVEMENT_GATHERING_H_
