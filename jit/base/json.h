// Writes JSON, for the answers of the C interface.
//
//   JsonObject o;
//   o.Add("runs", 3).Add("left_out", reasons.Text());     // {"runs": 3, "left_out": {...}}
//   std::string text = o.Text();
#ifndef TEKTITE_JIT_BASE_JSON_H_
#define TEKTITE_JIT_BASE_JSON_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace tektite {

// With quotes.  Bytes outside ASCII, which names of nodes never have, become the code points of
// their numbers, so that the result is JSON whatever the bytes are.
inline std::string JsonString(absl::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7F) {
      absl::StrAppendFormat(&out, "\\u%04x", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

class JsonObject {
 public:
  JsonObject& Add(absl::string_view key, int64_t value) { return Append(key, absl::StrCat(value)); }
  JsonObject& Add(absl::string_view key, int value) { return Add(key, int64_t{value}); }
  JsonObject& Add(absl::string_view key, double value) {
    return Append(key, absl::StrFormat("%.6f", value));
  }
  JsonObject& Add(absl::string_view key, absl::string_view text) {
    return Append(key, JsonString(text));
  }
  JsonObject& Add(absl::string_view key, const JsonObject& object) {
    return Append(key, object.Text());
  }
  // `array` is the text of a JSON array.
  JsonObject& AddArray(absl::string_view key, absl::string_view array) {
    return Append(key, array);
  }
  std::string Text() const { return absl::StrCat("{", members_, "}"); }

 private:
  JsonObject& Append(absl::string_view key, absl::string_view json) {
    absl::StrAppend(&members_, members_.empty() ? "" : ", ", JsonString(key), ": ", json);
    return *this;
  }
  std::string members_;
};

// json_of(item) -> std::string.
template <typename Items, typename JsonOf>
std::string JsonArray(const Items& items, JsonOf&& json_of) {
  std::string out = "[";
  for (const auto& item : items) {
    absl::StrAppend(&out, out.size() == 1 ? "" : ", ", json_of(item));
  }
  return out + "]";
}

}  // namespace tektite

#endif  // TEKTITE_JIT_BASE_JSON_H_
