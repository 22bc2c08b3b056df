// Values that are known when code is made: constants, and arithmetic on shapes.
//
// Some inputs (axes, shapes, permutations; import_list.inc names them) must be known to make code.
// They are when they come from constants, or when they are computed from shapes (Shape,
// StridedSlice, Pack, Mul, ...): the importer follows such arithmetic symbolically. Everything on
// the way has to be in the same cluster, since what enters a cluster from outside is known by shape
// only.
//
//   CompileTime values(index, [&](int from, int to) { return cluster[from] == cluster[to]; });
//   int input = values.UnknownInput(node);  // the first whose value is needed and unknown, or -1
//
// In the body of a function some arguments may be known as well: `given`.
//
// The length with which a list of tensors begins may also come from outside, or from arithmetic on
// scalars that do: code is made for that value, and for all values as soon as two calls differ.
#ifndef TEKTITE_CLUSTERING_COMPILE_TIME_H_
#define TEKTITE_CLUSTERING_COMPILE_TIME_H_

#include <functional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "clustering/graph_def/graph_index.h"

namespace tektite::clustering {

class CompileTime {
 public:
  // Whether `from` is inside the cluster of its user `to`. Not asked about constants: each cluster
  // has its own copies of those.
  using Together = std::function<bool(int from, int to)>;

  using Given = absl::flat_hash_set<int>;  // nodes

  // `for_xla`: in the body of a function with jit_compile=True (graph_def/positions.h).
  CompileTime(const graph_def::GraphIndex& index, const Together& together, const Given& given = {},
              bool for_xla = false);

  int UnknownInput(int node) const { return unknown_input_[node]; }
  // Whether the node's results are known.
  bool Knows(int node) const { return known_[node]; }

 private:
  std::vector<bool> known_;
  std::vector<int> unknown_input_;
};

}  // namespace tektite::clustering

#endif  // TEKTITE_CLUSTERING_COMPILE_TIME_H_
