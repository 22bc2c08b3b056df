// Special functions of double-precision values, for those that are made of them.
#ifndef TEKTITE_CLUSTERING_IMPORTER_SPECIAL_FUNCTIONS_H_
#define TEKTITE_CLUSTERING_IMPORTER_SPECIAL_FUNCTIONS_H_

#include <utility>

#include "clustering/importer/node_import.h"

namespace tektite::importer {

// The logarithm of the gamma function's size.
Value LogGamma(FuncBuilder& b, Value x);
// Its derivative.
Value Digamma(FuncBuilder& b, Value x);

// Both inputs of a node as f64, of the shape that they are broadcast to.
absl::StatusOr<std::pair<Value, Value>> BroadcastDoubles(NodeImport& op);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_SPECIAL_FUNCTIONS_H_
