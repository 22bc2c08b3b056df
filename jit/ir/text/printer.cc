// The text form of graphs; graph.h shows it, parser.cc reads it.
//
//   graph @name(%x: f32[n,768], %1: f32[768,2] {weight = true}) -> (f32[n,2]) {
//     guard n == m
//     %2: f32[n,2] = dot_general(%x, %1) {lhs_contracting = [1], rhs_contracting = [0]}
//     "dense/MatMul" %3:2 : (f32[n,1], s32[n,1]) = top_k(%2) {k = 1} %4: f32[n,1] = call(%3#0)
//       graph @body(%0: f32[n,1]) -> (f32[n,1]) {
//         return %0
//       }
//     return %4
//   }
//
// A node's number is its place among the graph's nodes, parameters first; a node with other than
// one result shows their count, and its results are %3#0, %3#1.  A parameter is printed by its name
// where that is an identifier of its own, otherwise by its number, with the name as a string at its
// end.  Attribute values: true, 3, "text", [1, 2] for integers, (n, 2) for dimensions, f32 for
// element types, row for kinds of fusions, f32[2]{1, 2} for literals.
#include <string>
#include <type_traits>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/ir/graph.h"

namespace tektite::ir {
namespace {

bool IsIdentifier(absl::string_view name) {
  if (name.empty() || !(absl::ascii_isalpha(name[0]) || name[0] == '_')) return false;
  for (char c : name) {
    if (!absl::ascii_isalnum(c) && c != '_' && c != '.') return false;
  }
  return true;
}

std::string Quoted(absl::string_view text) { return absl::StrCat("\"", absl::CEscape(text), "\""); }

std::string AttrValueText(const AttrValue& value, bool canonical) {
  return std::visit(
      [&](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, bool>) {
          return v ? "true" : "false";
        } else if constexpr (std::is_same_v<T, int64_t>) {
          return absl::StrCat(v);
        } else if constexpr (std::is_same_v<T, std::string>) {
          return Quoted(v);
        } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
          return absl::StrCat("[", absl::StrJoin(v, ", "), "]");
        } else if constexpr (std::is_same_v<T, Dims>) {
          return absl::StrCat("(",
                              absl::StrJoin(v, ", ",
                                            [](std::string* out, const Dim& d) {
                                              absl::StrAppend(out, d.ToString());
                                            }),
                              ")");
        } else if constexpr (std::is_same_v<T, DType>) {
          return std::string(DTypeName(v));
        } else if constexpr (std::is_same_v<T, FusionKind>) {
          return std::string(FusionKindName(v));
        } else {
          return canonical ? v.ToShortString() : v.ToString();
        }
      },
      value);
}

// One graph; regions get a printer of their own, since names are local to a graph.
class Printer {
 public:
  Printer(const Graph& graph, bool canonical, int indent, std::string* out)
      : graph_(graph), canonical_(canonical), indent_(indent), out_(*out) {
    absl::flat_hash_set<absl::string_view> taken;
    for (const Node* p : graph.parameters()) {
      bool named = !canonical && IsIdentifier(p->name()) && taken.insert(p->name()).second;
      names_[p] = named ? p->name() : absl::StrCat(names_.size());
    }
    for (const auto& node : graph.nodes()) {
      if (node->op() != Op::kParameter) names_[node.get()] = absl::StrCat(names_.size());
    }
  }

  void PrintGraph() {
    Indent(0);
    absl::StrAppend(&out_, "graph ");
    if (!canonical_) absl::StrAppend(&out_, "@", GraphName());
    absl::StrAppend(&out_, "(");
    for (int i = 0; i < graph_.num_parameters(); ++i) {
      if (i > 0) absl::StrAppend(&out_, ", ");
      PrintParameter(*graph_.parameter(i));
    }
    absl::StrAppend(&out_, ") -> (",
                    absl::StrJoin(graph_.outputs(), ", ",
                                  [](std::string* out, const Value& v) {
                                    absl::StrAppend(out, v.shape().ToString());
                                  }),
                    ") {\n");
    for (const Guard& guard : graph_.guards()) {
      Indent(1);
      absl::StrAppend(&out_, "guard ", guard.lhs.ToString(), " == ", guard.rhs.ToString(), "\n");
    }
    for (const auto& node : graph_.nodes()) {
      if (node->op() == Op::kParameter) continue;
      Indent(1);
      PrintLine(*node);
      absl::StrAppend(&out_, "\n");
      for (int i = 0; i < node->num_regions(); ++i) {
        Printer(node->region(i), canonical_, indent_ + 2, &out_).PrintGraph();
      }
    }
    Indent(1);
    absl::StrAppend(&out_, "return", graph_.outputs().empty() ? "" : " ");
    PrintValues(graph_.outputs());
    absl::StrAppend(&out_, "\n");
    Indent(0);
    absl::StrAppend(&out_, "}\n");
  }

  void PrintLine(const Node& node) {
    absl::StrAppend(&out_, "%", names_[&node]);
    if (node.num_results() == 1) {
      absl::StrAppend(&out_, ": ", node.shape().ToString());
    } else {
      absl::StrAppend(&out_, ":", node.num_results(), " : (",
                      absl::StrJoin(node.shapes(), ", ",
                                    [](std::string* out, const Shape& s) {
                                      absl::StrAppend(out, s.ToString());
                                    }),
                      ")");
    }
    absl::StrAppend(&out_, " = ", OpName(node.op()), "(");
    PrintValues(node.operands());
    absl::StrAppend(&out_, ")");
    PrintAttributes(node);
    if (!canonical_ && !node.name().empty()) absl::StrAppend(&out_, " ", Quoted(node.name()));
  }

  void PrintParameter(const Node& p) {
    absl::StrAppend(&out_, "%", names_[&p], ": ", p.shape().ToString());
    PrintAttributes(p);
    if (!canonical_ && !p.name().empty() && names_[&p] != p.name()) {
      absl::StrAppend(&out_, " ", Quoted(p.name()));
    }
  }

 private:
  void Indent(int extra) { out_.append(2 * (indent_ + extra), ' '); }

  std::string GraphName() const {
    return IsIdentifier(graph_.name()) ? graph_.name() : Quoted(graph_.name());
  }

  void PrintValues(absl::Span<const Value> values) {
    for (size_t i = 0; i < values.size(); ++i) {
      absl::StrAppend(&out_, i > 0 ? ", %" : "%", names_[values[i].node]);
      if (values[i].node->num_results() != 1) absl::StrAppend(&out_, "#", values[i].index);
    }
  }

  // A parameter's index is its place in the list, and so is not printed.
  void PrintAttributes(const Node& node) {
    const char* joint = " {";
    for (const auto& [attr, value] : node.attrs().values()) {
      if (node.op() == Op::kParameter && attr == Attr::index) continue;
      absl::StrAppend(&out_, joint, AttrName(attr), " = ", AttrValueText(value, canonical_));
      joint = ", ";
    }
    if (*joint == ',') absl::StrAppend(&out_, "}");
  }

  const Graph& graph_;
  const bool canonical_;
  const int indent_;
  std::string& out_;
  absl::flat_hash_map<const Node*, std::string> names_;
};

}  // namespace

std::string Print(const Graph& graph) {
  std::string text;
  Printer(graph, /*canonical=*/false, /*indent=*/0, &text).PrintGraph();
  return text;
}

std::string PrintCanonical(const Graph& graph) {
  std::string text;
  Printer(graph, /*canonical=*/true, /*indent=*/0, &text).PrintGraph();
  return text;
}

}  // namespace tektite::ir
