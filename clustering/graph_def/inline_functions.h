// Puts the bodies of called functions in place of the calls.
//
//   InlineFunctions(ops, InlineLimits(), &graph);
//
// before:  node { name: "call" op: "PartitionedCall" input: "x" attr f = "double" }
// after:   node { name: "call/add" op: "AddV2" input: "x" input: "x" }
//
// Taken apart are PartitionedCall, StatefulPartitionedCall, and nodes whose op is a function's
// name. A user of the call's result reads the node that computes it; a node that waited for the
// call waits for a NoOp under the call's name, which waits for the function's own control outputs.
// A call stays where its function is missing, does not fit, or the limits are reached. Functional
// If and While stay.
#ifndef TEKTITE_CLUSTERING_GRAPH_DEF_INLINE_FUNCTIONS_H_
#define TEKTITE_CLUSTERING_GRAPH_DEF_INLINE_FUNCTIONS_H_

#include "absl/types/span.h"
#include "clustering/graph_def/graph_def.h"

namespace tektite::graph_def {

struct InlineLimits {
  int depth = 32;             // calls within calls
  int64_t nodes = 200000;     // of the whole graph
  int64_t bytes = 1LL << 30;  // of the bodies put in, as serialized
  bool xla_calls = true;      // whether calls with _XlaMustCompile are taken apart, too
};

// `ops` defines ops (see OpOutputs); may be empty. Returns the number of calls taken apart.
int InlineFunctions(absl::Span<const OpDef> ops, const InlineLimits& limits, GraphDef* graph);

}  // namespace tektite::graph_def

#endif  // TEKTITE_CLUSTERING_GRAPH_DEF_INLINE_FUNCTIONS_H_
