// The marking part of tektite.h: which nodes of a graph are compiled together.
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "clustering/graph_def/inline_functions.h"
#include "clustering/graph_def/reader.h"
#include "clustering/graph_def/writer.h"
#include "clustering/mark_clusters.h"
#include "clustering/op_table.h"
#include "clustering/restore_add_n.h"
#include "clustering/source/count_marking.h"
#include "jit/base/status.h"
#include "runtime_hooks/c_api/arguments.h"
#include "runtime_hooks/c_api/guard.h"
#include "runtime_hooks/c_api/handles.h"
#include "runtime_hooks/c_api/tektite.h"

namespace {

// What a tektite_marking points to.
struct OwnedMarking : tektite_marking {
  struct Node {
    std::string name, rewritten;
  };
  struct Cluster {
    std::string name;
    std::vector<Node> nodes;
    std::vector<tektite_marked_node> views;
  };
  std::vector<Cluster> owned;
  std::vector<tektite_marked_cluster> views;

  // Once all is there.
  tektite_marking* View() {
    for (Cluster& cluster : owned) {
      for (const Node& node : cluster.nodes) {
        const bool is_rewritten = !node.rewritten.empty();
        cluster.views.push_back({node.name.c_str(), is_rewritten ? node.rewritten.data() : nullptr,
                                 node.rewritten.size()});
      }
      views.push_back(
          {cluster.name.c_str(), cluster.views.data(), static_cast<int32_t>(cluster.views.size())});
    }
    clusters = views.data();
    num_clusters = static_cast<int32_t>(views.size());
    return this;
  }
};

using tektite::c_api::Guarded;
using tektite::c_api::KnownFields;
using tektite::clustering::Marking;
using tektite::clustering::MarkOptions;
using tektite::clustering::OpFacts;
using tektite::graph_def::GraphDef;

// The size of the struct in the first header of this ABI version.
constexpr size_t kLeastOptionBytes = offsetof(tektite_mark_options, inline_calls);

absl::StatusOr<MarkOptions> ReadOptions(const tektite::Flags& flags,
                                        const tektite_mark_options* given) {
  MarkOptions options = tektite::c_api::MarkOptionsOf(flags);
  if (given == nullptr) return options;
  if (given->struct_size < kLeastOptionBytes) {
    return tektite::InvalidArgument("tektite_mark_options: struct_size is too small");
  }
  if (given->mode == TEKTITE_MARK_SCOPED) {
    options.mode = tektite::clustering::MarkMode::kScoped;
  } else if (given->mode != TEKTITE_MARK_ALL) {
    return tektite::InvalidArgument("tektite_mark_options: no mode ", given->mode);
  }
  const tektite_mark_options known = KnownFields(*given);
  options.has_direct_calls = known.is_function != 0;
  if (known.function != nullptr) options.function = known.function;
  for (int i = 0; i < known.num_fetches; ++i) options.fetches.insert(known.fetches[i]);
  for (int i = 0; i < known.num_card_devices; ++i) {
    options.card_devices.insert(known.card_devices[i]);
  }
  return options;
}

absl::StatusOr<tektite_marking*> Mark(tektite_compiler* compiler, absl::string_view bytes,
                                      const tektite_mark_options* given) {
  TEKTITE_ASSIGN_OR_RETURN(const MarkOptions options, ReadOptions(compiler->state->flags(), given));
  // A cluster that never gets code would only cost its host a function call (6 us of 98 us in a
  // small graph).
  if (compiler->state->flags().compile == "off") return (new OwnedMarking)->View();
  TEKTITE_ASSIGN_OR_RETURN(GraphDef graph, tektite::graph_def::ReadGraphDef(
                                               bytes, tektite::graph_def::TensorStorage::kBorrow));
  const bool inlines_calls = given != nullptr && KnownFields(*given).inline_calls != 0;
  if (inlines_calls) {
    tektite::graph_def::InlineFunctions({}, tektite::graph_def::InlineLimits(), &graph);
  }
  TEKTITE_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                           tektite::clustering::RestoreAddN(&graph));
  const std::set<std::string> rewritten(names.begin(), names.end());
  TEKTITE_ASSIGN_OR_RETURN(const Marking marking,
                           tektite::clustering::MarkClusters(graph, options));
  tektite::clustering::CountMarking(graph, marking, inlines_calls, *compiler->state);
  auto result = std::make_unique<OwnedMarking>();
  for (const auto& cluster : marking.clusters) {
    result->owned.push_back({cluster.name, {}, {}});
    for (int node : cluster.nodes) {
      // A constant may belong to several clusters, and outsiders may read it too: it is never taken
      // out of the graph but copied (or passed, if large) along with the nodes that read it.
      const tektite::graph_def::NodeDef& def = graph.nodes[node];
      if (def.op == "Const") continue;
      const bool is_rewritten = rewritten.count(def.name) > 0;
      result->owned.back().nodes.push_back(
          {def.name, is_rewritten ? tektite::graph_def::SerializeNode(def) : ""});
    }
  }
  return result.release()->View();
}

}  // namespace

extern "C" {

tektite_marking* tektite_mark(tektite_compiler* compiler, const void* graph_def, size_t size,
                              const tektite_mark_options* options, tektite_status* status) {
  return Guarded<tektite_marking*>(status, nullptr, [&] {
    return Mark(compiler, tektite::c_api::View(graph_def, size), options);
  });
}

void tektite_marking_destroy(tektite_marking* marking) {
  delete static_cast<OwnedMarking*>(marking);
}

int32_t tektite_op_assigns(const char* op) {
  const OpFacts& facts = tektite::clustering::FactsOf(op);
  return facts.Is(OpFacts::kWritesVariable) || facts.Is(OpFacts::kUpdatesVariable) ? 1 : 0;
}

}  // extern "C"
