// Reads the text form that printer.cc writes; `//` starts a comment.
//
// Any bytes are a graph or an error with its line and column, never a crash: nesting is bounded,
// and nothing is allocated that the text's own length does not pay for.  Only what the form itself
// says is checked (names, counts, declared result types); what ops mean is ops::VerifyGraph's
// business.
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "jit/base/status.h"
#include "jit/ir/graph.h"
#include "jit/ir/text/value_parser.h"

namespace tektite::ir {
namespace {

constexpr int kMaxRegionDepth = 32;

using Names = absl::flat_hash_map<std::string, Node*>;

class Parser : private ValueParser {
 public:
  using ValueParser::ValueParser;

  absl::StatusOr<std::vector<std::unique_ptr<Graph>>> Graphs() {
    std::vector<std::unique_ptr<Graph>> graphs;
    while (!AtEnd()) {
      TEKTITE_ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph, ParseGraph(0));
      graphs.push_back(std::move(graph));
    }
    return graphs;
  }

 private:
  absl::Status Define(Names* names, const std::string& name, Node* node, size_t at) {
    if (names->emplace(name, node).second) return absl::OkStatus();
    return ErrorAt(at, absl::StrCat("%", name, " is defined twice"));
  }

  absl::StatusOr<Value> ParseValue(const Names& names) {
    TEKTITE_RETURN_IF_ERROR(Expect("%"));
    const size_t begin = at_;
    TEKTITE_ASSIGN_OR_RETURN(std::string name, Word("a value's name"));
    auto it = names.find(name);
    if (it == names.end()) return ErrorAt(begin, absl::StrCat("%", name, " is not defined"));
    int index = 0;
    bool indexed = Eat("#");
    if (indexed) {
      TEKTITE_ASSIGN_OR_RETURN(std::string digits, Word("a result number"));
      if (!absl::SimpleAtoi(digits, &index)) return Error("expected a result number");
    }
    const int results = it->second->num_results();
    if (index < 0 || index >= results || (!indexed && results != 1)) {
      return ErrorAt(begin, absl::StrCat("%", name, " has ", results,
                                         " results: name one of them as %", name, "#0"));
    }
    return Value{it->second, index};
  }

  // "%a, %b" up to `close` (which is eaten), or to the end of a return when it is empty.
  absl::StatusOr<std::vector<Value>> ParseValues(const Names& names, absl::string_view close) {
    std::vector<Value> values;
    if (Peek() == '%') {
      do {
        TEKTITE_ASSIGN_OR_RETURN(Value value, ParseValue(names));
        values.push_back(value);
      } while (Eat(","));
    }
    TEKTITE_RETURN_IF_ERROR(Expect(close));
    return values;
  }

  // "(f32[2], s32[])"
  absl::StatusOr<std::vector<Shape>> ParseShapes() {
    TEKTITE_RETURN_IF_ERROR(Expect("("));
    std::vector<Shape> shapes;
    while (!Eat(")")) {
      if (!shapes.empty()) TEKTITE_RETURN_IF_ERROR(Expect(","));
      TEKTITE_ASSIGN_OR_RETURN(Shape shape, ParseShape());
      shapes.push_back(std::move(shape));
    }
    return shapes;
  }

  absl::Status ParseParameter(Graph* graph, Names* names) {
    TEKTITE_RETURN_IF_ERROR(Expect("%"));
    const size_t begin = at_;
    TEKTITE_ASSIGN_OR_RETURN(std::string name, Word("a parameter's name"));
    TEKTITE_RETURN_IF_ERROR(Expect(":"));
    TEKTITE_ASSIGN_OR_RETURN(Shape shape, ParseShape());
    // A number is a place, a word is the parameter's name.
    Value value = graph->AddParameter(std::move(shape), absl::ascii_isdigit(name[0]) ? "" : name);
    Attributes attrs;
    TEKTITE_RETURN_IF_ERROR(ParseAttributes(&attrs));
    if (attrs.Has(Attr::index)) return Error("a parameter's index is its place in the list");
    for (const auto& [attr, v] : attrs.values()) value.node->attrs().Set(attr, v);
    if (Peek() == '"') {
      TEKTITE_ASSIGN_OR_RETURN(std::string full_name, QuotedText());
      value.node->set_name(full_name);
    }
    return Define(names, name, value.node, begin);
  }

