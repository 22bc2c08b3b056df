// What TensorFlow's optimizer puts behind a contraction: bias, batch norm, activation.
#ifndef TEKTITE_CLUSTERING_IMPORTER_LAYERS_FUSED_OPS_H_
#define TEKTITE_CLUSTERING_IMPORTER_LAYERS_FUSED_OPS_H_

#include "clustering/importer/node_import.h"

namespace tektite::importer {

// Applies the node's fused_ops to y in order; their operands are the inputs from `next_input` on.
// `feature` is the dimension of y that biases and statistics belong to.
absl::StatusOr<Value> ApplyFusedOps(NodeImport& op, Value y, int feature, int next_input);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_LAYERS_FUSED_OPS_H_
