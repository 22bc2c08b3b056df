// Any bytes as a model file: GraphDef, its text form, or a SavedModel.
// The answer is a report or an error; a graph that was read is written and read again.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "clustering/explain.h"
#include "clustering/extract_cluster.h"
#include "clustering/graph_def/reader.h"
#include "clustering/graph_def/writer.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using tektite::testing::Require;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  tektite::clustering::MarkOptions options;
  options.min_cluster_ops = 1;
  options.min_cluster_cost = 0;
  auto report = tektite::clustering::Explain(bytes, options);
  if (!report.ok()) {
    Require(!report.status().message().empty(), "an error has a message");
    return 0;
  }
  Require(!tektite::clustering::RenderText(*report).empty(), "a report has text");
  Require(!tektite::clustering::RenderJson(*report).empty(), "a report is JSON");
  auto again = tektite::graph_def::ReadGraphDef(tektite::graph_def::WriteGraphDef(report->graph));
  Require(again.ok(), "a graph that was written can be read");
  Require(again->nodes.size() == report->graph.nodes.size(), "no node is lost");
  tektite::clustering::CloseGraph(report->graph, {}).status().IgnoreError();
  return 0;
}
