// Indexed reads shared by the ops on tensors and those on variables.
//
// TensorFlow's CPU kernels raise an error for an index out of range, where the IR clamps; so every
// read whose indices are not known to be good adds a check (importer.h).
#ifndef TEKTITE_CLUSTERING_IMPORTER_GATHERING_H_
#define TEKTITE_CLUSTERING_IMPORTER_GATHERING_H_

#include "clustering/importer/node_import.h"

namespace tektite::importer {

// x with zeros in the rows that do not count: those from `rows` on.
Value WithZerosBehind(FuncBuilder& b, Value x, Value rows);

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

#endif  // TEKTITE_CLUSTERING_IMPORTER_GATHERING_H_
