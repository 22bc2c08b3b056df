// Whether an implementation of contractions fits a fusion, and how it is made then: the first half
// of each row of backends/cpu/implementation_list.cc.
//
//   Question question(fusion, facts, target);
//   absl::StatusOr<target::Schedule> schedule = FitsWinograd(question);
//
// All return Unimplemented with the reason where they do not fit.  With facts.rhs_is_weights they
// answer for the fusion as assign_layouts will have made it.
#ifndef TEKTITE_BACKENDS_CPU_CONTRACTION_CONTRACTION_SCHEDULES_H_
#define TEKTITE_BACKENDS_CPU_CONTRACTION_CONTRACTION_SCHEDULES_H_

#include <optional>

#include "absl/status/statusor.h"
#include "backends/cpu/contraction/contraction_tiling.h"
#include "backends/cpu/emit/emitter.h"
#include "jit/ir/graph.h"
#include "jit/target/schedules.h"

namespace tektite::cpu {

// A question to all rows of the list, which share what they find out: how the contraction is
// addressed, and its register tile.
class Question {
 public:
  Question(const ir::Node& fusion, const target::Facts& facts, const Target& target)
      : fusion(fusion), facts(facts), target(target) {}

  const ir::Node& fusion;
  const target::Facts& facts;
  const Target& target;

  // With the right-hand side in panels, or as it is.
  const absl::StatusOr<ContractionTiling>& View(bool packed) const;
  // As the kernel will find it: packed if it is, or will be.
  const absl::StatusOr<ContractionTiling>& View() const { return View(is_packed()); }
  target::Tile TileOf(bool packed) const;  // of a view that is ok
  bool is_packed() const;

 private:
  mutable std::optional<absl::StatusOr<ContractionTiling>> views_[2];
  mutable std::optional<target::Tile> tiles_[2];
};

absl::StatusOr<target::Schedule> FitsTiles(const Question& question);
absl::StatusOr<target::Schedule> FitsPairs(const Question& question);
absl::StatusOr<target::Schedule> FitsStreamed(const Question& question);
absl::StatusOr<target::Schedule> FitsWinograd(const Question& question);
absl::StatusOr<target::Schedule> FitsGrouped(const Question& question);
absl::StatusOr<target::Schedule> FitsGroupedFilter(const Question& question);

// OK for a view of a dot_general whose right-hand side can be streamed (streamed_product.cc).
absl::Status CheckStreamed(const ir::Node& fusion, const ContractionTiling& view);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CONTRACTION_CONTRACTION_SCHEDULES_H_
