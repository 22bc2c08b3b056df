// Lists of tensors of which only values tell how long they are, before anything is imported.
//
//   tokens = tf.TensorArray(tf.int64, 1, dynamic_size=True)
//   for t in tf.range(50):
//     tokens = tokens.write(t, next)
//     if tf.reduce_all(done): break
//   tokens.stack()                    // ListLengths(library).MakesRows(index, stack): true
//
// Without the `break` the number of turns tells the length.  The tensor of all elements has then a
// size that is known, and else as many rows as a value says (row_counts.h).
//
// Limits: a loop's number of turns counts as known where its condition only compares counters with
// values that no turn changes.  The importer knows better, and refuses what was overlooked here.
#ifndef TEKTITE_CLUSTERING_IMPORTER_CONTROL_LIST_LENGTHS_H_
#define TEKTITE_CLUSTERING_IMPORTER_CONTROL_LIST_LENGTHS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "clustering/graph_def/function_graphs.h"
#include "clustering/graph_def/graph_index.h"

namespace tektite::importer {

class ListLengths {
 public:
  // Borrows the graph for its functions.
  explicit ListLengths(const graph_def::GraphDef& library) : graphs_(library) {}

  // Whether the node makes one tensor of all elements of such a list.  In a function's body also
  // where the list is as long as the turns before have made it.
  bool MakesRows(const graph_def::GraphIndex& index, int node, bool in_body);

  // Whether turns write to places behind a list's end, and nothing bounds the number of turns: no
  // room is enough.
  bool GrowsWithoutBound(const graph_def::GraphIndex& index, int loop);

  // Inputs of a loop in which a list grows that its condition compares counters with.
  std::vector<int> BoundsOfGrowth(const graph_def::GraphIndex& index, int loop);

 private:
  // Of a list's length: no loop changes it; each turn does so by the same number; values tell.
  enum class Length { kFixed, kGrows, kValue };

  struct Place {
    bool in_body = false;
    int depth = 0;
    Place Deeper() const { return {in_body, depth + 1}; }
    Place Inside() const { return {true, depth + 1}; }
  };
  using Edge = graph_def::GraphIndex::Edge;

  Length Of(const graph_def::GraphIndex& index, Edge list, Place place);
  Length OfLoop(const graph_def::GraphIndex& index, Edge list, Place place);
  Length OfBranches(const graph_def::GraphIndex& index, Edge list, Place place);
  Length OfResult(const graph_def::GraphIndex& body, int result, Place inside);
  const graph_def::GraphIndex* Get(const graph_def::FunctionRef& function);
  const graph_def::GraphIndex* Get(const graph_def::NodeDef& node, absl::string_view attr);
  // The arguments with which a loop's condition compares counters; false: it asks for more.
  bool Bounds(const graph_def::NodeDef& loop, std::vector<int>* bounds);

  graph_def::FunctionGraphs graphs_;
  absl::flat_hash_map<std::string, std::unique_ptr<graph_def::GraphIndex>> indices_;
};

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_CONTROL_LIST_LENGTHS_H_
