// The bodies of functions, as closed graphs.
//
// In a function's definition an input names an output argument ("split:output:1") and calls hide
// other bodies.  A closed graph has neither: its arguments are _Arg nodes, its results _Retval
// nodes, and calls are taken apart (inline_functions.h).
//
// Example(const GraphDef& graph, const FunctionRef& body) -> absl::Status:
//   #include "jit/base/status.h"
//   FunctionGraphs functions(graph);
//   TEKTITE_ASSIGN_OR_RETURN(const GraphDef* closed, functions.Get(body));
//   closed->nodes[0].op;   // "_Arg"; the function's node `mul` is called "<function's name>/mul"
//
// Each body is made once for a name. Limits: a function is asked for with the same attributes each
// time; functional If and While stay, and their functions are in the library of the graph that was
// given, not in the closed one's.
#ifndef TEKTITE_CLUSTERING_GRAPH_DEF_FUNCTION_GRAPHS_H_
#define TEKTITE_CLUSTERING_GRAPH_DEF_FUNCTION_GRAPHS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "clustering/graph_def/graph_def.h"

namespace tektite::graph_def {

// Those that a node's attributes name, by attribute: "body" and "cond", or "branches".
std::vector<FunctionRef> FunctionsOf(const NodeDef& node);

// The functions of the library that these nodes run or call, and those that these need, by name.
std::vector<FunctionDef> ReachableFunctions(absl::Span<const NodeDef> nodes,
                                            const GraphDef& library);

class FunctionGraphs {
 public:
  // Borrows the graph for its functions.
  explicit FunctionGraphs(const GraphDef& graph);

  // NotFound where the library has no such function, InvalidArgument where its results or inputs
  // name nothing, Unimplemented where it is too large (InlineLimits). The graph lives as long as
  // this.
  absl::StatusOr<const GraphDef*> Get(const FunctionRef& function);

 private:
  absl::StatusOr<GraphDef> Close(const FunctionRef& function);

  absl::flat_hash_map<absl::string_view, const FunctionDef*> functions_;
  absl::flat_hash_map<std::string, absl::StatusOr<std::unique_ptr<GraphDef>>> graphs_;
  const GraphDef& library_;
};

}  // namespace tektite::graph_def

#endif  // TEKTITE_CLUSTERING_GRAPH_DEF_FUNCTION_GRAPHS_H_
