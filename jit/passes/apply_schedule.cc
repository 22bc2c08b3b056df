#include "jit/passes/apply_schedule.h"

#include "jit/base/status.h"
#include "jit/passes/fusion/split_epilogue.h"
#include "jit/passes/store_features_first.h"

namespace tektite::passes {

absl::StatusOr<ir::Node*> ApplySchedule(ir::Graph& graph, ir::Node* fusion,
                                        const target::Schedule& schedule) {
  if (schedule.stands_alone) fusion = SplitEpilogue(graph, fusion);
  if (fusion == nullptr) return fusion;
  if (schedule.features_first) {
    TEKTITE_ASSIGN_OR_RETURN(fusion, StoreFeaturesFirst(graph, fusion));
  }
  target::SetSchedule(schedule, fusion);
  return fusion;
}

}  // namespace tektite::passes
