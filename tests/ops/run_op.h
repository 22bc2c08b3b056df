// One op on values written as text, for tests of what ops mean.
//
//   RunOp("add", {"f32[2]{1, 2}", "f32[2]{3, nan}"})  ->  "f32[2]{4, nan}"
//
// The op is built through FuncBuilder and evaluated by the reference interpreter; several results
// are separated by a space, NaN loses its payload, and an error returns its message.
#ifndef TEKTITE_TESTS_OPS_RUN_OP_H_
#define TEKTITE_TESTS_OPS_RUN_OP_H_

#include <memory>
#include <string>
#include <vector>

#include "jit/ir/graph.h"

namespace tektite::testing {

// `attrs` is what stands between the braces, `regions` the text of the node's regions.
std::string RunOp(absl::string_view op, const std::vector<std::string>& operands,
                  absl::string_view attrs = "", absl::string_view regions = "");

// The result types of an op on parameters of these types, "f32[n,2] s32[]", or the error.
std::string InferTypes(absl::string_view op, const std::vector<std::string>& operand_types,
                       absl::string_view attrs = "", absl::string_view regions = "");

std::string ToText(const ir::Literal& literal);
std::string ToText(const std::vector<ir::Literal>& literals);

// Parses, or fails the test and returns an empty graph.
std::unique_ptr<ir::Graph> ParseOrDie(absl::string_view text);

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_OPS_RUN_OP_H_
