// Tokens of protobuf's text format, for text_reader.h.
//
//   for (TextTokenizer in(text); in.current().kind != TextToken::kEnd; in.Advance()) ...
//
// Limits: internal to this room, since errors are exceptions; ReadTextGraphDef's callers see
// statuses.
#ifndef TEKTITE_CLUSTERING_GRAPH_DEF_TEXT_TOKENIZER_H_
#define TEKTITE_CLUSTERING_GRAPH_DEF_TEXT_TOKENIZER_H_

#include <string>

#include "absl/strings/string_view.h"

namespace tektite::graph_def {

struct TextToken {
  enum Kind { kEnd, kWord, kNumber, kString, kPunctuation };
  Kind kind = kEnd;
  std::string text;  // a string's content after its escapes; '-' is part of a number or word
  int line = 1;
};

// Splits text into tokens, one at a time; adjacent strings are one token, as in C. Throws
// wire::MessageError with the line for text that is no token.
class TextTokenizer {
 public:
  explicit TextTokenizer(absl::string_view text) : rest_(text) { Advance(); }
  const TextToken& current() const { return current_; }
  void Advance();

 private:
  void SkipSpace();
  void ReadString(std::string* out);
  void ReadEscape(std::string* out);
  [[noreturn]] void Fail(absl::string_view message) const;

  absl::string_view rest_;
  int line_ = 1;
  TextToken current_;
};

}  // namespace tektite::graph_def

#endif  // TEKTITE_CLUSTERING_GRAPH_DEF_TEXT_TOKENIZER_H_
