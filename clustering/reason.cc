#include "clustering/reason.h"

namespace tektite::clustering {
namespace {

struct Row {
  absl::string_view code;
  absl::string_view sentence;
};

constexpr Row kRows[] = {
    {"NONE", "It is inside a cluster."},
#define TEKTITE_REASON(code, sentence) {#code, sentence},
#include "clustering/reason_list.inc"
#undef TEKTITE_REASON
};

}  // namespace

absl::string_view ReasonCode(Reason reason) { return kRows[static_cast<int>(reason)].code; }
absl::string_view ReasonSentence(Reason reason) { return kRows[static_cast<int>(reason)].sentence; }

}  // namespace tektite::clustering
