#include "jit/ir/attributes.h"

namespace tektite::ir {

absl::string_view AttrName(Attr attr) {
  static constexpr absl::string_view kNames[] = {
#define TEKTITE_ATTRIBUTE(name) #name,
#include "jit/ir/attribute_list.inc"
#undef TEKTITE_ATTRIBUTE
  };
  return kNames[static_cast<int>(attr)];
}

std::optional<Attr> AttrFromName(absl::string_view name) {
#define TEKTITE_ATTRIBUTE(attr) \
  if (name == #attr) return Attr::attr;
#include "jit/ir/attribute_list.inc"
#undef TEKTITE_ATTRIBUTE
  return std::nullopt;
}

}  // namespace tektite::ir
