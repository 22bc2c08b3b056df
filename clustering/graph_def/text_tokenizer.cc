#include "clustering/graph_def/text_tokenizer.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "clustering/graph_def/wire_messages.h"

namespace tektite::graph_def {
namespace {

bool IsWordChar(char c) { return absl::ascii_isalnum(c) || c == '_'; }
bool IsOctal(char c) { return c >= '0' && c <= '7'; }

int HexDigit(char c) {
  return absl::ascii_isdigit(c) ? c - '0' : absl::ascii_tolower(c) - 'a' + 10;
}

void AppendUtf8(uint32_t code, std::string* out) {
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out->push_back(static_cast<char>(0xC0 | (code >> 6)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else if (code < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | (code >> 12)));
    out->push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else {
    out->push_back(static_cast<char>(0xF0 | (code >> 18)));
    out->push_back(static_cast<char>(0x80 | ((code >> 12) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3F)));
  }
}

}  // namespace

void TextTokenizer::Fail(absl::string_view message) const {
  throw wire::MessageError(absl::StrCat("line ", line_, ": ", message));
}

void TextTokenizer::SkipSpace() {
  while (!rest_.empty()) {
    if (rest_[0] == '#') {
      const size_t end = rest_.find('\n');
      rest_.remove_prefix(end == absl::string_view::npos ? rest_.size() : end);
    } else if (absl::ascii_isspace(rest_[0])) {
      if (rest_[0] == '\n') ++line_;
      rest_.remove_prefix(1);
    } else {
      return;
    }
  }
}

// Stands behind the backslash.
void TextTokenizer::ReadEscape(std::string* out) {
  if (rest_.empty()) Fail("the text ends inside a string");
  const char c = rest_[0];
  if (IsOctal(c)) {
    int value = 0;
    for (int i = 0; i < 3 && !rest_.empty() && IsOctal(rest_[0]); ++i) {
      value = value * 8 + (rest_[0] - '0');
      rest_.remove_prefix(1);
    }
    out->push_back(static_cast<char>(value));
    return;
  }
  rest_.remove_prefix(1);
  if (c == 'x' || c == 'X' || c == 'u' || c == 'U') {
    const int most = c == 'u' ? 4 : c == 'U' ? 8 : 2;
    uint32_t value = 0;
    int digits = 0;
    for (; digits < most && !rest_.empty() && absl::ascii_isxdigit(rest_[0]); ++digits) {
      value = value * 16 + HexDigit(rest_[0]);
      rest_.remove_prefix(1);
    }
    if (digits == 0 || (most > 2 && (digits != most || value > 0x10FFFF))) {
      Fail("a string has an escape with bad hexadecimal digits");
    }
    if (most == 2) {
      out->push_back(static_cast<char>(value));
    } else {
      AppendUtf8(value, out);
    }
    return;
  }
  static constexpr absl::string_view kEscapes = "abfnrtv\\'\"?";
  static constexpr absl::string_view kMeanings = "\a\b\f\n\r\t\v\\'\"?";
  const size_t at = kEscapes.find(c);
  if (at == absl::string_view::npos) Fail("a string has an unknown escape");
  out->push_back(kMeanings[at]);
}

void TextTokenizer::ReadString(std::string* out) {
  const char quote = rest_[0];
  rest_.remove_prefix(1);
  while (true) {
    if (rest_.empty() || rest_[0] == '\n') Fail("a string is not closed on its line");
    const char c = rest_[0];
    rest_.remove_prefix(1);
    if (c == quote) return;
    if (c == '\\') {
      ReadEscape(out);
    } else {
      out->push_back(c);
    }
  }
}

void TextTokenizer::Advance() {
  SkipSpace();
  current_.text.clear();
  current_.line = line_;
  if (rest_.empty()) {
    current_.kind = TextToken::kEnd;
    return;
  }
  const char c = rest_[0];
  if (c == '"' || c == '\'') {
    current_.kind = TextToken::kString;
    while (!rest_.empty() && (rest_[0] == '"' || rest_[0] == '\'')) {
      ReadString(&current_.text);
      SkipSpace();
    }
    return;
  }
  const bool negative = c == '-';
  size_t length = 0;
  if (negative) {
    rest_.remove_prefix(1);
    SkipSpace();
  }
  const bool number = !rest_.empty() && (absl::ascii_isdigit(rest_[0]) || rest_[0] == '.');
  while (length < rest_.size()) {
    const char d = rest_[length];
    const bool exponent_sign = number && (d == '+' || d == '-') && length > 0 &&
                               absl::ascii_tolower(rest_[length - 1]) == 'e' &&
                               !(length > 1 && absl::ascii_tolower(rest_[1]) == 'x');
    if (!IsWordChar(d) && !(number && d == '.') && !exponent_sign) break;
    ++length;
  }
  if (length > 0) {
    current_.kind = number ? TextToken::kNumber : TextToken::kWord;
    current_.text = absl::StrCat(negative ? "-" : "", rest_.substr(0, length));
    rest_.remove_prefix(length);
    return;
  }
  if (negative || absl::string_view("{}<>[]:,;").find(c) == absl::string_view::npos) {
    Fail(absl::ascii_isprint(c) ? absl::StrCat("unexpected character '", std::string(1, c), "'")
                                : "unexpected byte: this is not text");
  }
  current_.kind = TextToken::kPunctuation;
  current_.text = std::string(1, c);
  rest_.remove_prefix(1);
}

}  // namespace tektite::graph_def
