// What a marking adds to the statistics: ops in and outside of clusters, the reasons of those
// outside, and what a turn of each of the host's loops calls.
//
//   CountMarking(graph, marking, /*loops_alone=*/false, state);
#ifndef TEKTITE_CLUSTERING_SOURCE_COUNT_MARKING_H_
#define TEKTITE_CLUSTERING_SOURCE_COUNT_MARKING_H_

#include "clustering/graph_def/reader.h"
#include "clustering/mark_clusters.h"
#include "jit/serving/compiler_state.h"

namespace tektite::clustering {

// `marking` must be of `graph`.  With `loops_alone` only the reasons of loops and branches that are
// left out: the graph will be marked again when these have been taken apart, and then they are not
// there.
void CountMarking(const graph_def::GraphDef& graph, const Marking& marking, bool loops_alone,
                  serving::CompilerState& state);

}  // namespace tektite::clustering

#endif  // TEKTITE_CLUSTERING_SOURCE_COUNT_MARKING_H_
