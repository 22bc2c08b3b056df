// The element type of a node's output, from its attributes.
//
//   OutputType(node, 0)  // DataType::kInvalid when the attributes do not tell
//
// Without TensorFlow there are no op definitions to ask, so this knows how ops name their types:
// exceptions by op, then lists of types (Tout, output_types), then the usual single names (T,
// dtype).
#ifndef TEKTITE_CLUSTERING_GRAPH_DEF_OUTPUT_TYPE_H_
#define TEKTITE_CLUSTERING_GRAPH_DEF_OUTPUT_TYPE_H_

#include "clustering/graph_def/graph_def.h"

namespace tektite::graph_def {

DataType OutputType(const NodeDef& node, int output);

}  // namespace tektite::graph_def

#endif  // TEKTITE_CLUSTERING_GRAPH_DEF_OUTPUT_TYPE_H_