  absl::Status ParseNode(Graph* graph, Names* names, int depth) {
    TEKTITE_RETURN_IF_ERROR(Expect("%"));
    const size_t begin = at_;
    TEKTITE_ASSIGN_OR_RETURN(std::string name, Word("a value's name"));
    TEKTITE_RETURN_IF_ERROR(Expect(":"));
    std::vector<Shape> shapes;
    if (absl::ascii_isdigit(Peek())) {
      Skip();
      const size_t count_at = at_;
      TEKTITE_ASSIGN_OR_RETURN(std::string digits, Word("a number of results"));
      TEKTITE_RETURN_IF_ERROR(Expect(":"));
      TEKTITE_ASSIGN_OR_RETURN(shapes, ParseShapes());
      if (digits != absl::StrCat(shapes.size())) {
        return ErrorAt(count_at, absl::StrCat(digits, " results but ", shapes.size(), " types"));
      }
    } else {
      TEKTITE_ASSIGN_OR_RETURN(Shape shape, ParseShape());
      shapes.push_back(std::move(shape));
    }
    TEKTITE_RETURN_IF_ERROR(Expect("="));
    Skip();
    const size_t op_at = at_;
    TEKTITE_ASSIGN_OR_RETURN(std::string op_name, Word("an op"));
    std::optional<Op> op = OpFromName(op_name);
    if (!op) return ErrorAt(op_at, absl::StrCat("unknown op '", op_name, "'"));
    if (*op == Op::kParameter) return ErrorAt(op_at, "parameters stand in the graph's first line");
    TEKTITE_RETURN_IF_ERROR(Expect("("));
    TEKTITE_ASSIGN_OR_RETURN(std::vector<Value> operands, ParseValues(*names, ")"));
    Attributes attrs;
    TEKTITE_RETURN_IF_ERROR(ParseAttributes(&attrs));
    Node* node = graph->Append(*op, operands, std::move(attrs), std::move(shapes));
    if (Peek() == '"') {
      TEKTITE_ASSIGN_OR_RETURN(std::string node_name, QuotedText());
      node->set_name(node_name);
    }
    while (WordAhead() == "graph") {
      TEKTITE_ASSIGN_OR_RETURN(std::unique_ptr<Graph> region, ParseGraph(depth + 1));
      node->AddRegion(std::move(region));
    }
    return Define(names, name, node, begin);
  }

  absl::Status ParseReturn(Graph* graph, const Names& names, const std::vector<Shape>& declared) {
    Skip();
    const size_t begin = at_;
    TEKTITE_ASSIGN_OR_RETURN(std::vector<Value> outputs, ParseValues(names, "}"));
    if (outputs.size() != declared.size()) {
      return ErrorAt(
          begin, absl::StrCat("returns ", outputs.size(), " values, declares ", declared.size()));
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].shape() != declared[i]) {
        return ErrorAt(begin, absl::StrCat("output ", i, " is ", outputs[i].shape().ToString(),
                                           ", declared ", declared[i].ToString()));
      }
    }
    graph->SetOutputs(std::move(outputs));
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<Graph>> ParseGraph(int depth) {
    if (depth > kMaxRegionDepth) return Error("regions nested too deeply");
    if (!EatKeyword("graph")) return Error("expected 'graph'");
    TEKTITE_RETURN_IF_ERROR(Expect("@"));
    std::string name;
    if (Peek() == '"') {
      TEKTITE_ASSIGN_OR_RETURN(name, QuotedText());
    } else {
      TEKTITE_ASSIGN_OR_RETURN(name, Word("the graph's name"));
    }
    auto graph = std::make_unique<Graph>(name);
    Names names;
    TEKTITE_RETURN_IF_ERROR(Expect("("));
    while (!Eat(")")) {
      if (graph->num_parameters() > 0) TEKTITE_RETURN_IF_ERROR(Expect(","));
      TEKTITE_RETURN_IF_ERROR(ParseParameter(graph.get(), &names));
    }
    TEKTITE_RETURN_IF_ERROR(Expect("->"));
    TEKTITE_ASSIGN_OR_RETURN(std::vector<Shape> declared, ParseShapes());
    TEKTITE_RETURN_IF_ERROR(Expect("{"));
    while (true) {
      if (EatKeyword("return")) {
        TEKTITE_RETURN_IF_ERROR(ParseReturn(graph.get(), names, declared));
        return graph;
      }
      if (EatKeyword("guard")) {
        TEKTITE_ASSIGN_OR_RETURN(Dim lhs, ParseDim("="));
        TEKTITE_RETURN_IF_ERROR(Expect("=="));
        TEKTITE_ASSIGN_OR_RETURN(Dim rhs, ParseDim("\n/"));
        graph->guards().push_back({std::move(lhs), std::move(rhs)});
      } else if (Peek() == '%') {
        TEKTITE_RETURN_IF_ERROR(ParseNode(graph.get(), &names, depth));
      } else {
        return Error("expected a node, 'guard' or 'return'");
      }
    }
  }
};

}  // namespace

absl::StatusOr<std::vector<std::unique_ptr<Graph>>> ParseAll(absl::string_view text) {
  return Parser(text).Graphs();
}

absl::StatusOr<std::unique_ptr<Graph>> Parse(absl::string_view text) {
  TEKTITE_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Graph>> graphs, ParseAll(text));
  if (graphs.size() != 1) {
    return InvalidArgument("1:1: expected one graph, found ", graphs.size());
  }
  return std::move(graphs[0]);
}

}  // namespace tektite::ir
