// The interpreter's results, computed once for all targets of a case.
//
//   auto want = EvaluateOnce(graph, inputs);
//
// Why: it evaluates every case of the suite at seven sets of sizes, for each of six targets, and
// some take it a second.
//
// Limits: results are kept until the next case asks, so targets of a case share them in one
// process, one after the other.  Not thread-safe.
#ifndef TEKTITE_TESTS_CONFORMANCE_ORACLE_H_
#define TEKTITE_TESTS_CONFORMANCE_ORACLE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "jit/ir/graph.h"

namespace tektite::testing {

absl::StatusOr<std::vector<ir::Literal>> EvaluateOnce(const ir::Graph& graph,
                                                      const std::vector<ir::Literal>& inputs);

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_CONFORMANCE_ORACLE_H_
