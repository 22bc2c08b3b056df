// A rough cost of running a node, in scalar operations: enough to tell a cluster that is worth
// compiling from one that is not.
//
//   CostModel cost(index);
//   cost.Of(node)  // elements x operations for each, plus what the host spends on launching it
//
// Shapes come from the graph where it tells (_output_shapes, constants, placeholders, variables'
// handles) and are carried on through ops that keep or broadcast them. Where they do not tell, an
// unknown dimension counts as 32, a tensor of unknown rank as 1024 elements. A loop counts as 32
// turns of its body, a branch as the dearest of its functions.
//
// Cost is what the host's kernel spends. For rows of variables (OpFacts::Work::kRows) that is a row
// after the other for each variable, without vectors: [64,64] took 15 us (adds) to 30 (Ftrl), where
// compiled code took 2 to 7. Rows that are only replaced are copied as fast by the host.
//
// Dimensions that the graph leaves open may be anything in any call, so work on such tensors counts
// as worth compiling: on a few elements a cluster's code costs up to 3 us more than its ops (two of
// them 9 us instead of 7.5), and where it loses on many the host runs them.
#ifndef TEKTITE_CLUSTERING_COST_H_
#define TEKTITE_CLUSTERING_COST_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "clustering/graph_def/function_graphs.h"
#include "clustering/graph_def/graph_index.h"

namespace tektite::clustering {

// Whether compiled code for this op beats the host's kernel even where there is nothing to fuse it
// with, given enough work.
bool GainsAlone(const graph_def::GraphIndex& index, int node);

// The first of a node's shapes under `attr`, such as "_output_shapes"; null: it has none.
const graph_def::PartialShape* FirstShape(const graph_def::NodeDef& node, absl::string_view attr);

class CostModel {
 public:
  explicit CostModel(const graph_def::GraphIndex& index);

  int64_t Of(int node) const { return cost_[node]; }
  // The shape of the node's first output, as far as it is known.
  const graph_def::PartialShape& Shape(int node) const { return shape_[node]; }

 private:
  using Shapes = std::vector<graph_def::PartialShape>;

  // Of a function's body, `depth` functions deep, whose arguments have these shapes.
  CostModel(const graph_def::GraphIndex& index, Shapes arguments,
            std::shared_ptr<graph_def::FunctionGraphs> functions, int depth);
  void Infer();
  int64_t CostOfFunctions(int node);
  int64_t CostOfRows(int node) const;

  graph_def::PartialShape InferShape(int node) const;
  bool InferOpen(int node) const;
  bool ReadsOpen(int node) const;
  int64_t InferCost(int node);
  const graph_def::PartialShape& InputShape(int node, int input) const;

  const graph_def::GraphIndex& index_;
  const Shapes arguments_;
  std::shared_ptr<graph_def::FunctionGraphs> functions_;  // made when the first is asked for
  const int depth_ = 0;
  Shapes shape_;
  std::vector<bool> is_open_;  // has a dimension that the graph leaves open
  std::vector<int64_t> cost_;
};

}  // namespace tektite::clustering

#endif  // TEKTITE_CLUSTERING_COST_H_
