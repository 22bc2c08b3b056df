// A GraphDef with its names resolved: who feeds whom, and an order to walk it.
//
//   TEKTITE_ASSIGN_OR_RETURN(GraphIndex index, GraphIndex::Create(graph));
//   for (int node : index.order()) {
//     for (const GraphIndex::Edge& in : index.inputs(node)) ... graph.nodes[in.node] ...
//   }
//
// Create refuses what no correct graph has: a name twice, an input of a node that is not there, a
// cycle other than a loop's (NextIteration -> Merge). The order is topological but for those back
// edges, and follows the graph's own order where it can. Nodes that enter a loop come before nodes
// that leave it, since values may take some turns from one to the other. The index borrows the
// graph.
#ifndef TEKTITE_CLUSTERING_GRAPH_DEF_GRAPH_INDEX_H_
#define TEKTITE_CLUSTERING_GRAPH_DEF_GRAPH_INDEX_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "clustering/graph_def/graph_def.h"
#include "clustering/op_table.h"

namespace tektite::graph_def {

class GraphIndex {
 public:
  // From `node`'s output `output` (NodeInput::kControl: a control edge).
  struct Edge {
    int node = -1;
    int output = 0;
    bool is_control() const { return output == NodeInput::kControl; }
  };
  // To `node`, whose input number `input` it is; `output` as above, of the producer.
  struct Use {
    int node = -1;
    int input = 0;
    int output = 0;
  };

  static absl::StatusOr<GraphIndex> Create(const GraphDef& graph);

  const GraphDef& graph() const { return *graph_; }
  int num_nodes() const { return static_cast<int>(graph_->nodes.size()); }
  const NodeDef& node(int i) const { return graph_->nodes[i]; }
  // The facts of the node's op.
  const clustering::OpFacts& facts(int i) const { return *facts_[i]; }
  // In the order of NodeDef::inputs.
  absl::Span<const Edge> inputs(int node) const { return inputs_[node]; }
  absl::Span<const Use> uses(int node) const { return uses_[node]; }
  const std::vector<int>& order() const { return order_; }
  // The edge by which a loop goes round, which no walk of the graph follows.
  bool IsBackEdge(int from, int to) const;
  // The loop (TensorFlow: frame) that a node runs in, 0 outside of all; that of an Enter or an Exit
  // is the one it leads into or out of.
  int loop(int node) const { return loop_of_[node]; }
  // The loop that a node's results are in: another one for an Exit.
  int LoopOfResults(int node) const;
  // For an Exit the Enters of its loop, which come before it; nothing for other nodes.
  absl::Span<const int> Entries(int node) const;
  // -1 when there is none.
  int Find(absl::string_view name) const;

 private:
  absl::Status ResolveInputs();
  absl::Status Sort();
  void FindLoops();

  struct Loop {
    int around = 0;
    std::vector<int> enters, exits;
  };

  const GraphDef* graph_ = nullptr;
  absl::flat_hash_map<absl::string_view, int> by_name_;
  std::vector<const clustering::OpFacts*> facts_;
  std::vector<std::vector<Edge>> inputs_;
  std::vector<std::vector<Use>> uses_;
  std::vector<int> order_;
  std::vector<Loop> loops_ = std::vector<Loop>(1);  // the first is outside of all
  std::vector<int> loop_of_;                        // by node
};

}  // namespace tektite::graph_def

#endif  // TEKTITE_CLUSTERING_GRAPH_DEF_GRAPH_INDEX_H_
