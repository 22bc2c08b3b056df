// Reads serialized GraphDef bytes.
//
//   ASSIGN_OR_RETURN(GraphDef graph, ReadGraphDef(bytes));
//
// Any bytes are safe: the answer is a graph or an error. Unknown fields are skipped; nesting is
// limited; no size that the bytes merely claim is allocated. Whether names are unique and inputs
// exist is not checked here (see GraphIndex).
#ifndef TEKTITE_CLUSTERING_GRAPH_DEF_READER_H_
#define TEKTITE_CLUSTERING_GRAPH_DEF_READER_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clustering/graph_def/graph_def.h"

namespace tektite::graph_def {

enum class TensorStorage {
  kCopy,   // tensors own their bytes
  kBorrow  // tensors point into the caller's bytes, which must outlive the graph
};

absl::StatusOr<GraphDef> ReadGraphDef(absl::string_view bytes,
                                      TensorStorage storage = TensorStorage::kCopy);

}  // namespace tektite::graph_def

#endif  // TEKTITE_CLUSTERING_GRAPH_DEF_READER_H_
