// A pass is a function that rewrites a graph and returns whether it changed anything.
//
//   absl::StatusOr<bool> EliminateDead(ir::Graph& graph, PassContext& context);
//
// A pass keeps the graph's meaning: parameters, number and shapes of outputs, and values within the
// numeric contract.  "false" promises that not a node was touched, which ends the repetition of the
// simplifying passes.  An error means a defect of ours; "nothing to do here" is false, not an
// error. pass_list.inc lists all passes in order, pipeline.h runs them.
#ifndef TEKTITE_JIT_PASSES_PASS_H_
#define TEKTITE_JIT_PASSES_PASS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "jit/base/flags.h"
#include "jit/ir/graph.h"
#include "jit/target/schedules.h"
#include "jit/target/target_info.h"

namespace tektite::passes {

struct PassContext {
  explicit PassContext(const Flags& flags) : flags(flags) {}

  const Flags& flags;
  // Computes a graph's outputs for given parameters; the compiler passes the reference interpreter,
  // which this library must not see.  Null: constants stay unfolded.
  std::function<absl::StatusOr<std::vector<ir::Literal>>(const ir::Graph&,
                                                         absl::Span<const ir::Literal>)>
      evaluate;
  // The machine that the graph is compiled for.
  target::TargetInfo target;
  // What its back end offers.  Null: it has one way to make any kernel.
  target::Schedules schedules;
  // schedules is to offer what only measurements prefer, too.
  bool alternatives = false;
  // Values of so many bytes or more may be computed again (fusion_recompute.h): smaller ones stay
  // in caches.
  int64_t recomputed_bytes = 256 << 10;
  // Asked before each pass whether to go on.  Null: always.
  std::function<absl::Status()> checkpoint;
  // Stem of dump file names; the graph's name when empty.
  std::string dump_name;

  // Set by the pipeline while a pass that is not repeated is in a region of a loop, and in any
  // region.
  bool in_loop = false, in_region = false;

  // Whether a pass may add a check, a bool that must be true for the call to count: an output
  // before the last `num_updates`.  It counts those that it adds.
  bool may_check = false;
  int num_updates = 0, added_checks = 0;

  // Filled by the pipeline: one entry for each run of a pass, in order.
  struct Timing {
    absl::string_view pass;
    double seconds;
    bool changed;
  };
  std::vector<Timing> timings;
  // How often each rule of canonicalize was applied.
  std::map<absl::string_view, int> rules_applied;
  // How often a repetition was cut off before it had come to rest.
  int unsettled = 0;
  // Products of s32 or f32 that take operands of s8, and of f32 that take bf16 (narrow_products).
  int byte_products = 0, bf16_products = 0;
};

// Reports that rewriting has not come to rest "after <after> <rules>": those applied since
// `before`, a copy of context.rules_applied.  Rules that undo each other cost a model twice its
// time before a person noticed.  An error with --verify; otherwise counted, and a warning once.
absl::Status Unsettled(absl::string_view after, const std::map<absl::string_view, int>& before,
                       PassContext& context);

using PassFn = absl::StatusOr<bool> (*)(ir::Graph& graph, PassContext& context);

#define TEKTITE_PASS(name, function, repeat, sentence) \
  absl::StatusOr<bool> function(ir::Graph& graph, PassContext& context);
#include "jit/passes/pass_list.inc"
#undef TEKTITE_PASS

}  // namespace tektite::passes

#endif  // TEKTITE_JIT_PASSES_PASS_H_
