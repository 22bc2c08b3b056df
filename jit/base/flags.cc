#include "jit/base/flags.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tektite {
namespace {

bool ParseValue(absl::string_view text, bool has_value, bool* out) {
  if (!has_value || text == "true" || text == "1") return *out = true, true;
  if (text == "false" || text == "0") return *out = false, true;
  return false;
}
bool ParseValue(absl::string_view text, bool has_value, int64_t* out) {
  int64_t value;
  if (!has_value || !absl::SimpleAtoi(text, &value) || value < 0) return false;
  *out = value;
  return true;
}
bool ParseValue(absl::string_view text, bool has_value, std::string* out) {
  if (!has_value) return false;
  *out = std::string(text);
  return true;
}

const char* Expected(bool) { return "true or false"; }
const char* Expected(int64_t) { return "a number of at least 0"; }
const char* Expected(const std::string&) { return "a text behind ="; }

std::optional<int64_t> ToNumber(bool v) { return v ? 1 : 0; }
std::optional<int64_t> ToNumber(int64_t v) { return v; }
std::optional<int64_t> ToNumber(const std::string& v) { return std::nullopt; }

std::string ToText(bool v) { return v ? "true" : "false"; }
std::string ToText(int64_t v) { return absl::StrCat(v); }
std::string ToText(const std::string& v) { return v; }

}  // namespace

Flags Flags::Parse(absl::string_view text, std::vector<std::string>* errors) {
  Flags flags;
  for (absl::string_view word : absl::StrSplit(text, absl::ByAnyChar(" \t\n"), absl::SkipEmpty())) {
    if (!absl::StartsWith(word, "--")) {
      errors->push_back(absl::StrCat("flag '", word, "' ignored: a flag starts with --"));
      continue;
    }
    absl::string_view body = word.substr(2);
    size_t equals = body.find('=');
    bool has_value = equals != absl::string_view::npos;
    absl::string_view name = body.substr(0, equals);
    absl::string_view value = has_value ? body.substr(equals + 1) : absl::string_view();
    bool known = false;
#define TEKTITE_FLAG(type, flag, default_value, affects_code, help)                    \
  if (name == #flag) {                                                                 \
    known = true;                                                                      \
    if (!ParseValue(value, has_value, &flags.flag))                                    \
      errors->push_back(                                                               \
          absl::StrCat("flag '", word, "' ignored: expected ", Expected(flags.flag))); \
  }
#include "jit/base/flag_list.inc"
#undef TEKTITE_FLAG
    if (!known) errors->push_back(absl::StrCat("flag '", word, "' ignored: no such flag"));
  }
  return flags;
}

std::optional<int64_t> Flags::Number(absl::string_view wanted) const {
#define TEKTITE_FLAG(type, name, default_value, affects_code, help) \
  if (wanted == #name) return ToNumber(name);
#include "jit/base/flag_list.inc"
#undef TEKTITE_FLAG
  return std::nullopt;
}

std::string Flags::CodeKey() const {
  std::string key;
#define TEKTITE_FLAG(type, name, default_value, affects_code, help) \
  if (affects_code) absl::StrAppend(&key, #name "=", ToText(name), ";");
#include "jit/base/flag_list.inc"
#undef TEKTITE_FLAG
  return key;
}

const std::vector<FlagInfo>& AllFlags() {
  static const auto& flags = *new std::vector<FlagInfo>{
#define TEKTITE_FLAG(type, name, default_value, affects_code, help) \
  {#type, #name, #default_value, help},
#include "jit/base/flag_list.inc"
#undef TEKTITE_FLAG
  };
  return flags;
}

}  // namespace tektite
