#include "clustering/graph_def/graph_def.h"

#include <algorithm>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace tektite::graph_def {
namespace {

bool ByName(const Attr& attr, absl::string_view name) { return attr.name < name; }

template <typename T>
const T* FindAs(const AttrMap& attrs, absl::string_view name) {
  const AttrValue* value = attrs.Find(name);
  return value == nullptr ? nullptr : value->As<T>();
}

// The number `text` spells without sign or leading zeros; -1 for anything else.
int ParseIndex(absl::string_view text) {
  int index = 0;
  if (text.empty() || text.find_first_not_of("0123456789") != absl::string_view::npos ||
      (text.size() > 1 && text[0] == '0') || !absl::SimpleAtoi(text, &index)) {
    return -1;
  }
  return index;
}

}  // namespace

Bytes Bytes::Own(std::string bytes) {
  Bytes b;
  b.owner_ = std::make_shared<const std::string>(std::move(bytes));
  b.view_ = *b.owner_;
  return b;
}

Bytes Bytes::Borrow(absl::string_view bytes) {
  Bytes b;
  b.view_ = bytes;
  return b;
}

Bytes Bytes::Part(absl::string_view part) const {
  Bytes b;
  b.owner_ = owner_;
  b.view_ = part;
  return b;
}

bool PartialShape::IsStatic() const {
  return !unknown_rank && std::all_of(dims.begin(), dims.end(), [](int64_t d) { return d >= 0; });
}

int64_t PartialShape::NumElements() const {
  if (!IsStatic()) return -1;
  int64_t elements = 1;
  for (int64_t d : dims) {
    if (d == 0) return 0;
    if (__builtin_mul_overflow(elements, d, &elements)) {
      elements = std::numeric_limits<int64_t>::max();
    }
  }
  return elements;
}

std::string PartialShape::ToString() const {
  if (unknown_rank) return "<unknown>";
  return absl::StrCat("[",
                      absl::StrJoin(dims, ",",
                                    [](std::string* out, int64_t d) {
                                      if (d < 0) {
                                        absl::StrAppend(out, "?");
                                      } else {
                                        absl::StrAppend(out, d);
                                      }
                                    }),
                      "]");
}

const AttrValue* AttrMap::Find(absl::string_view name) const {
  auto it = std::lower_bound(entries_.begin(), entries_.end(), name, ByName);
  return it != entries_.end() && it->name == name ? &it->value : nullptr;
}

AttrValue* AttrMap::Find(absl::string_view name) {
  return const_cast<AttrValue*>(static_cast<const AttrMap*>(this)->Find(name));
}

void AttrMap::Set(absl::string_view name, AttrValue value) {
  auto it = std::lower_bound(entries_.begin(), entries_.end(), name, ByName);
  if (it != entries_.end() && it->name == name) {
    it->value = std::move(value);
  } else {
    entries_.insert(it, Attr{std::string(name), std::move(value)});
  }
}

void AttrMap::Erase(absl::string_view name) {
  auto it = std::lower_bound(entries_.begin(), entries_.end(), name, ByName);
  if (it != entries_.end() && it->name == name) entries_.erase(it);
}

absl::string_view AttrMap::String(absl::string_view name, absl::string_view fallback) const {
  const std::string* s = FindAs<std::string>(*this, name);
  return s == nullptr ? fallback : absl::string_view(*s);
}

int64_t AttrMap::Int(absl::string_view name, int64_t fallback) const {
  const int64_t* i = FindAs<int64_t>(*this, name);
  return i == nullptr ? fallback : *i;
}

float AttrMap::Float(absl::string_view name, float fallback) const {
  const float* f = FindAs<float>(*this, name);
  return f == nullptr ? fallback : *f;
}

bool AttrMap::Bool(absl::string_view name, bool fallback) const {
  const bool* b = FindAs<bool>(*this, name);
  return b == nullptr ? fallback : *b;
}

DataType AttrMap::Type(absl::string_view name, DataType fallback) const {
  const DataType* t = FindAs<DataType>(*this, name);
  return t == nullptr ? fallback : *t;
}

NodeInput NodeInput::Parse(absl::string_view text) {
  NodeInput input;
  if (absl::ConsumePrefix(&text, "^")) {
    input.node = std::string(text);
    input.index = kControl;
    return input;
  }
  const size_t last = text.rfind(':');
  const int index = last == absl::string_view::npos ? -1 : ParseIndex(text.substr(last + 1));
  if (index < 0) {
    input.node = std::string(text);
    return input;
  }
  input.index = index;
  text = text.substr(0, last);
  const size_t middle = text.find(':');
  if (middle != absl::string_view::npos) {
    input.output = std::string(text.substr(middle + 1));
    text = text.substr(0, middle);
  }
  input.node = std::string(text);
  return input;
}

std::string NodeInput::ToString() const {
  if (is_control()) return absl::StrCat("^", node);
  if (!output.empty()) return absl::StrCat(node, ":", output, ":", index);
  return index == 0 ? node : absl::StrCat(node, ":", index);
}

int NodeDef::NumDataInputs() const {
  int n = 0;
  for (const NodeInput& input : inputs) n += input.is_control() ? 0 : 1;
  return n;
}

}  // namespace tektite::graph_def
