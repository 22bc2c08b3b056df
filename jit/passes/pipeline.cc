#include "jit/passes/pipeline.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "jit/base/log.h"
#include "jit/base/replace_file.h"
#include "jit/base/status.h"
#include "jit/base/timing.h"
#include "jit/ir/control.h"
#include "jit/ops/ops.h"

namespace tektite::passes {
namespace {

// Passes strictly simplify, so a few rounds reach the fixed point; the bound turns a pair of them
// that undo each other into lost time instead of a hang.
constexpr int kMaxRounds = 12;

constexpr PassInfo kPasses[] = {
#define TEKTITE_PASS(name, function, repeat, sentence) {#name, &function, repeat, sentence},
#include "jit/passes/pass_list.inc"
#undef TEKTITE_PASS
};

// Cluster names contain what file names may not.
std::string FileStem(const ir::Graph& graph, const PassContext& context) {
  std::string stem = context.dump_name.empty() ? graph.name() : context.dump_name;
  for (char& c : stem) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-') c = '_';
  }
  return stem;
}

void Dump(const ir::Graph& graph, const PassContext& context, int number, absl::string_view pass) {
  if (context.flags.dump_to.empty()) return;
  const std::string path = absl::StrFormat("%s/%s.%02d_%s.tir", context.flags.dump_to,
                                           FileStem(graph, context), number, pass);
  const absl::Status written = ReplaceFile(path, ir::Print(graph));
  if (!written.ok()) Warn("dump_to: ", written.message());
}

bool IsDisabled(absl::string_view pass, const PassContext& context) {
  const std::vector<absl::string_view> names = absl::StrSplit(context.flags.disable_passes, ',');
  return std::find(names.begin(), names.end(), pass) != names.end();
}

// On a graph and on what its loops and choices run.  Passes that are repeated find their way into
// regions themselves.
absl::StatusOr<bool> RunEverywhere(const PassInfo& pass, ir::Graph& graph, PassContext& context) {
  bool changed = false;
  const bool in_loop = context.in_loop, in_region = context.in_region;
  for (const auto& node : graph.nodes()) {
    if (pass.repeat || !ir::IsControl(*node)) continue;
    for (int r = 0; r < node->num_regions(); ++r) {
      context.in_loop = in_loop || node->op() == ir::Op::kWhile;
      context.in_region = true;
      const absl::StatusOr<bool> inside = RunEverywhere(pass, node->region(r), context);
      context.in_loop = in_loop;
      context.in_region = in_region;
      if (!inside.ok()) return inside.status();
      changed |= *inside;
    }
  }
  TEKTITE_ASSIGN_OR_RETURN(const bool here, pass.run(graph, context));
  return changed || here;
}

absl::StatusOr<bool> RunOne(const PassInfo& pass, ir::Graph& graph, PassContext& context,
                            bool first_round) {
  if (IsDisabled(pass.name, context)) return false;
  if (context.checkpoint) TEKTITE_RETURN_IF_ERROR(context.checkpoint());
  Stopwatch watch;
  absl::StatusOr<bool> changed = RunEverywhere(pass, graph, context);
  if (!changed.ok()) {
    return absl::Status(changed.status().code(),
                        absl::StrCat(pass.name, ": ", changed.status().message()));
  }
  const double seconds = watch.Seconds();
  context.timings.push_back({pass.name, seconds, *changed});
  if (context.flags.verify) {
    absl::Status verified = ops::VerifyGraph(graph);
    if (!verified.ok()) return Internal("after ", pass.name, ": ", verified.message());
  }
  if (first_round || *changed) Dump(graph, context, &pass - kPasses + 1, pass.name);
  return changed;
}

// Runs a group of repeated passes until a whole round changes nothing.
absl::Status RunGroup(absl::Span<const PassInfo> group, ir::Graph& graph, PassContext& context) {
  std::map<absl::string_view, int> before;
  for (int round = 1;; ++round) {
    if (round == kMaxRounds / 2 + 1) before = context.rules_applied;
    std::vector<absl::string_view> changed;
    for (const PassInfo& pass : group) {
      TEKTITE_ASSIGN_OR_RETURN(const bool pass_changed, RunOne(pass, graph, context, round == 1));
      if (pass_changed) changed.push_back(pass.name);
    }
    if (changed.empty()) return absl::OkStatus();
    if (round < kMaxRounds) continue;
    return Unsettled(absl::StrCat(kMaxRounds, " rounds; the last one changed things in ",
                                  absl::StrJoin(changed, ", "), ", the later half applied"),
                     before, context);
  }
}

// The run of repeated passes that begins at `begin`.
absl::Span<const PassInfo> GroupAt(size_t begin) {
  size_t end = begin;
  while (end < std::size(kPasses) && kPasses[end].repeat) ++end;
  return absl::MakeConstSpan(kPasses).subspan(begin, end - begin);
}

void ReportTimes(const ir::Graph& graph, const PassContext& context) {
  if (!context.flags.time_passes) return;
  for (const PassInfo& pass : kPasses) {
    double seconds = 0;
    int runs = 0;
    for (const PassContext::Timing& timing : context.timings) {
      if (timing.pass != pass.name) continue;
      seconds += timing.seconds;
      ++runs;
    }
    if (runs > 0) {
      Warn("time_passes: ", FileStem(graph, context), " ", pass.name, " ",
           absl::StrFormat("%.3f ms", seconds * 1e3), " in ", runs, " runs");
    }
  }
}

}  // namespace

