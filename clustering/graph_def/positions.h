// Places that only values tell, of sizes that are known all the same.
//
//   x[i:i + 3]                 StridedSlice(x, Pack(i), Pack(Add(i, 3)))     a size of 3
//   tf.slice(x, [0, i], [4, 1])
//   tf.pad(x, [[i, 7 - i]])                                                  7 more
//
// Ops that take, put or pad at such a place are compiled, since the difference of two inputs, or
// their sum, says how large the result is. Each element of these inputs is looked at as a sum
//
//   known + factor * unknown + ...          2 * i + 3    ==>    3 + 2 * (node i, element 0)
//
// and what is unknown must cancel out. The importer does the same with the values of the IR
// (importer/positions.h) and knows more: the ranks, and which sizes are equal.
//
// Limits: sums, differences, products with constants, and what puts vectors together or takes them
// apart; anything else is an unknown of its own.
#ifndef TEKTITE_CLUSTERING_GRAPH_DEF_POSITIONS_H_
#define TEKTITE_CLUSTERING_GRAPH_DEF_POSITIONS_H_

#include <cstdint>
#include <functional>
#include <utility>

#include "clustering/graph_def/graph_index.h"

namespace tektite::graph_def {

class Positions {
 public:
  // Whether `to` is told the value that `from` has when code is made, or has `from` beside it in
  // its cluster.
  using Relation = std::function<bool(int from, int to)>;

  // `for_xla`: in the body of a function with jit_compile=True. XLA has no code for the others, or
  // code that takes the whole dimension and remembers a size.
  Positions(const GraphIndex& index, Relation knows, Relation together, bool for_xla = false)
      : index_(index),
        knows_(std::move(knows)),
        together_(std::move(together)),
        for_xla_(for_xla) {}

  // Whether code can be made though the value of this input is not known. `node`'s op has the trait
  // kTakesPositions.
  bool MayBeData(int node, int input) const;

 private:
  const GraphIndex& index_;
  Relation knows_, together_;
  bool for_xla_;
};

}  // namespace tektite::graph_def

#endif  // TEKTITE_CLUSTERING_GRAPH_DEF_POSITIONS_H_
