// Can the functions that a loop, a branch or a call for XLA runs be compiled whole?
//
// A While, an If or a call is compiled with its functions or not at all, so each of their nodes has
// to be one that could be in a cluster: the same table, types and annotations (compilability.h).
// Beyond that a body may not
// - assign to variables in a loop's condition,
// - compute a result whose rows values decide on (row_counts.h),
// - run on another device than the loop,
// - need a value that no call knows. Arguments that the caller knows and that a loop hands from
//   turn to turn are known.
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
#include "clustering/importer/control/list_lengths.h"

namespace tektite::clustering {

// The first data input that is an argument of the functions that a node runs: that of a branch
// chooses one of them.
int FirstArgument(const graph_def::NodeDef& node);

class FunctionBodies {
 public:
  static constexpr int kMostDepth = 16;
  // Whether the value of a data input is known when code is made.
  using Knows = std::function<bool(int input)>;

  FunctionBodies(const graph_def::GraphIndex& index, const MarkOptions& options);

  // Of a node whose op runs functions.
  Refusal Check(int node, const Knows& knows);

 private:
  // A node's place, as the bodies around it determine it.
  struct Place {
    absl::string_view device;  // that of the node that is asked about
    int depth = 0;
    bool in_xla_body = false;
    bool in_condition = false;  // a loop's
  };

  Refusal CheckNode(const graph_def::GraphIndex& index, int node, Place place, const Knows& knows);
  Refusal CheckBody(const graph_def::FunctionRef& function, const std::vector<bool>& known,
                    const Place& place);

  const graph_def::GraphIndex& index_;
  MarkOptions options_;
  graph_def::FunctionGraphs graphs_;
  importer::ListLengths lengths_;
};

}  // namespace tektite::clustering

#endif  // TEKTITE_CLUSTERING_FUNCTION_BODIES_H_
