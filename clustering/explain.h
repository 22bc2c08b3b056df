// The report behind `tektite explain`: the clusters of a model that would be compiled, and why the
// rest would not.
//
//   TEKTITE_ASSIGN_OR_RETURN(Explanation e, Explain(model_bytes, MarkOptions()));
//   std::string text = RenderText(e);
//
// A model is the bytes of a GraphDef (binary or text form) or of a saved_model.pb. Calls of
// functions are taken apart first, so that the report is about the ops a session would run.
// Constants, identities, placeholders and the like are in the graph but do not count as ops.
#ifndef TEKTITE_CLUSTERING_EXPLAIN_H_
#define TEKTITE_CLUSTERING_EXPLAIN_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clustering/mark_clusters.h"

namespace tektite::clustering {

// The memory that a call of a cluster needs beside its arguments and results, at `sizes` for the
// sizes that the graph leaves open.
struct CallMemory {
  int64_t arena_bytes = 0;     // for values between kernels
  int64_t max_live_bytes = 0;  // of it alive at once: no arena can be smaller
  std::map<std::string, int64_t> sizes;
  std::string refused;  // why it is not known
  std::string kernels;  // lines about each: the implementations that there are, and the one taken
};

// A loop or a branch that is in no cluster: what would be compiled of a turn, or of a branch.
struct RunInParts {
  int node = -1;
  std::string function;  // that it runs
  int64_t ops = 0;
  int64_t clustered = 0;
  int clusters = 0;
};

struct Explanation {
  graph_def::GraphDef graph;
  Marking marking;
  std::vector<RunInParts> in_parts;
  std::vector<CallMemory> memory;  // by cluster, or empty: not asked for
};

// `model`'s bytes must outlive the explanation, whose graph points into them.
absl::StatusOr<Explanation> Explain(absl::string_view model, const MarkOptions& options);

// A table for people: clusters with their ops and shapes, then the ops that are left out by reason.
std::string RenderText(const Explanation& explanation);
// {"ops": n, "clustered": n, "clusters": [{"name": s, "ops": n, "memory": {...}}],
//  "left_out": [{"node": s, "op": s, "reason": s, "detail": s}],
//  "in_parts": [{"node": s, "function": s, "ops": n, "clustered": n, "clusters": n}]}; "memory",
// where it was asked for, is {"arena_bytes": n, "max_live_bytes": n, "sizes": {"n0": n}} or
// {"refused": s}.
std::string RenderJson(const Explanation& explanation);
// A Graphviz graph: a box per cluster.
std::string RenderDot(const Explanation& explanation);

}  // namespace tektite::clustering

#endif  // TEKTITE_CLUSTERING_EXPLAIN_H_
