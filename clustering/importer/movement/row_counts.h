// Results whose values decide how many rows they have, and who can read them in the same cluster.
//
//   MakesRowCount(index, where, 0)      // true: tf.where(mask) has as many rows as mask has trues
//   TakesRowCount(index, squeeze, 0)    // true: it keeps rows apart
//
// The importer keeps such a result in a tensor with room for as many rows as there can be, and the
// count beside it (TensorInfo::rows).  Whoever leaves rows where they are can be imported with
// that, and has a result of the same kind.  All others have to be in another cluster, where the
// size is an argument's.
//
// A gradient of some rows, as optimizers add it up, goes with them: Unique makes the rows, Shape
// and StridedSlice tell how many segments UnsortedSegmentSum has, and its sums and the unique
// indices go to an update of these rows of a variable.
#ifndef TEKTITE_CLUSTERING_IMPORTER_MOVEMENT_ROW_COUNTS_H_
#define TEKTITE_CLUSTERING_IMPORTER_MOVEMENT_ROW_COUNTS_H_

#include "clustering/graph_def/graph_index.h"

namespace tektite::importer {

// Of a DynamicPartition: each is a pass over all rows.
inline constexpr int kMostPartitions = 8;

// Whatever the node's inputs are, as long as they are not constants.
bool MakesRowCount(const graph_def::GraphIndex& index, int node, int output);

// When data input `input` is such a tensor, or the count of one: the node can be imported, and its
// results are such tensors, or that count, too.
bool TakesRowCount(const graph_def::GraphIndex& index, int node, int input);

// Whether those rows lie along the result's first dimension, as they must.
bool CountsFirstDimension(const graph_def::GraphIndex& index, int node);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_MOVEMENT_ROW_COUNTS_H_
