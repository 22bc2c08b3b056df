// Runs passes over a graph, each as: disabled? -> time -> run -> verify -> dump.
//
//   PassContext context(flags);
//   context.evaluate = ...;
//   TEKTITE_RETURN_IF_ERROR(RunPipeline(graph, context));                          // all, in order
//   TEKTITE_RETURN_IF_ERROR(RunPasses(graph, {"canonicalize"}, context));          // for tools
//
// Flags read here: disable_passes (names of passes, and of single rules such as SumOfDot),
// time_passes, verify, dump_to.  With dump_to=DIR each pass leaves DIR/<name>.<nn>_<pass>.tir,
// where nn is its place in pass_list.inc (00 is the input), so that names are the same in every
// run; a pass that is repeated overwrites its file while it changes something.
#ifndef TEKTITE_JIT_PASSES_PIPELINE_H_
#define TEKTITE_JIT_PASSES_PIPELINE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "jit/passes/pass.h"

namespace tektite::passes {

// One row of pass_list.inc.
struct PassInfo {
  absl::string_view name;
  PassFn run;
  bool repeat;
  absl::string_view sentence;
};
absl::Span<const PassInfo> AllPasses();

// Every pass of the list.  The status of a failing pass names it.
absl::Status RunPipeline(ir::Graph& graph, PassContext& context);

// The named passes in the given order, each once; InvalidArgument for a name that is in no row.
// "simplify" stands for the repeated group up to its fixed point.
absl::Status RunPasses(ir::Graph& graph, absl::Span<const std::string> names, PassContext& context);

}  // namespace tektite::passes

#endif  // TEKTITE_JIT_PASSES_PIPELINE_H_
