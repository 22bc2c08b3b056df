// Reads the text form that printer.cc writes; `//` starts a comment.
//
// Any bytes give a graph or an error with its line and column, never a crash: nesting is bounded,
// and nothing is allocated that the text's own length does not pay for.  Only what the form itself
// says is checked (names, counts, declared result types); what ops mean is ops::VerifyGraph's
// business.
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "jit/base/status.h"
#include "jit/ir/graph.h"

namespace tektite::ir {
namespace {

constexpr int kMaxRegionDepth = 32;
constexpr size_t kMaxDimText = 4096;
constexpr int kMaxRank = 64;
constexpr int64_t kMaxElements = int64_t{1} << 40;

using Names = absl::flat_hash_map<std::string, Node*>;

class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text) {}

  absl::StatusOr<std::vector<std::unique_ptr<Graph>>> Graphs() {
    std::vector<std::unique_ptr<Graph>> graphs;
    while (!AtEnd()) {
      TEKTITE_ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph, ParseGraph(0));
      graphs.push_back(std::move(graph));
    }
    return graphs;
  }

 private:
  // ---- characters ----

  absl::Status ErrorAt(size_t at, absl::string_view what) const {
    size_t line = 1, column = 1;
    for (char c : text_.substr(0, at)) {
      ++column;
      if (c == '\n') ++line, column = 1;
    }
    return InvalidArgument(line, ":", column, ": ", what);
  }
  absl::Status Error(absl::string_view what) {
    Skip();
    return ErrorAt(at_, what);
  }
  void Skip() {
    while (at_ < text_.size()) {
      if (absl::ascii_isspace(text_[at_])) {
        ++at_;
      } else if (absl::StartsWith(text_.substr(at_, 2), "//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else {
        return;
      }
    }
  }
  bool AtEnd() {
    Skip();
    return at_ == text_.size();
  }
  char Peek() { return AtEnd() ? '\0' : text_[at_]; }
  bool Eat(absl::string_view token) {
    Skip();
    if (!absl::StartsWith(text_.substr(at_), token)) return false;
    at_ += token.size();
    return true;
  }
  absl::Status Expect(absl::string_view token) {
    if (Eat(token)) return absl::OkStatus();
    return Error(absl::StrCat("expected '", token, "'"));
  }
  // Letters, digits, '_' and '.', possibly none.
  absl::string_view WordAhead() {
    Skip();
    size_t n = at_;
    while (n < text_.size() &&
           (absl::ascii_isalnum(text_[n]) || text_[n] == '_' || text_[n] == '.')) {
      ++n;
    }
    return text_.substr(at_, n - at_);
  }
  absl::StatusOr<std::string> Word(absl::string_view what) {
    absl::string_view word = WordAhead();
    if (word.empty()) return Error(absl::StrCat("expected ", what));
    at_ += word.size();
    return std::string(word);
  }
  bool EatKeyword(absl::string_view keyword) {
    if (WordAhead() != keyword) return false;
    at_ += keyword.size();
    return true;
  }
  absl::StatusOr<std::string> QuotedText() {
    TEKTITE_RETURN_IF_ERROR(Expect("\""));
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') {
      at_ += text_[at_] == '\\' ? 2 : 1;
    }
    if (at_ >= text_.size() || text_[at_] != '"') return ErrorAt(begin, "string without an end");
    std::string value, error;
    if (!absl::CUnescape(text_.substr(begin, at_ - begin), &value, &error)) {
      return ErrorAt(begin, absl::StrCat("bad string: ", error));
    }
    ++at_;
    return value;
  }

  // ---- dimensions, types, literals ----

  // The text of one dimension: up to a ',' or closing bracket outside of parentheses, or one of
  // `stops`.
  absl::StatusOr<Dim> ParseDim(absl::string_view stops = ",]") {
    Skip();
    const size_t begin = at_;
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      char c = text_[at_];
      if (depth == 0 && stops.find(c) != absl::string_view::npos) break;
      if (c == '(') ++depth;
      if (c == ')' && --depth < 0) break;
      if (at_ - begin > kMaxDimText) return ErrorAt(begin, "dimension too long");
    }
    auto dim = Dim::Parse(text_.substr(begin, at_ - begin));
    if (!dim.ok()) return ErrorAt(begin, dim.status().message());
    return dim;
  }

  // "n, 4]" after the opening bracket.
  absl::StatusOr<Dims> ParseDims(absl::string_view close) {
    Dims dims;
    if (Eat(close)) return dims;
    while (true) {
      TEKTITE_ASSIGN_OR_RETURN(Dim dim, ParseDim(absl::StrCat(",", close)));
      dims.push_back(std::move(dim));
      if (dims.size() > kMaxRank) return Error("too many dimensions");
      if (Eat(close)) return dims;
      TEKTITE_RETURN_IF_ERROR(Expect(","));
    }
  }

  absl::StatusOr<DType> ParseDType() {
    Skip();
    const size_t begin = at_;
    TEKTITE_ASSIGN_OR_RETURN(std::string word, Word("an element type"));
    std::optional<DType> dtype = DTypeFromName(word);
    if (!dtype) return ErrorAt(begin, absl::StrCat("unknown element type '", word, "'"));
    return *dtype;
  }

  absl::StatusOr<Shape> ParseShape() {
    TEKTITE_ASSIGN_OR_RETURN(DType dtype, ParseDType());
    TEKTITE_RETURN_IF_ERROR(Expect("["));
    TEKTITE_ASSIGN_OR_RETURN(Dims dims, ParseDims("]"));
    return Shape(dtype, std::move(dims));
  }

  // "nan:0000c07f": the value's bytes in memory order.
  template <typename T>
  static bool NanFromText(absl::string_view word, T* value) {
    if (word.size() != 4 + 2 * sizeof(T)) return false;
    for (char c : word.substr(4)) {
      if (!absl::ascii_isxdigit(c)) return false;
    }
    const std::string bytes = absl::HexStringToBytes(word.substr(4));
    std::memcpy(value, bytes.data(), sizeof(T));
    return true;
  }

  template <typename T>
  static bool ElementFromText(absl::string_view word, T* value) {
    if constexpr (std::is_same_v<T, bool>) {
      *value = word == "true";
      return word == "true" || word == "false";
    } else if constexpr (std::is_integral_v<T>) {
      if constexpr (std::is_same_v<T, uint64_t>) return absl::SimpleAtoi(word, value);
      int64_t wide;
      if (!absl::SimpleAtoi(word, &wide)) return false;
      *value = static_cast<T>(wide);
      return static_cast<int64_t>(*value) == wide;
    } else {
      if (absl::StartsWith(word, "nan:")) return NanFromText(word, value);
      if constexpr (std::is_same_v<T, double>) {
        return absl::SimpleAtod(word, value);
      } else {
        float narrow;
        if (!absl::SimpleAtof(word, &narrow)) return false;
        *value = T(narrow);
        return true;
      }
    }
  }

  // "{1, 2}" or "{#hex}" after a literal's type.
  absl::StatusOr<Literal> ParseLiteral(const Shape& shape) {
    int64_t elements = 1;
    for (const Dim& d : shape.dims()) {
      if (!d.is_constant() || d.value() < 0) return Error("a literal needs constant sizes");
      if (d.value() != 0 && elements > kMaxElements / d.value()) return Error("literal too large");
      if (d.value() > kMaxElements) return Error("literal too large");
      elements *= d.value();
    }
    TEKTITE_RETURN_IF_ERROR(Expect("{"));
    const size_t close = text_.find('}', at_);
    if (close == absl::string_view::npos) return Error("literal without an end");
    // Two digits an element are the least that this many elements can be written with.
    if (elements > static_cast<int64_t>(close - at_)) return Error("too few elements in literal");
    Literal literal = Literal::Allocate(shape.dtype(), shape.sizes());
    if (Eat("#")) {
      absl::string_view digits = absl::StripAsciiWhitespace(text_.substr(at_, close - at_));
      if (digits.size() != static_cast<size_t>(2 * literal.num_bytes())) {
        return Error(absl::StrCat("expected ", 2 * literal.num_bytes(), " hexadecimal digits"));
      }
      char* bytes = literal.mutable_data<char>();
      for (size_t i = 0; i < digits.size(); i += 2) {
        if (!absl::ascii_isxdigit(digits[i]) || !absl::ascii_isxdigit(digits[i + 1])) {
          return Error("bad hexadecimal digit in literal");
        }
        bytes[i / 2] = static_cast<char>(HexDigit(digits[i]) * 16 + HexDigit(digits[i + 1]));
        if (shape.dtype() == DType::kBool && (bytes[i / 2] & ~1) != 0) {
          return Error("a bool is 00 or 01");
        }
      }
      at_ = close;
    } else {
      for (int64_t i = 0; i < elements; ++i) {
        if (i > 0) TEKTITE_RETURN_IF_ERROR(Expect(","));
        Skip();
        const size_t begin = at_;
        at_ = std::min(text_.find_first_of(", \t\r\n}", at_), text_.size());
        absl::string_view word = text_.substr(begin, at_ - begin);
        bool ok = DispatchDType(shape.dtype(), [&](auto zero) {
          return ElementFromText(word, &literal.mutable_data<decltype(zero)>()[i]);
        });
        if (!ok) {
          return ErrorAt(
              begin, absl::StrCat("'", word.substr(0, 32), "' is no ", DTypeName(shape.dtype())));
        }
      }
    }
    TEKTITE_RETURN_IF_ERROR(Expect("}"));
    return literal;
  }

  static int HexDigit(char c) {
    return absl::ascii_isdigit(c) ? c - '0' : absl::ascii_tolower(c) - 'a' + 10;
  }

  // ---- attributes ----

  absl::StatusOr<int64_t> ParseInteger() {
    Skip();
    const size_t begin = at_;
    at_ = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size());
    absl::string_view word = text_.substr(begin, at_ - begin);
    int64_t integer;
    if (absl::SimpleAtoi(word, &integer)) return integer;
    return ErrorAt(begin, absl::StrCat("'", word.substr(0, 32), "' is no attribute value"));
  }

  absl::StatusOr<AttrValue> ParseInts() {
    std::vector<int64_t> values;
    while (!Eat("]")) {
      if (!values.empty()) TEKTITE_RETURN_IF_ERROR(Expect(","));
      TEKTITE_ASSIGN_OR_RETURN(const int64_t value, ParseInteger());
      values.push_back(value);
    }
    return AttrValue(std::move(values));
  }

  absl::StatusOr<AttrValue> ParseAttrValue() {
    if (Peek() == '"') {
      TEKTITE_ASSIGN_OR_RETURN(std::string text, QuotedText());
      return AttrValue(std::move(text));
    }
    if (Eat("[")) return ParseInts();
    if (Eat("(")) {
      TEKTITE_ASSIGN_OR_RETURN(Dims dims, ParseDims(")"));
      return AttrValue(std::move(dims));
    }
    if (EatKeyword("true")) return AttrValue(true);
    if (EatKeyword("false")) return AttrValue(false);
    if (std::optional<FusionKind> kind = FusionKindFromName(WordAhead())) {
      at_ += WordAhead().size();
      return AttrValue(*kind);
    }
    if (std::optional<DType> dtype = DTypeFromName(WordAhead())) {
      at_ += WordAhead().size();
      if (!Eat("[")) return AttrValue(*dtype);
      TEKTITE_ASSIGN_OR_RETURN(Dims dims, ParseDims("]"));
      TEKTITE_ASSIGN_OR_RETURN(Literal literal, ParseLiteral(Shape(*dtype, std::move(dims))));
      return AttrValue(std::move(literal));
    }
    TEKTITE_ASSIGN_OR_RETURN(const int64_t integer, ParseInteger());
    return AttrValue(integer);
  }

  absl::Status ParseAttributes(Attributes* attrs) {
    if (!Eat("{")) return absl::OkStatus();
    bool first = true;
    while (!Eat("}")) {
      if (!first) TEKTITE_RETURN_IF_ERROR(Expect(","));
      first = false;
      Skip();
      const size_t begin = at_;
      TEKTITE_ASSIGN_OR_RETURN(std::string name, Word("an attribute name"));
      std::optional<Attr> attr = AttrFromName(name);
      if (!attr) return ErrorAt(begin, absl::StrCat("unknown attribute '", name, "'"));
      if (attrs->Has(*attr)) return ErrorAt(begin, absl::StrCat("'", name, "' is given twice"));
      TEKTITE_RETURN_IF_ERROR(Expect("="));
      TEKTITE_ASSIGN_OR_RETURN(AttrValue value, ParseAttrValue());
      attrs->Set(*attr, std::move(value));
    }
    return absl::OkStatus();
  }

  // ---- graphs ----

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

  const absl::string_view text_;
  size_t at_ = 0;
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
