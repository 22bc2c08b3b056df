// Normalization by given statistics, shared by the batch norm ops and the fused ones.
#ifndef TEKTITE_CLUSTERING_IMPORTER_LAYERS_NORMALIZATION_H_
#define TEKTITE_CLUSTERING_IMPORTER_LAYERS_NORMALIZATION_H_

#include <cstdint>
#include <vector>

#include "clustering/importer/node_import.h"

namespace tektite::importer {

// The dimensions below `rank`, without `feature`.
std::vector<int64_t> AllBut(int rank, int feature);

// A vector along dimension `feature` of a tensor with these dimensions.
Value AlongFeature(FuncBuilder& b, Value vector, const Dims& dims, int feature);
// A scalar, or a vector along dimension `axis`, for each element.
Value Spread(FuncBuilder& b, Value v, const Dims& dims, int axis);

struct NormVectors {
  Value scale, offset, mean, variance;
};
// (x - mean) * (rsqrt(variance + epsilon) * scale) + offset, in TensorFlow's order.
Value Normalize(FuncBuilder& b, Value x, const NormVectors& v, double epsilon, int feature);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_LAYERS_NORMALIZATION_H_
