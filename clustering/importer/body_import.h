// The import of one graph's nodes, be it the cluster itself or the body of a function.
//
//   TEKTITE_ASSIGN_OR_RETURN(const GraphIndex* body, scope.functions.Get(function));
//   TEKTITE_RETURN_IF_ERROR(CheckBody(*body));
//   TEKTITE_ASSIGN_OR_RETURN(std::vector<TensorInfo> results, ImportBody(*body, &args, scope));
//
// The graph is closed: _Arg i is args[i], _Retval i is result i.  An error names the node, and a
// function's nodes have its name in front (graph_def/function_graphs.h).
#ifndef TEKTITE_CLUSTERING_IMPORTER_BODY_IMPORT_H_
#define TEKTITE_CLUSTERING_IMPORTER_BODY_IMPORT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "clustering/graph_def/function_graphs.h"
#include "clustering/graph_def/graph_index.h"
#include "clustering/importer/node_import.h"

namespace tektite::importer {

// The functions that a graph's nodes run, each closed and indexed once.
class FunctionLibrary {
 public:
  explicit FunctionLibrary(const graph_def::GraphDef& graph) : graphs_(graph) {}

  // The index lives as long as this.
  absl::StatusOr<const graph_def::GraphIndex*> Get(const graph_def::FunctionRef& function);
  // Counts the nodes of bodies that are imported, which loops in loops multiply; an error when they
  // are too many.
  absl::Status Spend(int nodes);

 private:
  static constexpr int64_t kMostNodes = 1 << 18;

  graph_def::FunctionGraphs graphs_;
  absl::flat_hash_map<std::string, std::unique_ptr<graph_def::GraphIndex>> indices_;
  int64_t nodes_ = 0;
};

// A function's nodes all run with it, also those that no result needs: each must be of an op that
// can be imported.
absl::Status CheckBody(const graph_def::GraphIndex& body);

// The results by number.  Afterwards `args` has what variables contain in the end.
absl::StatusOr<std::vector<TensorInfo>> ImportBody(const graph_def::GraphIndex& body,
                                                   std::vector<TensorInfo>* args,
                                                   const Scope& scope);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_BODY_IMPORT_H_
