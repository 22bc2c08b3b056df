#include "jit/compiler/specialize.h"

#include <utility>

#include "jit/base/status.h"
#include "jit/ops/ops.h"

namespace tektite::compiler {
namespace {

using ir::Dim;
using ir::Graph;
using ir::Shape;

// Binds the dimensions of `declared` that are plain symbols.
void BindSymbols(const Shape& declared, const Shape& actual, ir::SymbolMap* symbols) {
  for (int i = 0; i < declared.rank(); ++i) {
    std::set<std::string> names;
    declared.dim(i).CollectSymbols(&names);
    if (names.size() == 1 && declared.dim(i) == Dim::Symbol(*names.begin())) {
      symbols->emplace(*names.begin(), actual.dim(i));
    }
  }
}

}  // namespace

absl::StatusOr<std::vector<std::unique_ptr<Graph>>> ParseGraphs(absl::string_view text) {
  TEKTITE_ASSIGN_OR_RETURN(auto graphs, ir::ParseAll(text));
  if (graphs.empty()) return InvalidArgument("the text holds no graph");
  for (const auto& graph : graphs) TEKTITE_RETURN_IF_ERROR(ops::VerifyGraph(*graph));
  return graphs;
}

absl::StatusOr<std::unique_ptr<Graph>> ParseGraph(absl::string_view text) {
  TEKTITE_ASSIGN_OR_RETURN(auto graphs, ParseGraphs(text));
  return std::move(graphs.front());
}

absl::Status Specialize(Graph& graph, absl::Span<const Shape> shapes) {
  if (static_cast<int>(shapes.size()) != graph.num_parameters()) {
    return InvalidArgument("graph '", graph.name(), "': expected ", graph.num_parameters(),
                           " arguments, got ", shapes.size());
  }
  ir::SymbolMap symbols;
  auto mismatch = [&](int i) {
    return InvalidArgument("graph '", graph.name(), "': argument ", i, " is ", shapes[i].ToString(),
                           ", expected ", graph.parameter(i)->shape().ToString());
  };
  for (int i = 0; i < graph.num_parameters(); ++i) {
    const Shape& declared = graph.parameter(i)->shape();
    if (declared.dtype() != shapes[i].dtype() || declared.rank() != shapes[i].rank()) {
      return mismatch(i);
    }
    BindSymbols(declared, shapes[i], &symbols);
  }
  for (int i = 0; i < graph.num_parameters(); ++i) {
    if (graph.parameter(i)->shape().Substitute(symbols) != shapes[i]) return mismatch(i);
  }
  graph.Substitute(symbols);
  return CheckGuards(graph);
}

absl::Status CheckGuards(const Graph& graph) {
  for (const ir::Guard& guard : graph.guards()) {
    if (guard.lhs != guard.rhs) {
      return Unimplemented("graph '", graph.name(), "': the code would need ", guard.lhs.ToString(),
                           " == ", guard.rhs.ToString());
    }
  }
  return absl::OkStatus();
}

}  // namespace tektite::compiler
