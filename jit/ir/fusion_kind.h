// The kinds of fusions: the attribute `kind` of each, by which a back end finds its emitters.
//
//   fusion->fusion_kind() == FusionKind::kRow      // fusion(%x) {kind = row}
#ifndef TEKTITE_JIT_IR_FUSION_KIND_H_
#define TEKTITE_JIT_IR_FUSION_KIND_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace tektite::ir {

enum class FusionKind : uint8_t {
#define TEKTITE_FUSION_KIND(enumerator, text) enumerator,
#include "jit/ir/fusion_kind_list.inc"
#undef TEKTITE_FUSION_KIND
};

absl::string_view FusionKindName(FusionKind kind);
std::optional<FusionKind> FusionKindFromName(absl::string_view name);

}  // namespace tektite::ir

#endif  // TEKTITE_JIT_IR_FUSION_KIND_H_
