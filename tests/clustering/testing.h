// Graphs in short for the clustering tests, and markings as text.
//
//   const std::string graph = Input("x") + Node("y", "Exp", {"x"}) + Node("z", "Neg", {"y"});
//   EXPECT_EQ(Clusters(graph), "y z");
#ifndef TEKTITE_TESTS_CLUSTERING_TESTING_H_
#define TEKTITE_TESTS_CLUSTERING_TESTING_H_

#include <gmock/gmock.h>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clustering/mark_clusters.h"
#include "tests/graph_def/testing.h"

namespace tektite::clustering {

// A node; `extra` is more text of NodeDef.
inline std::string Node(absl::string_view name, absl::string_view op,
                        std::initializer_list<absl::string_view> inputs,
                        absl::string_view extra = "") {
  return absl::StrCat("node { name: '", name, "' op: '", op, "' ",
                      absl::StrJoin(inputs, "",
                                    [](std::string* out, absl::string_view input) {
                                      absl::StrAppend(out, "input: '", input, "' ");
                                    }),
                      extra, " attr { key: 'T' value { type: DT_FLOAT } } }\n");
}

inline std::string Attr(absl::string_view name, absl::string_view value) {
  return absl::StrCat(" attr { key: '", name, "' value { ", value, " } } ");
}

// A placeholder of float32 [1024,1024]: anything on it is worth compiling.
inline std::string Input(absl::string_view name) {
  return Node(name, "Placeholder", {},
              Attr("dtype", "type: DT_FLOAT") +
                  Attr("shape", "shape { dim { size: 1024 } dim { size: 1024 } }"));
}

// An int32 constant vector (scalar where there is one value).
inline std::string Ints(absl::string_view name, std::initializer_list<int> values,
                        std::initializer_list<absl::string_view> inputs = {}) {
  const std::string dim =
      values.size() == 1 ? "" : absl::StrCat("dim { size: ", values.size(), " }");
  return Node(name, "Const", inputs,
              Attr("dtype", "type: DT_INT32") +
                  Attr("value", absl::StrCat("tensor { dtype: DT_INT32 tensor_shape { ", dim,
                                             " } int_val: [", absl::StrJoin(values, ","), "] }")));
}

// No cluster of two ops is too little work, and none of one op is enough: what is left are the
// rules.
inline MarkOptions Rules() {
  MarkOptions options;
  options.min_cluster_cost = 0;
  options.min_lone_cost = std::numeric_limits<int64_t>::max();
  return options;
}

inline Marking Mark(const graph_def::GraphDef& graph, const MarkOptions& options = Rules()) {
  absl::StatusOr<Marking> marking = MarkClusters(graph, options);
  EXPECT_TRUE(marking.ok()) << marking.status();
  return marking.ok() ? *std::move(marking) : Marking();
}

// The members of each cluster by name, clusters apart by " | ".
inline std::string Clusters(absl::string_view text, const MarkOptions& options = Rules()) {
  const graph_def::GraphDef graph = graph_def::ParseGraph(text);
  const Marking marking = Mark(graph, options);
  return absl::StrJoin(marking.clusters, " | ", [&](std::string* out, const MarkedCluster& c) {
    absl::StrAppend(out, absl::StrJoin(c.nodes, " ", [&](std::string* o, int node) {
                      absl::StrAppend(o, graph.nodes[node].name);
                    }));
  });
}

// Why `node` is left out: "TOO_SMALL"; "NONE" when it is not.
inline std::string WhyNot(absl::string_view text, absl::string_view node,
                          const MarkOptions& options = Rules()) {
  const graph_def::GraphDef graph = graph_def::ParseGraph(text);
  const Marking marking = Mark(graph, options);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].name == node) return std::string(ReasonCode(marking.reason[i]));
  }
  return "no such node";
}

}  // namespace tektite::clustering

#endif  // TEKTITE_TESTS_CLUSTERING_TESTING_H_
