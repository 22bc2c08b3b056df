#include "jit/ir/text/value_parser.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "jit/base/status.h"

namespace tektite::ir {
namespace {

constexpr size_t kMaxDimText = 4096;
constexpr int kMaxRank = 64;
constexpr int64_t kMaxElements = int64_t{1} << 40;

// "nan:0000c07f": the value's bytes in memory order.
template <typename T>
bool NanFromText(absl::string_view word, T* value) {
  if (word.size() != 4 + 2 * sizeof(T)) return false;
  for (char c : word.substr(4)) {
    if (!absl::ascii_isxdigit(c)) return false;
  }
  const std::string bytes = absl::HexStringToBytes(word.substr(4));
  std::memcpy(value, bytes.data(), sizeof(T));
  return true;
}

template <typename T>
bool ElementFromText(absl::string_view word, T* value) {
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

int HexDigit(char c) {
  return absl::ascii_isdigit(c) ? c - '0' : absl::ascii_tolower(c) - 'a' + 10;
}

}  // namespace

absl::StatusOr<Dim> ValueParser::ParseDim(absl::string_view stops) {
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

absl::StatusOr<Dims> ValueParser::ParseDims(absl::string_view close) {
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

absl::StatusOr<DType> ValueParser::ParseDType() {
  Skip();
  const size_t begin = at_;
  TEKTITE_ASSIGN_OR_RETURN(std::string word, Word("an element type"));
  std::optional<DType> dtype = DTypeFromName(word);
  if (!dtype) return ErrorAt(begin, absl::StrCat("unknown element type '", word, "'"));
  return *dtype;
}

absl::StatusOr<Shape> ValueParser::ParseShape() {
  TEKTITE_ASSIGN_OR_RETURN(DType dtype, ParseDType());
  TEKTITE_RETURN_IF_ERROR(Expect("["));
  TEKTITE_ASSIGN_OR_RETURN(Dims dims, ParseDims("]"));
  return Shape(dtype, std::move(dims));
}

absl::StatusOr<Literal> ValueParser::ParseLiteral(const Shape& shape) {
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
        return ErrorAt(begin,
                       absl::StrCat("'", word.substr(0, 32), "' is no ", DTypeName(shape.dtype())));
      }
    }
  }
  TEKTITE_RETURN_IF_ERROR(Expect("}"));
  return literal;
}

absl::StatusOr<int64_t> ValueParser::ParseInteger() {
  Skip();
  const size_t begin = at_;
  at_ = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size());
  absl::string_view word = text_.substr(begin, at_ - begin);
  int64_t integer;
  if (absl::SimpleAtoi(word, &integer)) return integer;
  return ErrorAt(begin, absl::StrCat("'", word.substr(0, 32), "' is no attribute value"));
}

absl::StatusOr<AttrValue> ValueParser::ParseInts() {
  std::vector<int64_t> values;
  while (!Eat("]")) {
    if (!values.empty()) TEKTITE_RETURN_IF_ERROR(Expect(","));
    TEKTITE_ASSIGN_OR_RETURN(const int64_t value, ParseInteger());
    values.push_back(value);
  }
  return AttrValue(std::move(values));
}

absl::StatusOr<AttrValue> ValueParser::ParseAttrValue() {
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

absl::Status ValueParser::ParseAttributes(Attributes* attrs) {
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

}  // namespace tektite::ir
