// The interface, beside backend.h, of a back end that knows several ways to make a kernel, which
// differ in speed and, within the numeric contract, in the order of sums.
//
//   if (auto* ways = dynamic_cast<const backend::Candidates*>(&back_end)) {
//     ways->CandidatesFor(fusion, packs_rhs);        // {"3x8", "2x12", "onednn"}
//   }
//
// A way is chosen by the fusion's attribute `target`; without it the first is taken.  The attribute
// is part of the kernel's key.  Thread-safe.
#ifndef TEKTITE_JIT_BACKEND_CANDIDATES_H_
#define TEKTITE_JIT_BACKEND_CANDIDATES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "jit/ir/graph.h"

namespace tektite::backend {

class Candidates {
 public:
  virtual ~Candidates() = default;
  // The one that is taken when nothing says otherwise comes first; fewer than two: there is nothing
  // to choose.  `packs_rhs`: the right-hand side depends on weights alone and will be packed.
  virtual std::vector<std::string> CandidatesFor(const ir::Node& fusion, bool packs_rhs) const = 0;
  // Whether there is ever anything to choose on this machine.
  virtual bool HasChoices() const { return true; }
  // Whether this way needs the contraction to stand alone (passes/split_epilogue.h).
  virtual bool StandsAlone(absl::string_view candidate) const = 0;
  // Whether this way needs a convolution's filter stored by features, its channels innermost
  // (passes/store_features_first.h).
  virtual bool ReadsFeaturesFirst(absl::string_view candidate) const { return false; }
  // The version of a library: their speed depends on it beside the target.
  virtual std::string Version() const = 0;
};

}  // namespace tektite::backend

#endif  // TEKTITE_JIT_BACKEND_CANDIDATES_H_
