// The three forms of an explanation; see explain.h.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "clustering/cost.h"
#include "clustering/explain.h"
#include "clustering/import_cluster.h"
#include "jit/base/json.h"

namespace tektite::clustering {
namespace {

using graph_def::GraphDef;
using graph_def::NodeDef;

// Node names in the text report that stand for all of a reason and op.
constexpr size_t kNamesShown = 3;
constexpr size_t kTensorsShown = 8;

bool IsLeftOut(const Explanation& e, int node) {
  return e.marking.cluster_of[node] < 0 && CountsAsOp(e.graph.nodes[node]);
}

// Whether there is more to say of an op that is left out than its reason.
bool HasDetail(const Explanation& e, int node) {
  const Reason reason = e.marking.reason[node];
  return reason == Reason::kUNSUPPORTED_TYPE || reason == Reason::kFUNCTION_BODY ||
         (reason == Reason::kCONTROL_FLOW && e.marking.detail[node] != e.graph.nodes[node].op);
}

struct Totals {
  int64_t ops = 0;
  int64_t clustered = 0;
};

Totals Count(const Explanation& e) {
  Totals totals;
  for (size_t i = 0; i < e.graph.nodes.size(); ++i) {
    if (!CountsAsOp(e.graph.nodes[i])) continue;
    ++totals.ops;
    if (e.marking.cluster_of[i] >= 0) ++totals.clustered;
  }
  return totals;
}

// The same ops counted, most frequent first: "Conv2D 35, Relu6 35, Mul 12".
std::string CountOps(const GraphDef& graph, const std::vector<int>& nodes) {
  std::map<absl::string_view, int> counts;
  for (int node : nodes) {
    if (CountsAsOp(graph.nodes[node])) ++counts[graph.nodes[node].op];
  }
  std::vector<std::pair<absl::string_view, int>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return absl::StrJoin(sorted, ", ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.first, " ", entry.second);
  });
}

// The importer's shape of a tensor, or else the graph's.
std::string ShapeText(const Explanation& e, const CostModel& cost, const ImportedCluster& imported,
                      int node) {
  const auto it = imported.shapes.find(e.graph.nodes[node].name);
  return it == imported.shapes.end() ? cost.Shape(node).ToString() : it->second;
}

void AppendTensors(absl::string_view title, const Explanation& e, const CostModel& cost,
                   const ImportedCluster& imported, const std::vector<int>& nodes,
                   std::string* out) {
  if (nodes.empty()) return;
  absl::StrAppend(out, "  ", title, ":\n");
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (i == kTensorsShown) {
      absl::StrAppend(out, "    and ", nodes.size() - i, " more\n");
      return;
    }
    absl::StrAppend(out, "    ", e.graph.nodes[nodes[i]].name, " ",
                    ShapeText(e, cost, imported, nodes[i]), "\n");
  }
}

void AppendClusterText(const Explanation& e, const graph_def::GraphIndex& index,
                       const CostModel& cost, const MarkedCluster& cluster, std::string* out) {
  absl::StrAppend(out, "\n", cluster.name, ": ", cluster.ops, " ops\n");
  absl::StrAppend(out, "  ", CountOps(e.graph, cluster.nodes), "\n");
  const std::set<int> members(cluster.nodes.begin(), cluster.nodes.end());
  std::vector<int> inputs, outputs;
  size_t variables = 0;
  std::set<int> seen;
  for (int node : cluster.nodes) {
    for (const auto& in : index.inputs(node)) {
      if (in.is_control() || members.count(in.node) > 0 || !seen.insert(in.node).second) continue;
      if (e.graph.nodes[in.node].op == "VarHandleOp") {
        ++variables;  // a model has hundreds, and they hide the inputs
      } else {
        inputs.push_back(in.node);
      }
    }
    const auto uses = index.uses(node);
    const bool leaves = std::any_of(uses.begin(), uses.end(), [&](const auto& use) {
      return use.output >= 0 && members.count(use.node) == 0;
    });
    const bool has_results = !index.facts(node).Is(OpFacts::kNoResults);
    if (e.graph.nodes[node].op != "Const" && (leaves || (uses.empty() && has_results))) {
      outputs.push_back(node);
    }
  }
  const ImportedCluster imported = ImportCluster(index, cost, cluster);
  AppendTensors("takes", e, cost, imported, inputs, out);
  if (variables > 0) absl::StrAppend(out, "  reads ", variables, " variables\n");
  AppendTensors("returns", e, cost, imported, outputs, out);
  if (!imported.refused.empty()) {
    absl::StrAppend(out, "  no code for all sizes: ", imported.refused, "\n");
  }
}

