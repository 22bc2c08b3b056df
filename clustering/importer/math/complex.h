// Complex tensors: pairs of real IR values, a real and an imaginary part (docs/design/complex.md).
//
//   infos[i] = SplitParts(parameter, &b);   // f32[n,2] -> two of f32[n]
//   Value result = JoinParts(op);           // and back, of input 0
//
// Everything between an argument and a result is built of real ops, which fuse like all others.
#ifndef TEKTITE_CLUSTERING_IMPORTER_MATH_COMPLEX_H_
#define TEKTITE_CLUSTERING_IMPORTER_MATH_COMPLEX_H_

#include <vector>

#include "clustering/importer/node_import.h"

namespace tektite::importer {

struct Parts {
  Value re, im;
};

// Whether the node's types or its operands are complex.
bool IsComplex(const graph_def::NodeDef& node, const std::vector<TensorInfo*>& inputs);

// Of a tensor whose last dimension holds the two parts of a number.
TensorInfo SplitParts(Value both, FuncBuilder* b);
Value JoinParts(NodeImport& op);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_MATH_COMPLEX_H_
