// The attributes of a node: a few named values, kept sorted by name.
//
//   Attributes a;
//   a.Set(Attr::dimensions, std::vector<int64_t>{1});
//   a.Ints(Attr::dimensions);                    // {1}; empty when absent
//   a.Int(Attr::k, 1);                           // 1: the default
//
// Names come from attribute_list.inc, so a misspelt one does not compile.
#ifndef TEKTITE_JIT_IR_ATTRIBUTES_H_
#define TEKTITE_JIT_IR_ATTRIBUTES_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "jit/ir/fusion_kind.h"
#include "jit/ir/literal.h"
#include "jit/ir/shape.h"

namespace tektite::ir {

enum class Attr : uint8_t {
#define TEKTITE_ATTRIBUTE(name) name,
#include "jit/ir/attribute_list.inc"
#undef TEKTITE_ATTRIBUTE
};

absl::string_view AttrName(Attr attr);
std::optional<Attr> AttrFromName(absl::string_view name);

// Dims holds sizes that may be symbolic (starts and limits of a slice, the shape of a reshape).
using AttrValue = std::variant<bool, int64_t, std::string, std::vector<int64_t>, Dims, DType,
                               FusionKind, Literal>;

class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<const Attr, AttrValue>> values) : values_(values) {}

  Attributes& Set(Attr attr, AttrValue value) {
    values_[attr] = std::move(value);
    return *this;
  }
  void Erase(Attr attr) { values_.erase(attr); }
  bool Has(Attr attr) const { return values_.count(attr) > 0; }

  // The value if it is present and of that type, otherwise the default.
  bool Bool(Attr attr, bool otherwise = false) const { return Get(attr, otherwise); }
  int64_t Int(Attr attr, int64_t otherwise = 0) const { return Get(attr, otherwise); }
  const std::string& String(Attr attr) const { return Ref<std::string>(attr); }
  const std::vector<int64_t>& Ints(Attr attr) const { return Ref<std::vector<int64_t>>(attr); }
  const Dims& GetDims(Attr attr) const { return Ref<Dims>(attr); }
  const Literal& GetLiteral(Attr attr) const { return Ref<Literal>(attr); }
  DType GetDType(Attr attr, DType otherwise = DType::kF32) const { return Get(attr, otherwise); }
  FusionKind GetFusionKind(Attr attr, FusionKind otherwise = FusionKind::kSingle) const {
    return Get(attr, otherwise);
  }

  const std::map<Attr, AttrValue>& values() const { return values_; }
  std::map<Attr, AttrValue>& mutable_values() { return values_; }

  friend bool operator==(const Attributes& a, const Attributes& b) {
    return a.values_ == b.values_;
  }

 private:
  template <typename T>
  T Get(Attr attr, T otherwise) const {
    auto it = values_.find(attr);
    const T* value = it == values_.end() ? nullptr : std::get_if<T>(&it->second);
    return value ? *value : otherwise;
  }
  template <typename T>
  const T& Ref(Attr attr) const {
    static const T& empty = *new T;
    auto it = values_.find(attr);
    const T* value = it == values_.end() ? nullptr : std::get_if<T>(&it->second);
    return value ? *value : empty;
  }

  std::map<Attr, AttrValue> values_;
};

}  // namespace tektite::ir

#endif  // TEKTITE_JIT_IR_ATTRIBUTES_H_
