// A cluster's IR from the GraphDef that a host hands over.
//
//   TEKTITE_ASSIGN_OR_RETURN(std::unique_ptr<serving::GraphSource> source, GraphDefSource(bytes));
//
// Limits: InvalidArgument for bytes that are no closed GraphDef.
#ifndef TEKTITE_CLUSTERING_SOURCE_GRAPH_DEF_SOURCE_H_
#define TEKTITE_CLUSTERING_SOURCE_GRAPH_DEF_SOURCE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "jit/serving/graph_source.h"

namespace tektite::clustering {

// `bytes` is the closed GraphDef of tektite_cluster_create.
absl::StatusOr<std::unique_ptr<serving::GraphSource>> GraphDefSource(absl::string_view bytes);

}  // namespace tektite::clustering

#endif  // TEKTITE_CLUSTERING_SOURCE_GRAPH_DEF_SOURCE_H_
