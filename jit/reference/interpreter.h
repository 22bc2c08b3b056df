// The meaning of a graph, computed node by node: the oracle of every test.
//
//   TEKTITE_ASSIGN_OR_RETURN(std::vector<Literal> results, reference::Evaluate(graph, {x, y}));
//
// Clear and exact rather than fast: elementwise functions of f16, bf16 and f32 are computed in
// double and rounded once (the 16-bit types by way of f32, as hardware does); sums and products
// over many elements are accumulated in double; integers wrap around, x / 0 is -1 and x rem 0 is x;
// shifts by the width or more return 0 (arithmetic right shift: the sign); max and min return NaN
// if either operand is NaN, but under a window, where NaN does not count.  A float that an integer
// has no room for, and NaN, becomes what x86 makes of it: the least s32 or s64; 8 and 16 bits are
// limited to their range by way of s32, u32 is the lower half of an s64, u64 the bits of one where
// it is below 2^63.
//
// Limits: no value may exceed 8 GiB, and a symbol must stand alone in some parameter's shape ("n",
// not only "2*n") to get its value.
#ifndef TEKTITE_JIT_REFERENCE_INTERPRETER_H_
#define TEKTITE_JIT_REFERENCE_INTERPRETER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jit/ir/graph.h"

namespace tektite::reference {

// The graph's outputs.  Symbols get their values from the arguments' sizes; arguments that do not
// fit the parameters, a guard that does not hold and an ill-formed graph are InvalidArgument.
absl::StatusOr<std::vector<ir::Literal>> Evaluate(const ir::Graph& graph,
                                                  absl::Span<const ir::Literal> args);

}  // namespace tektite::reference

#endif  // TEKTITE_JIT_REFERENCE_INTERPRETER_H_