absl::Span<const PassInfo> AllPasses() { return kPasses; }

absl::Status Unsettled(absl::string_view after, const std::map<absl::string_view, int>& before,
                       PassContext& context) {
  std::vector<absl::string_view> applied;
  for (const auto& [rule, times] : context.rules_applied) {
    const auto earlier = before.find(rule);
    if (earlier == before.end() || earlier->second != times) applied.push_back(rule);
  }
  const std::string rules = applied.empty() ? "no rule" : absl::StrJoin(applied, ", ");
  ++context.unsettled;
  if (context.flags.verify) return Internal("not settled after ", after, " ", rules);
  Warn("simplifying a graph has not settled after ", after, " ", rules);
  return absl::OkStatus();
}

absl::Status RunPipeline(ir::Graph& graph, PassContext& context) {
  Dump(graph, context, 0, "input");
  for (size_t i = 0; i < std::size(kPasses);) {
    absl::Span<const PassInfo> group = GroupAt(i);
    if (group.empty()) {
      TEKTITE_RETURN_IF_ERROR(RunOne(kPasses[i], graph, context, true).status());
      ++i;
    } else {
      TEKTITE_RETURN_IF_ERROR(RunGroup(group, graph, context));
      i += group.size();
    }
  }
  ReportTimes(graph, context);
  return absl::OkStatus();
}

absl::Status RunPasses(ir::Graph& graph, absl::Span<const std::string> names,
                       PassContext& context) {
  Dump(graph, context, 0, "input");
  for (const std::string& name : names) {
    if (name == "simplify") {
      TEKTITE_RETURN_IF_ERROR(RunGroup(GroupAt(0), graph, context));
      continue;
    }
    auto pass = std::find_if(std::begin(kPasses), std::end(kPasses),
                             [&](const PassInfo& p) { return p.name == name; });
    if (pass == std::end(kPasses)) {
      return InvalidArgument("no pass is called '", name, "'; there are: simplify, ",
                             absl::StrJoin(kPasses, ", ", [](std::string* out, const PassInfo& p) {
                               absl::StrAppend(out, p.name);
                             }));
    }
    TEKTITE_RETURN_IF_ERROR(RunOne(*pass, graph, context, true).status());
  }
  ReportTimes(graph, context);
  return absl::OkStatus();
}

}  // namespace tektite::passes
