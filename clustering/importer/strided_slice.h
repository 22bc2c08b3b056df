// What a StridedSlice takes: Python's x[begin:end:stride, ..., None, 3] in numbers.
#ifndef TEKTITE_CLUSTERING_IMPORTER_STRIDED_SLICE_H_
#define TEKTITE_CLUSTERING_IMPORTER_STRIDED_SLICE_H_

#include <vector>

#include "clustering/importer/node_import.h"

namespace tektite::importer {

struct StridedSliceSpec {
  // One of each per dimension of the sliced tensor.
  Dims begins;                   // the first index taken
  Dims sizes;                    // how many are taken
  std::vector<int64_t> strides;  // not 0; negative ones go backwards from begin
  // The result: dimensions indexed by a number left out, new ones of size 1 put in.
  Dims result_dims;
};

// begin, end and strides are inputs `first` to `first` + 2; the masks are attributes of the node.
// Indices that depend on sizes are taken to count from the front: a guard says so.
absl::StatusOr<StridedSliceSpec> ResolveStridedSlice(NodeImport& op, const Dims& dims, int first);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_STRIDED_SLICE_H_
