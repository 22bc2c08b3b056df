// What marking tells a host: which nodes are compiled together, and what has become of them.
#include <string>

#include "absl/strings/str_cat.h"
#include "clustering/graph_def/reader.h"
#include "clustering/graph_def/text_reader.h"
#include "clustering/graph_def/writer.h"
#include "gtest/gtest.h"
#include "tests/c_api/test_host.h"

namespace tektite {
namespace {

std::string Node(const char* name, const char* op, const std::string& inputs,
                 const std::string& attributes = "") {
  std::string text = absl::StrCat("node { name: '", name, "' op: '", op, "' ");
  size_t begin = 0;
  while (begin < inputs.size()) {
    const size_t end = inputs.find(' ', begin);
    absl::StrAppend(&text, "input: '", inputs.substr(begin, end - begin), "' ");
    begin = end == inputs.npos ? inputs.size() : end + 1;
  }
  return absl::StrCat(text, "attr { key: 'T' value { type: DT_FLOAT } } ", attributes, "}\n");
}

std::string Attr(const char* name, const char* value) {
  return absl::StrCat("attr { key: '", name, "' value { ", value, " } } ");
}

// The host had to find the sum's form again, and do by itself what marking had done.
TEST(Marking, ASumThatGrapplerSpelledOutComesBackAsANode) {
  const std::string type = Attr("dtype", "type: DT_FLOAT");
  const std::string name = Attr("var_name", "s: 'v'");
  const std::string zeros =
      Attr("value", "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 4 } } float_val: 0 }");
  const auto graph = graph_def::ReadTextGraphDef(
      absl::StrCat(Node("x", "Placeholder", "",
                        type + Attr("shape", "shape { dim { size: 1024 } dim { size: 1024 } }")),
                   Node("y", "Exp", "x"), Node("v", "TemporaryVariable", "^y", type + name),
                   Node("zeros", "Const", "", type + zeros), Node("init", "Assign", "v zeros"),
                   Node("accum_1", "AssignAdd", "init x"), Node("accum_2", "AssignAdd", "init y"),
                   Node("s", "DestroyTemporaryVariable", "init ^accum_1 ^accum_2", name),
                   Node("z", "Neg", "s")));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const std::string bytes = graph_def::WriteGraphDef(*graph);
  const CompilerPtr compiler = MakeCompiler("--min_cluster_cost=0");
  tektite_status status = {};
  const MarkingPtr marking(
      tektite_mark(compiler.get(), bytes.data(), bytes.size(), nullptr, &status));
  ASSERT_NE(marking, nullptr) << status.message;
  ASSERT_EQ(marking->num_clusters, 1);
  int rewritten = 0;
  for (int i = 0; i < marking->clusters[0].num_nodes; ++i) {
    const tektite_marked_node& node = marking->clusters[0].nodes[i];
    EXPECT_EQ(node.rewritten != nullptr, node.name == std::string("s"));
    if (node.rewritten == nullptr) continue;
    ++rewritten;
    // A graph's field 1, and its length.
    ASSERT_LT(node.rewritten_size, 128);
    std::string alone = {'\n', static_cast<char>(node.rewritten_size)};
    alone.append(static_cast<const char*>(node.rewritten), node.rewritten_size);
    const auto read = graph_def::ReadGraphDef(alone);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->nodes[0].op, "AddN");
    ASSERT_EQ(read->nodes[0].inputs.size(), 3) << "x, y, and what the chain waited for";
    EXPECT_EQ(read->nodes[0].inputs[0].node, "x");
    EXPECT_EQ(read->nodes[0].inputs[1].node, "y");
  }
  EXPECT_EQ(rewritten, 1);
}

}  // namespace
}  // namespace tektite
