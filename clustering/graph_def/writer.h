// Writes a GraphDef as serialized bytes.
//
//   std::string bytes = WriteGraphDef(graph);
//
// ReadGraphDef(WriteGraphDef(g)) equals g, and TensorFlow reads the bytes. Equal graphs have equal
// bytes (attributes are sorted by name).
#ifndef TEKTITE_CLUSTERING_GRAPH_DEF_WRITER_H_
#define TEKTITE_CLUSTERING_GRAPH_DEF_WRITER_H_

#include <string>

#include "clustering/graph_def/graph_def.h"

namespace tektite::graph_def {

std::string WriteGraphDef(const GraphDef& graph);

// The bytes of one message of a graph.
std::string SerializeShape(const PartialShape& shape);
std::string SerializeAttrValue(const AttrValue& value);
std::string SerializeNode(const NodeDef& node);

}  // namespace tektite::graph_def

#endif  // TEKTITE_CLUSTERING_GRAPH_DEF_WRITER_H_
