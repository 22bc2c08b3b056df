// Graphs for the importer's tests, written as text.
//
//   ReadText(Arg(0, "DT_FLOAT") + Node("y", "Tanh", {"arg0"}) + Retval(0, "y"))
#ifndef TEKTITE_TESTS_IMPORTER_GRAPH_TEXT_H_
#define TEKTITE_TESTS_IMPORTER_GRAPH_TEXT_H_

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clustering/graph_def/text_reader.h"
#include "clustering/importer/importer.h"

namespace tektite::importer {

inline std::string Arg(int index, absl::string_view type) {
  return absl::StrCat("node { name: 'arg", index,
                      "' op: '_Arg' attr { key: 'index' value { i: ", index,
                      " } } attr { key: 'T' value { type: ", type, " } } }\n");
}

inline std::string Retval(int index, absl::string_view input) {
  return absl::StrCat("node { name: 'ret", index, "' op: '_Retval' input: '", input,
                      "' attr { key: 'index' value { i: ", index, " } } }\n");
}

// A vector (or, without brackets in mind, one element of shape []) of s32.
inline std::string Ints(absl::string_view name, std::vector<int> values, bool scalar = false) {
  std::string text =
      absl::StrCat("node { name: '", name,
                   "' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } } attr { key: "
                   "'value' value { tensor { dtype: DT_INT32 tensor_shape { ");
  if (!scalar) absl::StrAppend(&text, "dim { size: ", values.size(), " } ");
  absl::StrAppend(&text, "} ");
  for (int v : values) absl::StrAppend(&text, "int_val: ", v, " ");
  return absl::StrCat(text, "} } } }\n");
}

inline std::string Node(absl::string_view name, absl::string_view op,
                        std::vector<std::string> inputs, absl::string_view attrs = "") {
  std::string text = absl::StrCat("node { name: '", name, "' op: '", op, "' ");
  for (const std::string& input : inputs) absl::StrAppend(&text, "input: '", input, "' ");
  return absl::StrCat(text, attrs, " }\n");
}

inline graph_def::GraphDef ReadText(const std::string& text) {
  auto graph = graph_def::ReadTextGraphDef(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *graph : graph_def::GraphDef();
}

inline ArgType F32(ir::Dims dims) {
  ArgType arg;
  arg.shape = ir::Shape(ir::DType::kF32, std::move(dims));
  return arg;
}

}  // namespace tektite::importer

#endif  // TEKTITE_TESTS_IMPORTER_GRAPH_TEXT_H_
