#include "clustering/source/count_marking.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "clustering/graph_def/graph_index.h"
#include "clustering/op_table.h"
#include "clustering/reason.h"

namespace tektite::clustering {
namespace {

using serving::CompilerState;

void CountOps(const graph_def::GraphDef& graph, const Marking& marking, bool loops_alone,
              CompilerState& state) {
  int64_t ops = 0, clustered_ops = 0;
  CompilerState::LeftOutOps left_out;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const graph_def::NodeDef& node = graph.nodes[i];
    if (!CountsAsOp(node)) continue;
    if (loops_alone && (!IsKeptWhole(node) || marking.cluster_of[i] >= 0)) {
      continue;
    }
    ops += loops_alone ? 0 : 1;
    if (marking.cluster_of[i] >= 0) {
      ++clustered_ops;
      continue;
    }
    auto& counted = left_out[std::string(ReasonCode(marking.reason[i]))];
    if (counted.ops++ > 0) continue;
    counted.example = absl::StrCat(node.op, " '", node.name, "'");
    if (!marking.detail[i].empty()) absl::StrAppend(&counted.example, ": ", marking.detail[i]);
  }
  state.CountMarking(ops, clustered_ops, left_out);
}

// What the host's loops do each turn, where the graph has loops that were taken apart.
void CountLoops(const graph_def::GraphDef& graph, const Marking& marking, CompilerState& state) {
  const bool has_loops = std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const auto& node) {
    return FactsOf(node.op).Is(OpFacts::kEnter);
  });
  if (!has_loops) return;
  const auto index = graph_def::GraphIndex::Create(graph);
  if (!index.ok()) return;
  std::map<int, std::string> names;
  std::map<int, CompilerState::LoopInParts> loops;
  std::map<int, std::set<int>> clusters;
  for (int i = 0; i < index->num_nodes(); ++i) {
    const int loop = index->loop(i);
    if (loop == 0) continue;
    if (index->facts(i).Is(OpFacts::kEnter)) {
      names[loop] = std::string(index->node(i).attrs.String("frame_name"));
    }
    if (!CountsAsOp(index->node(i)) || index->facts(i).kind == OpFacts::Kind::kControlFlow) {
      continue;
    }
    ++loops[loop].ops;
    if (marking.cluster_of[i] < 0) continue;
    ++loops[loop].clustered_ops;
    clusters[loop].insert(marking.cluster_of[i]);
  }
  for (auto& [loop, parts] : loops) {
    parts.clusters = static_cast<int64_t>(clusters[loop].size());
    state.CountLoop(names[loop], parts);
  }
}

}  // namespace

void CountMarking(const graph_def::GraphDef& graph, const Marking& marking, bool loops_alone,
                  CompilerState& state) {
  CountOps(graph, marking, loops_alone, state);
  if (!loops_alone) CountLoops(graph, marking, state);
}

}  // namespace tektite::clustering
