#include "jit/ir/text/text_scanner.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "jit/base/status.h"

namespace tektite::ir {

absl::Status TextScanner::ErrorAt(size_t at, absl::string_view what) const {
  size_t line = 1, column = 1;
  for (char c : text_.substr(0, at)) {
    ++column;
    if (c == '\n') ++line, column = 1;
  }
  return InvalidArgument(line, ":", column, ": ", what);
}

absl::Status TextScanner::Error(absl::string_view what) {
  Skip();
  return ErrorAt(at_, what);
}

void TextScanner::Skip() {
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

bool TextScanner::AtEnd() {
  Skip();
  return at_ == text_.size();
}

char TextScanner::Peek() { return AtEnd() ? '\0' : text_[at_]; }

bool TextScanner::Eat(absl::string_view token) {
  Skip();
  if (!absl::StartsWith(text_.substr(at_), token)) return false;
  at_ += token.size();
  return true;
}

absl::Status TextScanner::Expect(absl::string_view token) {
  if (Eat(token)) return absl::OkStatus();
  return Error(absl::StrCat("expected '", token, "'"));
}

absl::string_view TextScanner::WordAhead() {
  Skip();
  size_t n = at_;
  while (n < text_.size() &&
         (absl::ascii_isalnum(text_[n]) || text_[n] == '_' || text_[n] == '.')) {
    ++n;
  }
  return text_.substr(at_, n - at_);
}

absl::StatusOr<std::string> TextScanner::Word(absl::string_view what) {
  absl::string_view word = WordAhead();
  if (word.empty()) return Error(absl::StrCat("expected ", what));
  at_ += word.size();
  return std::string(word);
}

bool TextScanner::EatKeyword(absl::string_view keyword) {
  if (WordAhead() != keyword) return false;
  at_ += keyword.size();
  return true;
}

absl::StatusOr<std::string> TextScanner::QuotedText() {
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

}  // namespace tektite::ir
