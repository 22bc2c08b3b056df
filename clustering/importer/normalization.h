// Normalization by given statistics, shared by the batch norm ops and the fused ones.
#ifndef TEKTITE_CLUSTERING_IMPORTER_NORMALIZATION_H_
#define TEKTITE_CLUSTERING_IMPORTER_NORMALIZATION_H_

#include "clustering/importer/node_import.h"

namespace tektite::importer {

// A vector along dimension `feature` of a tensor with these dimensions.
Value AlongFeature(FuncBuilder& b, Value vector, const Dims& dims, int feature);

struct NormVectors {
  Value scale, offset, mean, variance;
};
// (x - mean) * (rsqrt(variance + epsilon) * scale) + offset, in TensorFlow's order.
Value Normalize(FuncBuilder& b, Value x, const NormVectors& v, double epsilon, int feature);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_NORMALIZATION_H_
