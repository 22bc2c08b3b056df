// Can the functions that a loop or a branch runs be compiled whole?
//
// A While or an If is compiled with its functions or not at all, so each of their nodes has to be
// one that could be in a cluster: the same table, types and annotations (compilability.h). Beyond
// that a body may not
// - assign to variables, since a turn that fails could not be taken back,
// - compute a result whose rows values decide on (row_counts.h),
// - run on another device than the loop,
// - need a value that no call knows. Arguments that the caller knows and that a loop hands from
// turn
//   to turn are known.
//
// Example(const graph_def::GraphIndex& index, const MarkOptions& options, int node):
//   FunctionBodies bodies(index, options);
//   Refusal refusal = bodies.Check(node, [](int input) { return false; });
//   // {FUNCTION_BODY, "NO_IMPORTER: PrintV2 'while_body_35/print'"}
//
// Limits: functions in functions are followed kMostDepth deep.
#ifndef TEKTITE_CLUSTERING_FUNCTION_BODIES_H_
#define TEKTITE_CLUSTERING_FUNCTION_BODIES_H_

#include <functional>
#include <string>
#include <vector>

#include "clustering/compilability.h"
#include "clustering/graph_def/function_graphs.h"
#include "clustering/graph_def/graph_index.h"

namespace tektite::clustering {

class FunctionBodies {
 public:
  static constexpr int kMostDepth = 16;
  // Whether the value of a data input is known when code is made.
  using Knows = std::function<bool(int input)>;

  FunctionBodies(const graph_def::GraphIndex& index, const MarkOptions& options);

  // Of a node whose op runs functions.
  Refusal Check(int node, const Knows& knows);

 private:
  // `device`: that of the node that is asked about.
  Refusal CheckNode(const graph_def::GraphIndex& index, int node, absl::string_view device,
                    const Knows& knows, int depth);
  Refusal CheckBody(const graph_def::FunctionRef& function, const std::vector<bool>& known,
                    absl::string_view device, int depth);

  const graph_def::GraphIndex& index_;
  MarkOptions options_;
  graph_def::FunctionGraphs graphs_;
};

}  // namespace tektite::clustering

#endif  // TEKTITE_CLUSTERING_FUNCTION_BODIES_H_
