// Whatever bytes come in, the answer is a graph or an error: never a crash, a hang, or a huge
// allocation. Run it with TEKTITE_SANITIZE=address,undefined to see more.
#include <gtest/gtest.h>

#include <random>

#include "clustering/explain.h"
#include "clustering/extract_cluster.h"
#include "clustering/graph_def/reader.h"
#include "clustering/graph_def/tensor.h"
#include "clustering/graph_def/text_reader.h"
#include "clustering/graph_def/writer.h"
#include "tests/graph_def/testing.h"

namespace tektite::graph_def {
namespace {

// All that `tektite explain` and its neighbours do with a model file.
void UseAll(const std::string& bytes) {
  clustering::MarkOptions options;
  options.min_cluster_ops = 1;
  options.min_cluster_cost = 0;
  absl::StatusOr<clustering::Explanation> e = clustering::Explain(bytes, options);
  if (!e.ok()) {
    EXPECT_FALSE(e.status().message().empty());
    return;
  }
  EXPECT_FALSE(clustering::RenderText(*e).empty());
  EXPECT_FALSE(clustering::RenderJson(*e).empty());
  EXPECT_FALSE(clustering::RenderDot(*e).empty());
  for (const NodeDef& node : e->graph.nodes) {
    for (const Attr& attr : node.attrs.entries()) {
      if (const auto* tensor = attr.value.As<TensorProto>()) {
        MaterializeTensor(*tensor, /*max_broadcast_bytes=*/1 << 20).status().IgnoreError();
      }
    }
  }
  absl::StatusOr<GraphDef> again = ReadGraphDef(WriteGraphDef(e->graph));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->nodes.size(), e->graph.nodes.size());
  clustering::CloseGraph(e->graph, {}).status().IgnoreError();
}

std::string Mutate(std::string bytes, std::mt19937* random) {
  auto below = [&](size_t n) { return n == 0 ? 0 : (*random)() % n; };
  const int edits = 1 + static_cast<int>(below(4));
  for (int i = 0; i < edits && !bytes.empty(); ++i) {
    const size_t at = below(bytes.size());
    switch (below(7)) {
      case 0:
        bytes[at] = static_cast<char>((*random)());
        break;
      case 1:
        bytes[at] ^= static_cast<char>(1 << below(8));
        break;
      case 2:
        bytes.resize(at);
        break;
      case 3:
        bytes.erase(at, 1 + below(16));
        break;
      case 4:
        bytes.insert(at, bytes.substr(below(bytes.size()), below(64)));
        break;
      case 5:  // a huge varint
        bytes.insert(at, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F");
        break;
      case 6:
        bytes.replace(at, 4, bytes.substr(below(bytes.size()), 4));
        break;
    }
  }
  return bytes;
}

void MutateFile(const std::string& file, int times, unsigned seed) {
  const std::string bytes = ReadTestData(file);
  UseAll(bytes);
  std::mt19937 random(seed);
  for (int i = 0; i < times; ++i) {
    SCOPED_TRACE(absl::StrCat(file, " seed ", seed, " round ", i));
    UseAll(Mutate(bytes, &random));
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Mutation, Frozen) { MutateFile("frozen.pb", 4000, 1); }
TEST(Mutation, Constants) { MutateFile("constants.pb", 4000, 2); }
TEST(Mutation, SavedModel) { MutateFile("saved_model.pb", 3000, 3); }
TEST(Mutation, Text) { MutateFile("frozen.pbtxt", 3000, 4); }

TEST(Mutation, EveryTruncation) {
  for (const char* file : {"frozen.pb", "constants.pb"}) {
    const std::string bytes = ReadTestData(file);
    for (size_t size = 0; size < bytes.size(); ++size) UseAll(bytes.substr(0, size));
  }
}

TEST(Mutation, RandomBytes) {
  std::mt19937 random(5);
  for (int i = 0; i < 4000; ++i) {
    std::string bytes(random() % 200, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    if (!bytes.empty() && i % 2 == 0) bytes[0] = i % 4 == 0 ? '\x0A' : '\x08';
    UseAll(bytes);
  }
}

TEST(Mutation, DeepAttributesAreAnError) {
  NodeDef node;
  node.name = "n";
  AttrValue nested = AttrValue::Of(FunctionRef());
  for (int i = 0; i < 60; ++i) {
    FunctionRef outer;
    outer.attrs.Set("a", nested);
    nested = AttrValue::Of(std::move(outer));
  }
  node.attrs.Set("a", nested);
  GraphDef graph;
  graph.nodes.push_back(node);
  EXPECT_EQ(ReadGraphDef(WriteGraphDef(graph)).status().message(),
            "not a GraphDef: attributes are nested too deep");
}

}  // namespace
}  // namespace tektite::graph_def
