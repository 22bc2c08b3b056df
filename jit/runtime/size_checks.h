// The conditions that a symbolic graph's sizes must meet so that its code may run on them.
//
//   std::vector<SizeCheck> checks = CollectSizeChecks(graph, &program);
//   if (const SizeCheck* failed = FirstFailed(checks, table)) ...   // failed->text: "n == m"
//
// Code for all sizes relies on the graph's guards (two sizes taken to be equal), on sizes that are
// not negative (a window that is larger than its image), and on slices, like the k of a top_k, that
// lie within their operands.  Provable conditions are left out; every other one is a comparison,
// made once for a set of sizes and before anything of the host's is written.  The program also
// learns the number of elements of every value, so that it tells where 64 bits do not hold them.
//
// A while's attribute `sizes` has sizes that are positive where its body runs, such as the length
// of the sequence that it walks along.  Slices in the body may rely on them, so that a sequence of
// length 0 is no reason to refuse a call.
#ifndef TEKTITE_JIT_RUNTIME_SIZE_CHECKS_H_
#define TEKTITE_JIT_RUNTIME_SIZE_CHECKS_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "jit/ir/dim_program.h"
#include "jit/ir/graph.h"

namespace tektite::runtime {

// table[low] <= table[high], or ==.
struct SizeCheck {
  bool equal = false;
  int low = 0, high = 0;
  std::string text;
};

std::vector<SizeCheck> CollectSizeChecks(const ir::Graph& graph, ir::DimProgram* program);

// Null when all hold.
const SizeCheck* FirstFailed(const std::vector<SizeCheck>& checks, absl::Span<const int64_t> table);

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_SIZE_CHECKS_H_
