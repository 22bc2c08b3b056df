// The computation of a closed graph, as text that does not depend on names or on the order of its
// nodes.
//
//   TEKTITE_ASSIGN_OR_RETURN(CanonicalText text, WriteCanonicalText(graph));
//   FingerprintOf(text.whole)         // equal for equal graphs, whatever their nodes are called
//
// For cache keys: the same model gets other names when it is built twice in a process, or beside
// another.  Nodes are numbered as a walk from the results (_Retval, by index) and from assignments
// to variables meets them; what neither needs is left out, and so are control edges (of variables
// that are written the order of reads and writes is said), devices and attributes that are notes to
// TensorFlow (their names begin with an underscore), but for those named in canonical_text.cc.
// Tensors stand there by a fingerprint of their bytes.
//
// Functions stand there by their own texts. Limits: no loops of Switch and Merge nodes, and no
// functions that are missing; such graphs are Unimplemented or NotFound.
#ifndef TEKTITE_CLUSTERING_GRAPH_DEF_CANONICAL_TEXT_H_
#define TEKTITE_CLUSTERING_GRAPH_DEF_CANONICAL_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "clustering/graph_def/graph_def.h"

namespace tektite::graph_def {

struct CanonicalText {
  std::string ops;    // a line a node: its op, and what feeds it
  std::string whole;  // the same with attributes
};
absl::StatusOr<CanonicalText> WriteCanonicalText(const GraphDef& graph);

}  // namespace tektite::graph_def

#endif  // TEKTITE_CLUSTERING_GRAPH_DEF_CANONICAL_TEXT_H_
