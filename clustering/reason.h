// Why a node is not inside a cluster: stable codes, each with a sentence (reason_list.inc).
//
//   ReasonCode(Reason::kTOO_SMALL)      // "TOO_SMALL"
//   ReasonSentence(Reason::kTOO_SMALL)  // "What can be compiled together with it is ..."
#ifndef TEKTITE_CLUSTERING_REASON_H_
#define TEKTITE_CLUSTERING_REASON_H_

#include "absl/strings/string_view.h"

namespace tektite::clustering {

enum class Reason {
  kNone,  // it is inside one
#define TEKTITE_REASON(code, sentence) k##code,
#include "clustering/reason_list.inc"
#undef TEKTITE_REASON
};

absl::string_view ReasonCode(Reason reason);
absl::string_view ReasonSentence(Reason reason);

}  // namespace tektite::clustering

#endif  // TEKTITE_CLUSTERING_REASON_H_
