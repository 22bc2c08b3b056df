// Ops with special values, or accuracy at their edges, that are XLA's own.
//
// Why: a function with jit_compile=True keeps XLA's answers (importer/xla_values.h).  Where the
// importer has TensorFlow's formula and XLA another, and neither is worth a second formula, a
// function that holds the op stays XLA's.
//
//   if (options.in_xla_body && DiffersInXla(node)) return Reason::kMUST_COMPILE;
//
// docs/numbers.md has the table.
#ifndef TEKTITE_CLUSTERING_XLA_DIFFERENCES_H_
#define TEKTITE_CLUSTERING_XLA_DIFFERENCES_H_

#include "clustering/graph_def/graph_def.h"

namespace tektite::clustering {

bool DiffersInXla(const graph_def::NodeDef& node);

}  // namespace tektite::clustering

#endif  // TEKTITE_CLUSTERING_XLA_DIFFERENCES_H_
