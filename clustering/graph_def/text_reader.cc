#include "clustering/graph_def/text_reader.h"

#include <protozero/pbf_writer.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "clustering/graph_def/text_tokenizer.h"
#include "clustering/graph_def/wire_messages.h"

namespace tektite::graph_def {
namespace {

// The bound on nested messages; the wire reader has its own.
constexpr int kMaxDepth = 100;

enum class MessageType {
  kNone,
#define TEKTITE_MESSAGE(name) k##name,
#define TEKTITE_FIELD(name, number, kind, message)
#include "clustering/graph_def/text_schema_list.inc"
#undef TEKTITE_MESSAGE
#undef TEKTITE_FIELD
};

constexpr absl::string_view kMessageNames[] = {
    "nothing",
#define TEKTITE_MESSAGE(name) #name,
#define TEKTITE_FIELD(name, number, kind, message)
#include "clustering/graph_def/text_schema_list.inc"
#undef TEKTITE_MESSAGE
#undef TEKTITE_FIELD
};

enum class FieldKind { kMessage, kString, kInt, kFloat, kDouble, kBool, kDataType, kSkip };

struct FieldRow {
  bool starts_message;
  MessageType type;  // of the field; of the message itself where one starts
  absl::string_view name;
  uint32_t number;
  FieldKind kind;
};

constexpr FieldRow kRows[] = {
#define TEKTITE_MESSAGE(name) {true, MessageType::k##name, "", 0, FieldKind::kMessage},
#define TEKTITE_FIELD(name, number, kind, message) \
  {false, MessageType::k##message, name, number, FieldKind::kind},
#include "clustering/graph_def/text_schema_list.inc"
#undef TEKTITE_MESSAGE
#undef TEKTITE_FIELD
};

const FieldRow* FindField(MessageType message, absl::string_view name) {
  bool inside = false;
  for (const FieldRow& row : kRows) {
    if (row.starts_message) {
      if (inside) return nullptr;
      inside = row.type == message;
    } else if (inside && row.name == name) {
      return &row;
    }
  }
  return nullptr;
}

class TextParser {
 public:
  explicit TextParser(absl::string_view text) : tokens_(text) {}

  std::string ParseGraph() {
    std::string bytes;
    protozero::pbf_writer out(bytes);
    ParseFields(MessageType::kGraphDef, "", &out, 0);
    return bytes;
  }

 private:
  [[noreturn]] void Fail(absl::string_view message) const {
    throw wire::MessageError(absl::StrCat("line ", tokens_.current().line, ": ", message));
  }

  bool At(absl::string_view punctuation) const {
    return tokens_.current().kind == TextToken::kPunctuation &&
           tokens_.current().text == punctuation;
  }
  bool Consume(absl::string_view punctuation) {
    if (!At(punctuation)) return false;
    tokens_.Advance();
    return true;
  }
  std::string Describe() const {
    const TextToken& t = tokens_.current();
    return t.kind == TextToken::kEnd ? "the end of the text" : absl::StrCat("'", t.text, "'");
  }

  // Fields up to `close`; up to the end of the text where that is empty.
  void ParseFields(MessageType type, absl::string_view close, protozero::pbf_writer* out,
                   int depth) {
    if (depth > kMaxDepth) Fail("messages are nested too deep");
    while (true) {
      if (!close.empty() && Consume(close)) return;
      if (tokens_.current().kind == TextToken::kEnd && close.empty()) return;
      if (tokens_.current().kind != TextToken::kWord) {
        Fail(absl::StrCat("expected a field of ", kMessageNames[static_cast<int>(type)], ", found ",
                          Describe()));
      }
      const FieldRow* field = FindField(type, tokens_.current().text);
      if (field == nullptr) {
        Fail(absl::StrCat(kMessageNames[static_cast<int>(type)], " has no field '",
                          tokens_.current().text, "'"));
      }
      tokens_.Advance();
      const bool colon = Consume(":");
      if (At("[")) {
        ParseListOfValues(*field, out, depth);
      } else if (!colon && !At("{") && !At("<")) {
        Fail(absl::StrCat("expected ':' or '{' after '", field->name, "', found ", Describe()));
      } else {
        ParseValue(*field, out, depth);
      }
      if (!Consume(",")) Consume(";");
    }
  }

  void ParseListOfValues(const FieldRow& field, protozero::pbf_writer* out, int depth) {
    tokens_.Advance();
    if (Consume("]")) return;
    do {
      ParseValue(field, out, depth);
    } while (Consume(","));
    if (!Consume("]")) Fail(absl::StrCat("expected ',' or ']', found ", Describe()));
  }

  void ParseValue(const FieldRow& field, protozero::pbf_writer* out, int depth) {
    switch (field.kind) {
      case FieldKind::kMessage: {
        const absl::string_view close = At("{") ? "}" : At("<") ? ">" : "";
        if (close.empty()) Fail(absl::StrCat("'", field.name, "' is a message: expected '{'"));
        tokens_.Advance();
        // A nested pbf_writer would drop an empty message, and "shape { }" is a scalar's shape.
        std::string bytes;
        protozero::pbf_writer message(bytes);
        ParseFields(field.type, close, &message, depth + 1);
        out->add_message(field.number, bytes);
        return;
      }
      case FieldKind::kString:
        if (tokens_.current().kind != TextToken::kString) {
          Fail(absl::StrCat("'", field.name, "' is a string, found ", Describe()));
        }
        out->add_bytes(field.number, tokens_.current().text);
        break;
      case FieldKind::kInt:
        out->add_int64(field.number, ParseInt(field));
        break;
      case FieldKind::kFloat:
        out->add_float(field.number, static_cast<float>(ParseDouble(field)));
        break;
      case FieldKind::kDouble:
        out->add_double(field.number, ParseDouble(field));
        break;
      case FieldKind::kBool:
        out->add_bool(field.number, ParseBool(field));
        break;
      case FieldKind::kDataType:
        out->add_int64(field.number, ParseDataType(field));
        break;
      case FieldKind::kSkip:
        SkipValue(depth);
        return;
    }
    tokens_.Advance();
  }

  int64_t ParseInt(const FieldRow& field) {
    const std::string& text = tokens_.current().text;
    int64_t value = 0;
    uint64_t large = 0;
    if (tokens_.current().kind == TextToken::kNumber) {
      const bool hex = absl::StrContains(text, "x") || absl::StrContains(text, "X");
      if (hex ? absl::SimpleHexAtoi(text, &value) : absl::SimpleAtoi(text, &value)) return value;
      if (absl::SimpleAtoi(text, &large)) return static_cast<int64_t>(large);
    }
    Fail(absl::StrCat("'", field.name, "' is an integer, found ", Describe()));
  }

  double ParseDouble(const FieldRow& field) {
    const TextToken& token = tokens_.current();
    std::string text = token.text;
    double value = 0;
    if (token.kind == TextToken::kNumber || token.kind == TextToken::kWord) {
      if (token.kind == TextToken::kNumber && absl::ascii_tolower(text.back()) == 'f') {
        text.pop_back();
      }
      // "inf", "-inf", "infinity" and "nan" are words that SimpleAtod knows too.
      if (absl::SimpleAtod(text, &value)) return value;
    }
    Fail(absl::StrCat("'", field.name, "' is a number, found ", Describe()));
  }

  bool ParseBool(const FieldRow& field) {
    const std::string& text = tokens_.current().text;
    if (tokens_.current().kind != TextToken::kString) {
      if (text == "true" || text == "True" || text == "t" || text == "1") return true;
      if (text == "false" || text == "False" || text == "f" || text == "0") return false;
    }
    Fail(absl::StrCat("'", field.name, "' is true or false, found ", Describe()));
  }

  int64_t ParseDataType(const FieldRow& field) {
    int64_t number = 0;
    const TextToken& token = tokens_.current();
    if (token.kind == TextToken::kNumber && absl::SimpleAtoi(token.text, &number)) return number;
    if (token.kind == TextToken::kWord) {
      if (auto type = DataTypeFromName(token.text)) return static_cast<int64_t>(*type);
    }
    Fail(absl::StrCat("'", field.name, "' is a type such as DT_FLOAT, found ", Describe()));
  }

  // A value of a field nothing reads: a scalar, or braces that match.
  void SkipValue(int depth) {
    if (depth > kMaxDepth) Fail("messages are nested too deep");
    if (!At("{") && !At("<") && !At("[")) {
      if (tokens_.current().kind == TextToken::kEnd ||
          tokens_.current().kind == TextToken::kPunctuation) {
        Fail(absl::StrCat("expected a value, found ", Describe()));
      }
      tokens_.Advance();
      return;
    }
    const std::string close = At("{") ? "}" : At("<") ? ">" : "]";
    tokens_.Advance();
    while (!Consume(close)) {
      if (At("{") || At("<") || At("[")) {
        SkipValue(depth + 1);
      } else if (tokens_.current().kind == TextToken::kEnd || At("}") || At(">") || At("]")) {
        Fail(absl::StrCat("expected '", close, "', found ", Describe()));
      } else {
        tokens_.Advance();
      }
    }
  }

  TextTokenizer tokens_;
};

}  // namespace

absl::StatusOr<GraphDef> ReadTextGraphDef(absl::string_view text) {
  GraphDef graph;
  absl::Status status = wire::Guard("not a GraphDef in text form", [&] {
    const std::string bytes = TextParser(text).ParseGraph();
    graph = wire::ReadGraph(protozero::pbf_reader(bytes), wire::Source{});
  });
  if (!status.ok()) return status;
  return graph;
}

bool LooksLikeText(absl::string_view bytes) {
  // A serialized GraphDef starts with the tag of field 1, a newline, whose length byte may be
  // printable too; but then the node's name tag, again a newline, follows.
  for (char c : bytes.substr(0, 512)) {
    if (!absl::ascii_isprint(c) && !absl::ascii_isspace(c) && static_cast<signed char>(c) >= 0) {
      return false;
    }
  }
  const absl::string_view start = absl::StripLeadingAsciiWhitespace(bytes);
  return !start.empty() && (absl::ascii_isalpha(start[0]) || start[0] == '#');
}

}  // namespace tektite::graph_def
