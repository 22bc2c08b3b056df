#include "tests/ops/run_op.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "jit/ops/builder.h"
#include "jit/reference/interpreter.h"

namespace tektite::testing {

using ir::Attr;
using ir::Literal;

namespace {

// The node `op` of a graph with one node, whose result type is a lie until it is inferred.
absl::StatusOr<std::unique_ptr<ir::Graph>> Untyped(const std::string& parameters,
                                                   const std::string& constants, int operands,
                                                   absl::string_view op, absl::string_view attrs,
                                                   absl::string_view regions) {
  std::string list;
  for (int i = 0; i < operands; ++i) absl::StrAppend(&list, i > 0 ? ", " : "", "%", i);
  return ir::Parse(absl::StrCat("graph @t(", parameters, ") -> () {\n", constants, "%", operands,
                                ": f32[] = ", op, "(", list, ") {", attrs, "}\n", regions,
                                "\nreturn }"));
}

std::vector<std::unique_ptr<ir::Graph>> CloneRegions(const ir::Node& node) {
  std::vector<std::unique_ptr<ir::Graph>> regions;
  for (int i = 0; i < node.num_regions(); ++i) regions.push_back(node.region(i).Clone());
  return regions;
}

}  // namespace

std::string ToText(const Literal& literal) {
  std::string text = literal.ToString();
  size_t at = 0;
  while ((at = text.find("nan:", at)) != std::string::npos) {
    at += 3;
    text.erase(at, text.find_first_of(",}", at) - at);
  }
  return text;
}

std::string ToText(const std::vector<Literal>& literals) {
  return absl::StrJoin(literals, " ",
                       [](std::string* out, const Literal& l) { absl::StrAppend(out, ToText(l)); });
}

std::unique_ptr<ir::Graph> ParseOrDie(absl::string_view text) {
  auto graph = ir::Parse(text);
  EXPECT_TRUE(graph.ok()) << graph.status() << "\n" << text;
  if (!graph.ok()) return std::make_unique<ir::Graph>();
  return *std::move(graph);
}

std::string RunOp(absl::string_view op, const std::vector<std::string>& operands,
                  absl::string_view attrs, absl::string_view regions) {
  std::string constants;
  for (size_t i = 0; i < operands.size(); ++i) {
    absl::StrAppend(&constants, "%", i, ": ", operands[i].substr(0, operands[i].find('{')),
                    " = constant() {value = ", operands[i], "}\n");
  }
  auto untyped = Untyped("", constants, static_cast<int>(operands.size()), op, attrs, regions);
  if (!untyped.ok()) return std::string(untyped.status().message());
  ops::FuncBuilder b;
  std::vector<ir::Value> values;
  const ir::Node* last = nullptr;
  for (const auto& node : (*untyped)->nodes()) {
    last = node.get();
    if (values.size() < operands.size()) {
      values.push_back(b.Constant(node->attrs().GetLiteral(Attr::value)));
    }
  }
  b.Return(b.AddMulti(last->op(), values, last->attrs(), CloneRegions(*last)));
  auto graph = b.Build();
  if (!graph.ok()) return std::string(graph.status().message());
  auto results = reference::Evaluate(**graph, {});
  if (!results.ok()) return std::string(results.status().message());
  return ToText(*results);
}

std::string InferTypes(absl::string_view op, const std::vector<std::string>& operand_types,
                       absl::string_view attrs, absl::string_view regions) {
  std::string parameters;
  for (size_t i = 0; i < operand_types.size(); ++i) {
    absl::StrAppend(&parameters, i > 0 ? ", " : "", "%", i, ": ", operand_types[i]);
  }
  auto untyped =
      Untyped(parameters, "", static_cast<int>(operand_types.size()), op, attrs, regions);
  if (!untyped.ok()) return std::string(untyped.status().message());
  const ir::Node& node = *(*untyped)->nodes().back();
  std::vector<ir::Shape> shapes;
  for (ir::Value v : node.operands()) shapes.push_back(v.shape());
  std::vector<const ir::Graph*> views;
  for (int i = 0; i < node.num_regions(); ++i) views.push_back(&node.region(i));
  auto inferred = ops::InferShapes(node.op(), shapes, node.attrs(), views);
  if (!inferred.ok()) return std::string(inferred.status().message());
  return absl::StrJoin(*inferred, " ", [](std::string* out, const ir::Shape& s) {
    absl::StrAppend(out, s.ToString());
  });
}

}  // namespace tektite::testing
