// Reads dimensions, shapes, literals and attributes of the IR's text form.
//
//   ValueParser parser("f32[n, 4]");
//   parser.ParseShape();              // f32[n,4]
//
// Nothing is allocated that the text's own length does not pay for.
#ifndef TEKTITE_JIT_IR_TEXT_VALUE_PARSER_H_
#define TEKTITE_JIT_IR_TEXT_VALUE_PARSER_H_

#include "jit/ir/attributes.h"
#include "jit/ir/shape.h"
#include "jit/ir/text/text_scanner.h"

namespace tektite::ir {

class ValueParser : public TextScanner {
 public:
  using TextScanner::TextScanner;

  // The text of one dimension: up to a ',' or closing bracket outside of parentheses, or one of
  // `stops`.
  absl::StatusOr<Dim> ParseDim(absl::string_view stops = ",]");
  // "n, 4]" after the opening bracket.
  absl::StatusOr<Dims> ParseDims(absl::string_view close);
  absl::StatusOr<Shape> ParseShape();
  // "{a = 1, b = [2, 3]}", or nothing.
  absl::Status ParseAttributes(Attributes* attrs);

 private:
  absl::StatusOr<DType> ParseDType();
  // "{1, 2}" or "{#hex}" after a literal's type.
  absl::StatusOr<Literal> ParseLiteral(const Shape& shape);
  absl::StatusOr<int64_t> ParseInteger();
  absl::StatusOr<AttrValue> ParseInts();
  absl::StatusOr<AttrValue> ParseAttrValue();
};

}  // namespace tektite::ir

#endif  // TEKTITE_JIT_IR_TEXT_VALUE_PARSER_H_
