#include "jit/ir/symbols.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "jit/ir/dim_expr.h"

namespace tektite::ir {
namespace {

class Collector {
 public:
  void Visit(const Graph& graph) {
    for (const Node* p : graph.parameters()) Visit(*p);
    for (const auto& node : graph.nodes()) {
      if (node->op() != Op::kParameter) Visit(*node);
    }
    for (const Guard& guard : graph.guards()) {
      Visit(guard.lhs);
      Visit(guard.rhs);
    }
  }
  std::vector<std::string> Take() { return std::move(order_); }

 private:
  void Visit(const Node& node) {
    for (const Shape& shape : node.shapes()) Visit(shape.dims());
    for (const auto& [attr, value] : node.attrs().values()) {
      if (const Dims* dims = std::get_if<Dims>(&value)) Visit(*dims);
    }
    for (int r = 0; r < node.num_regions(); ++r) Visit(node.region(r));
  }
  void Visit(const Dims& dims) {
    for (const Dim& d : dims) Visit(d);
  }
  void Visit(const Dim& d) {
    const DimExpr* expr = DimExpr::Of(d);
    if (expr == nullptr) return;
    for (const DimTerm& term : expr->terms) {
      for (const auto& atom : term.atoms) {
        if (atom->function != 0) {
          Visit(atom->a);
          Visit(atom->b);
        } else if (seen_.insert(atom->text).second) {
          order_.push_back(atom->text);
        }
      }
    }
  }

  std::set<std::string> seen_;
  std::vector<std::string> order_;
};

}  // namespace

std::vector<std::string> SymbolsOf(const Graph& graph) {
  Collector collector;
  collector.Visit(graph);
  return collector.Take();
}

std::unique_ptr<Graph> WithCanonicalSymbols(const Graph& graph) {
  const std::vector<std::string> symbols = SymbolsOf(graph);
  if (symbols.empty()) return nullptr;
  SymbolMap names;
  for (size_t i = 0; i < symbols.size(); ++i) {
    names.emplace(symbols[i], Dim::Symbol(absl::StrCat("s", i)));
  }
  std::unique_ptr<Graph> renamed = graph.Clone();
  renamed->Substitute(names);
  return renamed;
}

bool HasSymbols(const Node& node) {
  auto symbolic = [](const Dims& dims) {
    return std::any_of(dims.begin(), dims.end(), [](const Dim& d) { return !d.is_constant(); });
  };
  for (const Shape& shape : node.shapes()) {
    if (symbolic(shape.dims())) return true;
  }
  for (const auto& [attr, value] : node.attrs().values()) {
    const Dims* dims = std::get_if<Dims>(&value);
    if (dims != nullptr && symbolic(*dims)) return true;
  }
  for (int i = 0; i < node.num_regions(); ++i) {
    if (HasSymbols(node.region(i))) return true;
  }
  return false;
}

bool HasSymbols(const Graph& graph) {
  for (const Guard& g : graph.guards()) {
    if (!g.lhs.is_constant() || !g.rhs.is_constant()) return true;
  }
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const auto& node) { return HasSymbols(*node); });
}

}  // namespace tektite::ir