// "n0 = 8, n1 = 128"
std::string SizesText(const std::map<std::string, int64_t>& sizes) {
  return absl::StrJoin(sizes, ", ", absl::PairFormatter(" = "));
}

void AppendMemoryText(const CallMemory& memory, std::string* out) {
  if (!memory.refused.empty()) {
    absl::StrAppend(out, "  memory of a call: unknown, ", memory.refused, "\n");
    return;
  }
  constexpr double kMiB = 1 << 20;
  const double least = static_cast<double>(std::max<int64_t>(memory.max_live_bytes, 1));
  absl::StrAppendFormat(
      out, "  memory of a call: %.2f MiB, %.2fx of the most that is live at once",
      static_cast<double>(memory.arena_bytes) / kMiB,
      memory.arena_bytes == 0 ? 1 : static_cast<double>(memory.arena_bytes) / least);
  absl::StrAppend(out, memory.sizes.empty() ? "" : "; at ", SizesText(memory.sizes), "\n",
                  memory.kernels);
}

JsonObject MemoryJson(const CallMemory& memory) {
  if (!memory.refused.empty()) return JsonObject().Add("refused", memory.refused);
  JsonObject sizes;
  for (const auto& [name, size] : memory.sizes) sizes.Add(name, size);
  return JsonObject()
      .Add("arena_bytes", memory.arena_bytes)
      .Add("max_live_bytes", memory.max_live_bytes)
      .Add("sizes", sizes);
}

void AppendLeftOutText(const Explanation& e, std::string* out) {
  // reason -> op (and what the reason is about) -> nodes
  std::map<Reason, std::map<std::string, std::vector<int>>> groups;
  for (size_t i = 0; i < e.graph.nodes.size(); ++i) {
    if (!IsLeftOut(e, i)) continue;
    const NodeDef& node = e.graph.nodes[i];
    const bool has_detail = HasDetail(e, static_cast<int>(i));
    groups[e.marking.reason[i]]
          [has_detail ? absl::StrCat(node.op, " (", e.marking.detail[i], ")") : node.op]
              .push_back(static_cast<int>(i));
  }
  for (const auto& [reason, ops] : groups) {
    absl::StrAppend(out, "\n", ReasonCode(reason), ": ", ReasonSentence(reason), "\n");
    for (const auto& [op, nodes] : ops) {
      const size_t shown = std::min(nodes.size(), kNamesShown);
      absl::StrAppendFormat(out, "  %5d  %-28s %s%s\n", nodes.size(), op,
                            absl::StrJoin(nodes.begin(), nodes.begin() + shown, ", ",
                                          [&](std::string* s, int node) {
                                            absl::StrAppend(s, e.graph.nodes[node].name);
                                          }),
                            shown < nodes.size() ? ", ..." : "");
    }
  }
}

// "the body of 'loop' (While): 21 of 24 ops in 2 clusters, which each turn calls, beside 3 ops of
// the host"
void AppendPartsText(const Explanation& e, std::string* out) {
  if (e.in_parts.empty()) return;
  absl::StrAppend(out, "\nRun in parts, each time anew:\n");
  for (const RunInParts& parts : e.in_parts) {
    const NodeDef& node = e.graph.nodes[parts.node];
    const bool is_loop = node.attrs.Find("body") != nullptr;
    absl::StrAppendFormat(
        out, "  %s '%s': %s calls %d cluster%s (%d of %d ops) and %d ops of the host\n", node.op,
        node.name, is_loop ? "a turn" : absl::StrCat("branch '", parts.function, "'"),
        parts.clusters, parts.clusters == 1 ? "" : "s", parts.clustered, parts.ops,
        parts.ops - parts.clustered);
  }
}

}  // namespace

