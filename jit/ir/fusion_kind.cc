#include "jit/ir/fusion_kind.h"

#include <algorithm>
#include <iterator>

namespace tektite::ir {
namespace {

constexpr absl::string_view kNames[] = {
#define TEKTITE_FUSION_KIND(enumerator, text) text,
#include "jit/ir/fusion_kind_list.inc"
#undef TEKTITE_FUSION_KIND
};

}  // namespace

absl::string_view FusionKindName(FusionKind kind) { return kNames[static_cast<int>(kind)]; }

std::optional<FusionKind> FusionKindFromName(absl::string_view name) {
  const auto* const found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<FusionKind>(found - std::begin(kNames));
}

}  // namespace tektite::ir
