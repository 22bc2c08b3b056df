// From text and symbols to a graph that Compile takes.
//
//   TEKTITE_ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph, ParseGraph(text));
//   TEKTITE_RETURN_IF_ERROR(Specialize(*graph, {Shape(DType::kF32, {8, 128})}));
#ifndef TEKTITE_JIT_COMPILER_SPECIALIZE_H_
#define TEKTITE_JIT_COMPILER_SPECIALIZE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "jit/ir/graph.h"

namespace tektite::compiler {

// Every graph of the text, parsed and verified.
absl::StatusOr<std::vector<std::unique_ptr<ir::Graph>>> ParseGraphs(absl::string_view text);
// The first.
absl::StatusOr<std::unique_ptr<ir::Graph>> ParseGraph(absl::string_view text);

// Replaces the symbols of the graph's parameters by the sizes of `shapes`, one for each parameter.
// InvalidArgument when a shape does not fit its parameter; Unimplemented when a guard does not
// hold. `shapes` may hold symbols of the caller's; guards are then left to the runtime.
absl::Status Specialize(ir::Graph& graph, absl::Span<const ir::Shape> shapes);

// Replaces a symbol by what a guard says it is equal to, a constant or another symbol, where that
// is so for `sizes` (the values of symbols in the call at hand), and drops guards that are then
// sure. Two arguments' batch sizes become one symbol, and expressions of them simplify. So does a
// function of sizes that a guard says is a symbol, as min(n, 64) == n; that guard stays.
void UnifySymbols(ir::Graph& graph, std::map<std::string, int64_t>* sizes);

// "n0=8,n1=128"; InvalidArgument for text that cannot be read.
absl::StatusOr<std::map<std::string, int64_t>> ParseSizes(absl::string_view text);
// Of all symbols of the graph: those of `given`, and what the compiler assumes for the others.
std::map<std::string, int64_t> TypicalSizes(const ir::Graph& graph,
                                            const std::map<std::string, int64_t>& given);

// Every guard holds; Unimplemented names the first that does not, or that is still symbolic.
absl::Status CheckGuards(const ir::Graph& graph);

}  // namespace tektite::compiler

#endif  // TEKTITE_JIT_COMPILER_SPECIALIZE_H_