std::string RenderJson(const Explanation& e) {
  const Totals totals = Count(e);
  const auto cluster_json = [&](const MarkedCluster& cluster) {
    JsonObject json;
    json.Add("name", cluster.name).Add("ops", cluster.ops);
    if (e.memory.empty()) return json.Text();
    return json.Add("memory", MemoryJson(e.memory[&cluster - e.marking.clusters.data()])).Text();
  };
  std::vector<int> left_out;
  for (size_t i = 0; i < e.graph.nodes.size(); ++i) {
    if (IsLeftOut(e, static_cast<int>(i))) left_out.push_back(static_cast<int>(i));
  }
  const auto left_out_json = [&](int i) {
    return JsonObject()
        .Add("node", e.graph.nodes[i].name)
        .Add("op", e.graph.nodes[i].op)
        .Add("reason", ReasonCode(e.marking.reason[i]))
        .Add("detail", HasDetail(e, i) ? e.marking.detail[i] : "")
        .Text();
  };
  const auto parts_json = [&](const RunInParts& parts) {
    return JsonObject()
        .Add("node", e.graph.nodes[parts.node].name)
        .Add("function", parts.function)
        .Add("ops", parts.ops)
        .Add("clustered", parts.clustered)
        .Add("clusters", parts.clusters)
        .Text();
  };
  return JsonObject()
             .Add("ops", totals.ops)
             .Add("clustered", totals.clustered)
             .AddArray("clusters", JsonArray(e.marking.clusters, cluster_json))
             .AddArray("left_out", JsonArray(left_out, left_out_json))
             .AddArray("in_parts", JsonArray(e.in_parts, parts_json))
             .Text() +
         "\n";
}

std::string RenderText(const Explanation& e) {
  const Totals totals = Count(e);
  const double share = totals.ops == 0 ? 0 : 100.0 * totals.clustered / totals.ops;
  std::string out =
      absl::StrFormat("%d of %d ops (%.1f %%) in %d cluster%s\n", totals.clustered, totals.ops,
                      share, e.marking.clusters.size(), e.marking.clusters.size() == 1 ? "" : "s");
  absl::StatusOr<graph_def::GraphIndex> index = graph_def::GraphIndex::Create(e.graph);
  if (!index.ok()) return out;
  const CostModel cost(*index);
  for (size_t c = 0; c < e.marking.clusters.size(); ++c) {
    AppendClusterText(e, *index, cost, e.marking.clusters[c], &out);
    if (!e.memory.empty()) AppendMemoryText(e.memory[c], &out);
  }
  AppendLeftOutText(e, &out);
  AppendPartsText(e, &out);
  return out;
}

std::string RenderDot(const Explanation& e) {
  std::string out = "digraph tektite {\n  node [shape=box];\n";
  auto label = [&](int i) {
    const NodeDef& node = e.graph.nodes[i];
    std::string l =
        absl::StrCat("  n", i, " [label=", JsonString(absl::StrCat(node.name, " : ", node.op)));
    if (IsLeftOut(e, i)) {
      absl::StrAppend(&l, ", color=red, tooltip=", JsonString(ReasonCode(e.marking.reason[i])));
    }
    return l + "];\n";
  };
  for (size_t c = 0; c < e.marking.clusters.size(); ++c) {
    absl::StrAppend(&out, "  subgraph cluster_", c,
                    " { label=", JsonString(e.marking.clusters[c].name), ";\n");
    for (int i : e.marking.clusters[c].nodes) {
      if (e.marking.cluster_of[i] == static_cast<int>(c)) out += "  " + label(i);
    }
    out += "  }\n";
  }
  std::map<absl::string_view, int> by_name;
  for (size_t i = 0; i < e.graph.nodes.size(); ++i) {
    by_name[e.graph.nodes[i].name] = static_cast<int>(i);
    if (e.marking.cluster_of[i] < 0) out += label(static_cast<int>(i));
  }
  for (size_t i = 0; i < e.graph.nodes.size(); ++i) {
    for (const graph_def::NodeInput& input : e.graph.nodes[i].inputs) {
      absl::StrAppend(&out, "  n", by_name[input.node], " -> n", i,
                      input.is_control() ? " [style=dotted]" : "", ";\n");
    }
  }
  return out + "}\n";
}

}  // namespace tektite::clustering
