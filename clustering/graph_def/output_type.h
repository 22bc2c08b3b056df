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

// What the graph says of a closed graph's `_Arg`, or of the variable that it stands for.
struct KnownType {
  DataType type = DataType::kInvalid;
  const PartialShape* shape = nullptr;  // null: nothing; otherwise the node's
};
KnownType ArgType(const NodeDef& arg);
// The first shape of a list; null where there is none.
const PartialShape* FirstShape(const NodeDef& node, absl::string_view attr);

}  // namespace tektite::graph_def

#endif  // TEKTITE_CLUSTERING_GRAPH_DEF_OUTPUT_TYPE_H_
