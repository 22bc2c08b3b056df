// Helpers of the GraphDef tests: files of testdata/ and graphs from text.
#ifndef TEKTITE_TESTS_GRAPH_DEF_TESTING_H_
#define TEKTITE_TESTS_GRAPH_DEF_TESTING_H_

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "clustering/graph_def/text_reader.h"

namespace tektite::graph_def {

#ifdef TEKTITE_TESTDATA
inline std::string ReadTestData(const std::string& name) {
  std::ifstream file(absl::StrCat(TEKTITE_TESTDATA, "/", name), std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}
#endif

inline GraphDef ParseGraph(absl::string_view text) {
  absl::StatusOr<GraphDef> graph = ReadTextGraphDef(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : GraphDef();
}

// The node called `name`; a failure and an empty one where there is none.
inline NodeDef FindNode(const GraphDef& graph, absl::string_view name) {
  for (const NodeDef& node : graph.nodes) {
    if (node.name == name) return node;
  }
  ADD_FAILURE() << "no node '" << name << "'";
  return NodeDef();
}

// Its inputs, as text.
inline std::string Inputs(const GraphDef& graph, absl::string_view name) {
  std::string out;
  for (const NodeInput& input : FindNode(graph, name).inputs) {
    absl::StrAppend(&out, out.empty() ? "" : " ", input.ToString());
  }
  return out;
}

}  // namespace tektite::graph_def

#endif  // TEKTITE_TESTS_GRAPH_DEF_TESTING_H_
