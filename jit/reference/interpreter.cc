#include "jit/reference/interpreter.h"

#include <set>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "jit/ir/symbols.h"
#include "jit/ops/ops.h"
#include "jit/reference/eval.h"

namespace tektite::reference {

using ir::Dim;
using ir::Dims;
using ir::Graph;
using ir::HasSymbols;
using ir::Literal;
using ir::Node;
using ir::Op;
using ir::OpFamily;
using ir::Shape;

namespace {

constexpr int64_t kMaxBytes = int64_t{8} << 30;

absl::StatusOr<Literals> EvalNode(const EvalContext& c) {
  switch (ir::GetOpInfo(c.op()).family) {
    case OpFamily::unary:
    case OpFamily::binary:
    case OpFamily::ternary:
      return EvalElementwise(c);
    case OpFamily::convert:
      return EvalConvert(c);
    case OpFamily::movement:
      return EvalMovement(c);
    case OpFamily::indexed:
      return EvalIndexed(c);
    case OpFamily::reduction:
      return EvalReduction(c);
    case OpFamily::contraction:
      return EvalContraction(c);
    case OpFamily::order:
      return EvalOrder(c);
    case OpFamily::selection:
      return EvalSelection(c);
    case OpFamily::spectrum:
      return EvalSpectrum(c);
    case OpFamily::matrix:
      return EvalMatrix(c);
    case OpFamily::structure:
      return EvalStructure(c);
  }
  return Internal("no family");
}

absl::Status CheckSize(const Node& node) {
  for (const Shape& shape : node.shapes()) {
    int64_t bytes = ir::DTypeBytes(shape.dtype());
    for (int64_t size : shape.sizes()) {
      if (size == 0) return absl::OkStatus();
    }
    for (int64_t size : shape.sizes()) {
      if (size > kMaxBytes / bytes) {
        return absl::ResourceExhaustedError(
            absl::StrCat(node.Describe(), ": ", shape.ToString(), " exceeds 8 GiB"));
      }
      bytes *= size;
    }
  }
  return absl::OkStatus();
}

void Bind(const Dim& dim, int64_t value, ir::SymbolMap* symbols) {
  std::set<std::string> names;
  dim.CollectSymbols(&names);
  if (names.size() == 1 && dim == Dim::Symbol(*names.begin())) {
    symbols->emplace(*names.begin(), Dim(value));
  }
}

// Reads the values of symbols off the arguments' sizes, and off the elements of those arguments
// whose attribute `sizes` names them.
absl::StatusOr<ir::SymbolMap> BindSymbols(const Graph& graph, absl::Span<const Literal> args) {
  ir::SymbolMap symbols;
  for (int i = 0; i < graph.num_parameters(); ++i) {
    const Shape& shape = graph.parameter(i)->shape();
    if (shape.dtype() != args[i].dtype() || shape.rank() != args[i].rank()) {
      return InvalidArgument("parameter ", i, " is ", shape.ToString(), ", got ",
                             args[i].shape().ToString());
    }
    for (int d = 0; d < shape.rank(); ++d) Bind(shape.dim(d), args[i].sizes()[d], &symbols);
    const Dims& elements = graph.parameter(i)->attrs().GetDims(ir::Attr::sizes);
    if (static_cast<int64_t>(elements.size()) != args[i].num_elements()) continue;
    for (size_t e = 0; e < elements.size(); ++e) Bind(elements[e], args[i].AsInt(e), &symbols);
  }
  return symbols;
}

absl::Status CheckArguments(const Graph& graph, absl::Span<const Literal> args) {
  for (int i = 0; i < graph.num_parameters(); ++i) {
    if (graph.parameter(i)->shape() != args[i].shape()) {
      return InvalidArgument("parameter ", i, " is ", graph.parameter(i)->shape().ToString(),
                             ", got ", args[i].shape().ToString());
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Literals> EvaluateStatic(const Graph& graph, absl::Span<const Literal> args) {
  absl::flat_hash_map<const Node*, Literals> values;
  absl::flat_hash_map<const Node*, int64_t> waiting;  // uses to come; outputs never run out
  for (ir::Value v : graph.outputs()) waiting[v.node] = 1;
  for (int i = 0; i < graph.num_parameters(); ++i) values[graph.parameter(i)] = {args[i]};
  for (const auto& owned : graph.nodes()) {
    const Node& node = *owned;
    for (int i = 0; i < node.num_results(); ++i) waiting[&node] += node.uses(i).size();
    if (node.op() == Op::kParameter) continue;
    TEKTITE_RETURN_IF_ERROR(CheckSize(node));
    Literals operands;
    for (ir::Value v : node.operands()) operands.push_back(values[v.node][v.index]);
    TEKTITE_ASSIGN_OR_RETURN(Literals results, EvalNode({node, operands}));
    values[&node] = std::move(results);
    for (ir::Value v : node.operands()) {
      if (--waiting[v.node] == 0) values.erase(v.node);
    }
  }
  Literals outputs;
  for (ir::Value v : graph.outputs()) outputs.push_back(values[v.node][v.index]);
  return outputs;
}

absl::StatusOr<Literals> Evaluate(const Graph& graph, absl::Span<const Literal> args) {
  if (static_cast<int>(args.size()) != graph.num_parameters()) {
    return InvalidArgument("graph '", graph.name(), "' takes ", graph.num_parameters(),
                           " values, got ", args.size());
  }
  std::unique_ptr<Graph> substituted;
  const Graph* run = &graph;
  if (HasSymbols(graph)) {
    TEKTITE_ASSIGN_OR_RETURN(ir::SymbolMap symbols, BindSymbols(graph, args));
    substituted = graph.Clone();
    substituted->Substitute(symbols);
    run = substituted.get();
  }
  TEKTITE_RETURN_IF_ERROR(CheckArguments(*run, args));
  for (size_t i = 0; i < run->guards().size(); ++i) {
    const ir::Guard &guard = run->guards()[i], &written = graph.guards()[i];
    if (guard.lhs != guard.rhs) {
      return InvalidArgument("guard ", written.lhs.ToString(), " == ", written.rhs.ToString(),
                             " does not hold: ", guard.lhs.ToString(), " and ",
                             guard.rhs.ToString());
    }
  }
  if (HasSymbols(*run)) {
    return InvalidArgument("graph '", graph.name(),
                           "' has a symbol that no parameter's size determines");
  }
  TEKTITE_RETURN_IF_ERROR(ops::VerifyGraph(*run));
  return EvaluateStatic(*run, args);
}

}  // namespace tektite::reference
