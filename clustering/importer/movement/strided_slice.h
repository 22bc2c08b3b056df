// What a StridedSlice takes: Python's x[begin:end:stride, ..., None, 3] in numbers.
#ifndef TEKTITE_CLUSTERING_IMPORTER_MOVEMENT_STRIDED_SLICE_H_
#define TEKTITE_CLUSTERING_IMPORTER_MOVEMENT_STRIDED_SLICE_H_

#include <vector>

#include "clustering/importer/node_import.h"

namespace tektite::importer {

// The first index taken of a dimension: a size, or a value.
struct Place {
  Dim known;
  Value data;  // s64, a scalar; null: `known` is it
};

struct StridedSliceSpec {
  // One of each per dimension of the sliced tensor.
  std::vector<Place> begins;
  Dims sizes;                    // how many are taken
  std::vector<int64_t> strides;  // not 0; negative ones go backwards from begin
  // The result: dimensions indexed by a number left out, new ones of size 1 put in.
  Dims result_dims;
};

// begin, end and strides are inputs `first` to `first` + 2; the masks are attributes of the node.
// Indices that depend on sizes are taken to count from the front: a guard says so.
//
// Indices may be data where the sizes are known all the same, by end - begin or by `given`, the
// sizes that the result has as some other tensor tells. Then a check asks whether TensorFlow, which
// wraps and clamps them, takes as much.
absl::StatusOr<StridedSliceSpec> ResolveStridedSlice(NodeImport& op, const Dims& dims, int first,
                                                     const Dims* given = nullptr);

// Whether the spec has places that are data.
bool HasData(const StridedSliceSpec& spec);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_MOVEMENT_STRIDED_SLICE_H_
