// Shape arithmetic: what is folded has the shape that the op itself infers.
#include "clustering/importer/contents/contents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "clustering/importer/body_import.h"
#include "tests/importer/graph_text.h"

namespace tektite::importer {
namespace {

using ::testing::HasSubstr;

TensorInfo Known(Dims dims, Dims contents) {
  TensorInfo info;
  info.shape = Shape(DType::kS32, std::move(dims));
  info.contents = std::move(contents);
  return info;
}

// A sum of a row and a column was folded with the row's shape.
TEST(Contents, WrongShapesAreNotFolded) {
  const graph_def::GraphDef graph = ReadText(Node("sum", "AddV2", {"a", "b"}));
  FunctionLibrary functions(graph);
  FuncBuilder builder;
  std::vector<Value> checks;
  std::vector<absl::Status> doubts;
  const Scope scope{builder, checks, doubts, functions};
  TensorInfo row = Known({Dim(1), Dim(2)}, {Dim(0), Dim(1)});
  TensorInfo column = Known({Dim(2), Dim(1)}, {Dim(0), Dim(1)});
  NodeImport op(graph.nodes[0], {&row, &column}, scope);
  ASSERT_TRUE(op.ReturnContents(DType::kS32, {Dim(1), Dim(2)}, {Dim(0), Dim(2)}).ok());
  EXPECT_THAT(std::string(CheckFolded(op).message()),
              HasSubstr("folded as s32[1,2], not s32[2,2]"));
  op.results().clear();
  EXPECT_FALSE(op.ReturnContents(DType::kS32, {Dim(2), Dim(2)}, {Dim(0)}).ok());
  EXPECT_FALSE(op.ReturnContents(DType::kS32, {Dim::Symbol("n")}, {Dim(0)}).ok());
  op.results().clear();
  ASSERT_TRUE(FoldContents(op));
  EXPECT_EQ(op.results()[0].shape.ToString(), "s32[2,2]");
  EXPECT_EQ(*op.results()[0].contents, Dims({Dim(0), Dim(1), Dim(1), Dim(2)}));
}

}  // namespace
}  // namespace tektite::importer
