// Puts a schedule on a fusion, and brings the graph into the form that it asks for.
//
//   TEKTITE_ASSIGN_OR_RETURN(Node* scheduled, ApplySchedule(graph, fusion, *offer.schedule));
//
// For choose_schedules, and for trials of schedules.
#ifndef TEKTITE_JIT_PASSES_APPLY_SCHEDULE_H_
#define TEKTITE_JIT_PASSES_APPLY_SCHEDULE_H_

#include "absl/status/statusor.h"
#include "jit/ir/graph.h"
#include "jit/target/schedules.h"

namespace tektite::passes {

// Returns the fusion that has the schedule afterwards: where it must stand alone, one of the
// contraction without its epilogue.  Null if it cannot, and then nothing has changed.
absl::StatusOr<ir::Node*> ApplySchedule(ir::Graph& graph, ir::Node* fusion,
                                        const target::Schedule& schedule);

}  // namespace tektite::passes

#endif  // TEKTITE_JIT_PASSES_APPLY_SCHEDULE_H_
