// Reads tokens of the IR's text form: words, strings, punctuation; `//` starts a comment.
//
//   TextScanner scanner("f32 [");
//   scanner.Word("an element type");   // "f32"
//   scanner.Eat("[");                  // true
//
// Blanks and comments before a token are skipped.  An error names its line and column.
#ifndef TEKTITE_JIT_IR_TEXT_TEXT_SCANNER_H_
#define TEKTITE_JIT_IR_TEXT_TEXT_SCANNER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tektite::ir {

class TextScanner {
 public:
  // `text` must outlive the scanner.
  explicit TextScanner(absl::string_view text) : text_(text) {}

  bool AtEnd();
  // The next character, '\0' at the end.
  char Peek();
  // Whether `token` came next; it is passed then.
  bool Eat(absl::string_view token);
  absl::Status Expect(absl::string_view token);
  // Letters, digits, '_' and '.', possibly none.
  absl::string_view WordAhead();
  // Passes the word ahead.  An error says that `what` was expected where there is none.
  absl::StatusOr<std::string> Word(absl::string_view what);
  // Whether the word ahead is exactly `keyword`; it is passed then.
  bool EatKeyword(absl::string_view keyword);
  // A string in double quotes with C escapes.
  absl::StatusOr<std::string> QuotedText();

 protected:
  void Skip();
  // At the next token.
  absl::Status Error(absl::string_view what);
  absl::Status ErrorAt(size_t at, absl::string_view what) const;

  const absl::string_view text_;
  size_t at_ = 0;
};

}  // namespace tektite::ir

#endif  // TEKTITE_JIT_IR_TEXT_TEXT_SCANNER_H_
