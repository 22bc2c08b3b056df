#include "jit/compiler/specialize.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "jit/base/status.h"
#include "jit/ir/symbols.h"
#include "jit/ops/ops.h"
#include "jit/runtime/step_graph.h"

namespace tektite::compiler {
namespace {

using ir::Dim;
using ir::Graph;
using ir::Shape;

bool IsSymbol(const Dim& d) {
  std::set<std::string> names;
  d.CollectSymbols(&names);
  return names.size() == 1 && d == Dim::Symbol(*names.begin());
}

// Binds the dimensions of `declared` that are plain symbols.
void BindSymbols(const Shape& declared, const Shape& actual, ir::SymbolMap* symbols) {
  for (int i = 0; i < declared.rank(); ++i) {
    if (IsSymbol(declared.dim(i))) symbols->emplace(declared.dim(i).ToString(), actual.dim(i));
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
  return ir::HasSymbols(graph) ? absl::OkStatus() : CheckGuards(graph);
}

void UnifySymbols(Graph& graph, std::map<std::string, int64_t>* sizes) {
  auto value_of = [&](const Dim& d) {
    ir::SymbolMap values;
    for (const auto& [symbol, size] : *sizes) values.emplace(symbol, size);
    return d.Substitute(values);
  };
  std::vector<ir::Guard> kept;
  for (bool again = true; again;) {
    again = false;
    for (const ir::Guard& guard : graph.guards()) {
      Dim from = guard.lhs, to = guard.rhs;
      const bool prefer_other =
          IsSymbol(from) ? (IsSymbol(to) ? to < from : ir::IsAtom(to)) : !ir::IsAtom(from);
      if (prefer_other) std::swap(from, to);
      if (!ir::IsAtom(from) || (!to.is_constant() && !IsSymbol(to)) || from == to) continue;
      if (value_of(from) != value_of(to)) continue;
      const ir::SymbolMap replacement = {{from.ToString(), to}};
      graph.Substitute(replacement);
      if (IsSymbol(from)) {
        for (ir::Guard& k : kept) {
          k = {k.lhs.Substitute(replacement), k.rhs.Substitute(replacement)};
        }
        sizes->erase(from.ToString());
      } else {
        kept.push_back({from, to});
      }
      again = true;
      break;
    }
  }
  auto& guards = graph.guards();
  guards.erase(std::remove_if(guards.begin(), guards.end(),
                              [](const ir::Guard& g) { return g.lhs == g.rhs; }),
               guards.end());
  guards.insert(guards.end(), kept.begin(), kept.end());
}

absl::StatusOr<std::map<std::string, int64_t>> ParseSizes(absl::string_view text) {
  std::map<std::string, int64_t> sizes;
  for (absl::string_view part : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    const std::pair<absl::string_view, absl::string_view> size =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    int64_t value = 0;
    if (size.first.empty() || !absl::SimpleAtoi(size.second, &value) || value < 0) {
      return InvalidArgument("not a size: '", part, "'; write NAME=NUMBER, such as n0=8");
    }
    sizes[std::string(size.first)] = value;
  }
  return sizes;
}

std::map<std::string, int64_t> TypicalSizes(const Graph& graph,
                                            const std::map<std::string, int64_t>& given) {
  std::map<std::string, int64_t> sizes;
  for (const std::string& symbol : ir::SymbolsOf(graph)) {
    const auto it = given.find(symbol);
    sizes[symbol] = it == given.end() ? runtime::StepGraph::kAssumedSize : it->second;
  }
  return sizes;
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
