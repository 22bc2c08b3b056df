// Special functions of double-precision values, for those that are made of them, and their
// vocabulary.
#ifndef TEKTITE_CLUSTERING_IMPORTER_MATH_SPECIAL_FUNCTIONS_H_
#define TEKTITE_CLUSTERING_IMPORTER_MATH_SPECIAL_FUNCTIONS_H_

#include <limits>
#include <utility>

#include "clustering/importer/node_import.h"

namespace tektite::importer {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// A number at each place of x, and a comparison with it.
inline Value Like(FuncBuilder& b, Value x, double value) { return b.FullLike(x, value); }
inline Value Is(FuncBuilder& b, Value x, absl::string_view direction, double value) {
  return b.Compare(x, Like(b, x, value), direction);
}

// The logarithm of the gamma function's size.
Value LogGamma(FuncBuilder& b, Value x);
// Its derivative.
Value Digamma(FuncBuilder& b, Value x);

// Both inputs of a node as f64, of the shape that they are broadcast to.
absl::StatusOr<std::pair<Value, Value>> BroadcastDoubles(NodeImport& op);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_MATH_SPECIAL_FUNCTIONS_H_
