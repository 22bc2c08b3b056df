// Shapes that ops of this family share with shape arithmetic (contents.cc).
#ifndef TEKTITE_CLUSTERING_IMPORTER_MOVEMENT_MOVEMENT_H_
#define TEKTITE_CLUSTERING_IMPORTER_MOVEMENT_MOVEMENT_H_

#include <cstdint>
#include <vector>

#include "clustering/importer/node_import.h"

namespace tektite::importer {

// The result's dimensions of Reshape (with its -1 solved), Squeeze and ExpandDims.
absl::StatusOr<Dims> ReshapeDims(NodeImport& op);
absl::StatusOr<Dims> SqueezeDims(const NodeImport& op);
absl::StatusOr<Dims> ExpandedDims(const NodeImport& op);

// The order of dimensions that input 1 is for input 0, each of them once.
absl::StatusOr<std::vector<int64_t>> RequirePermutation(const NodeImport& op);

// Product of the dimensions [begin, end).
Dim ProductOf(const Dims& dims, int begin, int end);

// The lowest or highest number of a type that is not infinite, a scalar.
Value LastFinite(FuncBuilder& b, DType dtype, bool lowest);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_MOVEMENT_MOVEMENT_H_
