// The importer on graphs in text form: what IR they become, what is refused, what is asked for.
#include "clustering/importer/importer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "clustering/importer/import_table.h"
#include "jit/ops/ops.h"
#include "jit/reference/interpreter.h"
#include "tests/importer/graph_text.h"

namespace tektite::importer {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// The IR's text, or the error's.
std::string Import(const std::string& text, std::vector<ArgType> args) {
  auto imported = ImportGraph(ReadText(text), args);
  if (!imported.ok()) return std::string(imported.status().message());
  EXPECT_TRUE(ops::VerifyGraph(*imported->graph).ok());
  return ir::Print(*imported->graph);
}

TEST(Importer, MakesBroadcastsExplicit) {
  std::string text = Arg(0, "DT_FLOAT") + Arg(1, "DT_FLOAT") +
                     Node("sum", "AddV2", {"arg0", "arg1"}) + Retval(0, "sum");
  EXPECT_THAT(Import(text, {F32({Dim::Symbol("n"), Dim(3)}), F32({Dim(3)})}),
              AllOf(HasSubstr("broadcast_in_dim(%arg1) {dimensions = [1], shape = (n, 3)}"),
                    HasSubstr("f32[n,3] = add(%arg0, ")));
}

// It had two parts, so that the result had one more dimension.
TEST(Importer, ConjugatesRealNumbersAsTheyAre) {
  const std::string text = Arg(0, "DT_FLOAT") + Node("y", "Conj", {"arg0"}) + Retval(0, "y");
  EXPECT_THAT(Import(text, {F32({Dim::Symbol("n")})}), HasSubstr("return %arg0"));
}

// Where TensorFlow's kernels raise errors, code had results.
TEST(Importer, RefusesWhatTensorFlowsKernelsRefuse) {
  const ArgType vector = F32({Dim::Symbol("n")});
  const std::string x = Arg(0, "DT_FLOAT"), end = Retval(0, "y");
  const std::string shrink = "attr { key: 'shrink_axis_mask' value { i: 1 } }";
  EXPECT_THAT(Import(x + Ints("at", {1}) + Ints("to", {2}) + Ints("step", {-1}) +
                         Node("y", "StridedSlice", {"arg0", "at", "to", "step"}, shrink) + end,
                     {vector}),
              HasSubstr("one element backwards"));
  EXPECT_THAT(Import(x + Ints("sizes", {-1}) + Ints("axis", {0}, true) +
                         Node("y", "SplitV", {"arg0", "sizes", "axis"}) + end,
                     {vector}),
              HasSubstr("a rest alone"));
  EXPECT_THAT(Import(x + Ints("point", {1}) + Ints("shape", {4}) + Ints("zero", {0}, true) +
                         Node("row", "GatherV2", {"arg0", "zero", "zero"}) +
                         Node("y", "ScatterNd", {"point", "row", "shape"}) + end,
                     {vector}),
              HasSubstr("indices of rank 1"));
}

// A shape was asked for a dimension that it had not, which ended the process.
TEST(Importer, RefusesOperandsOfOtherRanks) {
  const std::string x = Arg(0, "DT_FLOAT"), end = Retval(0, "y");
  EXPECT_THAT(Import(x + Ints("points", {0, 1, 2}) + Ints("shape", {2, 3}) +
                         Node("zero", "ZerosLike", {"arg0"}) +
                         Node("y", "SparseToDense", {"points", "shape", "arg0", "zero"}) + end,
                     {F32({})}),
              HasSubstr("SparseToDense 'y': "));
  const std::string windows =
      "attr { key: 'padding' value { s: 'SAME' } } "
      "attr { key: 'strides' value { list { i: 1 i: 1 i: 1 i: 1 } } }";
  EXPECT_THAT(Import(x + Arg(1, "DT_FLOAT") + Ints("sizes", {8, 8}) +
                         Node("y", "Conv2DBackpropInput", {"sizes", "arg0", "arg1"}, windows) + end,
                     {F32({3, 4}), F32({1, 8, 8, 4})}),
              HasSubstr("a filter of rank 2"));
}

// The sums of such amounts wrapped round, so that they seemed to fit, and the next step asked what
// was not there for a dimension.
TEST(Importer, RefusesGradientsOfMirrorsThatDoNotFit) {
  const auto import = [](int64_t low, int64_t high, ir::Dim size, const char* mode) {
    const std::string text = absl::StrCat(
        "node { name: 'paddings' op: 'Const' attr { key: 'dtype' value { type: DT_INT64 } } attr { "
        "key: 'value' value { tensor { dtype: DT_INT64 tensor_shape { dim { size: 1 } dim { size: "
        "2 } } int64_val: ",
        low, " int64_val: ", high, " } } } }\n");
    return Import(Arg(0, "DT_FLOAT") + text +
                      Node("y", "MirrorPadGrad", {"arg0", "paddings"},
                           absl::StrCat("attr { key: 'mode' value { s: '", mode, "' } }")) +
                      Retval(0, "y"),
                  {F32({std::move(size)})});
  };
  for (const char* mode : {"REFLECT", "SYMMETRIC"}) {
    for (const int64_t amount : {int64_t{-1}, int64_t{1} << 62, INT64_MAX, INT64_MIN}) {
      for (const ir::Dim& size : {ir::Dim(8), ir::Dim::Symbol("n")}) {
        EXPECT_EQ(import(amount, amount, size, mode),
                  absl::StrCat("MirrorPadGrad 'y': padding ", amount));
        EXPECT_EQ(import(1, amount, size, mode),
                  absl::StrCat("MirrorPadGrad 'y': padding ", amount));
      }
    }
    EXPECT_EQ(import(5, 5, 8, mode), "MirrorPadGrad 'y': padding 5");
    EXPECT_EQ(import(3, 3, 8, mode), "MirrorPadGrad 'y': padding 3");
    EXPECT_THAT(import(1, 2, 8, mode), HasSubstr("f32[5]"));
  }
}

TEST(Importer, FollowsShapesAsArithmetic) {
  // reshape(x, [shape(x)[0] * 2, -1]) of [n, 6] leaves a reshape, and a guard: beside a 0
  // TensorFlow leaves zeros out of both shapes.
  std::string text = Arg(0, "DT_FLOAT") + Node("shape", "Shape", {"arg0"}) + Ints("zero", {0}) +
                     Ints("one", {1}) + Ints("two", {2}, true) + Ints("rest", {-1}, true) +
                     Node("n", "StridedSlice", {"shape", "zero", "one", "one"},
                          "attr { key: 'shrink_axis_mask' value { i: 1 } }") +
                     Node("twice", "Mul", {"n", "two"}) + Node("to", "Pack", {"twice", "rest"}) +
                     Node("y", "Reshape", {"arg0", "to"}) + Retval(0, "y");
  EXPECT_EQ(Import(text, {F32({Dim::Symbol("n"), Dim(6)})}),
            "graph @main(%arg0: f32[n,6]) -> (f32[2*n,3]) {\n"
            "  guard max(1, 2*n) == 2*n\n"
            "  %1: f32[2*n,3] = reshape(%arg0) {shape = (2*n, 3)} \"y\"\n"
            "  return %1\n}\n");
}

TEST(Importer, GivesSizesAsData) {
  std::string text = Arg(0, "DT_FLOAT") + Node("size", "Size", {"arg0"}) + Retval(0, "size");
  auto imported = ImportGraph(ReadText(text), {F32({Dim::Symbol("n"), Dim::Symbol("m")})});
  ASSERT_TRUE(imported.ok()) << imported.status();
  auto x = ir::Literal::Allocate(DType::kF32, {5, 7});
  auto result = reference::Evaluate(*imported->graph, {x});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ((*result)[0].AsInt(0), 35);
}

// A shape that is an argument and differs from call to call.
TEST(Importer, TakesElementsOfAnArgumentAsSizes) {
  std::string text = Arg(0, "DT_FLOAT") + Arg(1, "DT_INT32") +
                     Node("y", "Reshape", {"arg0", "arg1"}) + Node("z", "Tanh", {"y"}) +
                     Node("twice", "AddV2", {"arg1", "arg1"}) + Retval(0, "z") + Retval(1, "twice");
  ArgType shape;
  shape.shape = Shape(DType::kS32, {Dim(2)});
  shape.elements = ir::Dims{Dim::Symbol("v"), Dim(4)};
  auto imported = ImportGraph(ReadText(text), {F32({Dim::Symbol("n")}), shape});
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->graph->outputs()[0].shape().ToString(), "f32[v,4]");
  for (int32_t v : {2, 5}) {
    auto x = ir::Literal::Allocate(DType::kF32, {v * 4});
    auto sizes = ir::Literal::Allocate(DType::kS32, {2});
    sizes.mutable_data<int32_t>()[0] = v;
    sizes.mutable_data<int32_t>()[1] = 4;
    auto result = reference::Evaluate(*imported->graph, {x, sizes});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ((*result)[0].sizes(), (std::vector<int64_t>{v, 4}));
    EXPECT_EQ((*result)[1].AsInts(), (std::vector<int64_t>{2 * v, 8}));
  }
}

TEST(Importer, ReadsVariablesAsWeights) {
  std::string text =
      Arg(0, "DT_RESOURCE") +
      Node("read", "ReadVariableOp", {"arg0"}, "attr { key: 'dtype' value { type: DT_FLOAT } }") +
      Node("y", "Neg", {"read"}) + Retval(0, "y");
  EXPECT_THAT(Import(text, {F32({Dim(3)})}),
              AllOf(HasSubstr("%arg0: f32[3] {weight = true}"), HasSubstr("f32[3] = neg(%arg0)")));
}

// Panels packed from a weight are kept; those of a variable in training would serve one call.
TEST(Importer, ReadsUpdatedVariablesAsPlainArguments) {
  std::string arg = Arg(0, "DT_RESOURCE");
  arg.insert(arg.rfind('}'), " attr { key: '_tektite_updated' value { b: true } } ");
  std::string text =
      arg +
      Node("read", "ReadVariableOp", {"arg0"}, "attr { key: 'dtype' value { type: DT_FLOAT } }") +
      Node("y", "Neg", {"read"}) + Retval(0, "y");
  EXPECT_THAT(Import(text, {F32({Dim(3)})}), HasSubstr("(%arg0: f32[3])"));
}

std::string Read(absl::string_view name, std::vector<std::string> inputs) {
  return Node(name, "ReadVariableOp", std::move(inputs),
              "attr { key: 'dtype' value { type: DT_FLOAT } }");
}

// Control edges say which value a read returns; the last value is an output.
TEST(Importer, AssignmentsAreOutputs) {
  std::string text = Arg(0, "DT_FLOAT") + Arg(1, "DT_RESOURCE") + Arg(2, "DT_RESOURCE") +
                     Read("late", {"arg1", "^add"}) + Read("early", {"arg1"}) +
                     Node("add", "AssignAddVariableOp", {"arg1", "arg0", "^early"}) +
                     Node("sub", "AssignSubVariableOp", {"arg1", "late", "^late"}) +
                     Read("other", {"arg2"}) + Retval(0, "late") + Retval(1, "early") +
                     Retval(2, "other");
  auto imported = ImportGraph(ReadText(text), {F32({}), F32({}), F32({})});
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->num_results, 3);
  EXPECT_THAT(imported->updated, ElementsAre(1));
  std::vector<ir::Literal> values;
  for (float v : {2.0f, 5.0f, 9.0f}) {
    values.push_back(ir::Literal::Allocate(DType::kF32, {}));
    values.back().mutable_data<float>()[0] = v;
  }
  auto result = reference::Evaluate(*imported->graph, values);
  ASSERT_TRUE(result.ok()) << result.status();
  std::vector<float> got;
  for (const ir::Literal& r : *result) got.push_back(r.data<float>()[0]);
  EXPECT_THAT(got, ElementsAre(7, 5, 9, 0));
  EXPECT_THAT(ir::Print(*imported->graph),
              HasSubstr("(%arg0: f32[], %arg1: f32[] {updated = true}, %arg2: f32[] {weight"));
}

// The host changes the variable's shape, or raises an error.
TEST(Importer, RefusesAssignmentsOfOtherShapes) {
  std::string text = Arg(0, "DT_FLOAT") + Arg(1, "DT_RESOURCE") +
                     Node("set", "AssignVariableOp", {"arg1", "arg0"});
  EXPECT_EQ(Import(text, {F32({Dim(3)}), F32({Dim(4)})}),
            "AssignVariableOp 'set': puts f32[3] into f32[4]");
}

TEST(Importer, ChecksIndicesThatAreNotKnown) {
  std::string text = Arg(0, "DT_FLOAT") + Arg(1, "DT_INT32") + Ints("axis", {0}, true) +
                     Node("y", "GatherV2", {"arg0", "arg1", "axis"}) + Retval(0, "y");
  ArgType ids;
  ids.shape = Shape(DType::kS32, {Dim(2)});
  auto imported = ImportGraph(ReadText(text), {F32({Dim(4)}), ids});
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->num_results, 1);
  EXPECT_EQ(imported->num_checks, 1);
  EXPECT_EQ(imported->graph->outputs().size(), 2u);
  EXPECT_EQ(imported->graph->outputs()[1].shape(), Shape(DType::kBool, ir::Dims()));
}

TEST(Importer, DoesNotCheckIndicesThatAreKnown) {
  std::string text = Arg(0, "DT_FLOAT") + Ints("ids", {3, 0}) + Ints("axis", {0}, true) +
                     Node("y", "GatherV2", {"arg0", "ids", "axis"}) + Retval(0, "y");
  auto imported = ImportGraph(ReadText(text), {F32({Dim(4)})});
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->num_checks, 0);
}

TEST(Importer, NamesTheNodeItRefuses) {
  std::string strides =
      "attr { key: 'padding' value { s: 'SAME' } } "
      "attr { key: 'strides' value { list { i: 1 i: 0 i: 2 i: 1 } } }";
  std::string text = Arg(0, "DT_FLOAT") + Arg(1, "DT_FLOAT") +
                     Node("block1/conv", "Conv2D", {"arg0", "arg1"}, strides) +
                     Retval(0, "block1/conv");
  EXPECT_EQ(Import(text, {F32({1, 8, 8, 3}), F32({3, 3, 3, 4})}),
            "Conv2D 'block1/conv': strides must be positive, got [1,0,2,1]");
}

TEST(Importer, RefusesWhatItDoesNotKnow) {
  std::string text = Arg(0, "DT_FLOAT") + Node("y", "Frobnicate", {"arg0"}) + Retval(0, "y");
  EXPECT_EQ(Import(text, {F32({2})}), "Frobnicate 'y': no such op here");
}

TEST(Importer, RefusesSizesThatNeverFit) {
  std::string text = Arg(0, "DT_FLOAT") + Arg(1, "DT_FLOAT") +
                     Node("sum", "AddV2", {"arg0", "arg1"}) + Retval(0, "sum");
  EXPECT_THAT(Import(text, {F32({2, 3}), F32({4})}),
              AllOf(HasSubstr("AddV2 'sum': "), HasSubstr("do not broadcast")));
}

TEST(Importer, LeavesOutWhatNoResultNeeds) {
  std::string text = Arg(0, "DT_FLOAT") + Node("unused", "Frobnicate", {"arg0"}) +
                     Node("y", "Neg", {"arg0"}) + Retval(0, "y");
  EXPECT_THAT(Import(text, {F32({2})}), HasSubstr("neg(%arg0)"));
}

TEST(Importer, SurvivesDamagedGraphs) {
  const std::string whole = Arg(0, "DT_FLOAT") + Node("y", "Neg", {"arg0"}) + Retval(0, "y");
  EXPECT_THAT(Import(whole, {}), HasSubstr("index 0 of 0"));
  EXPECT_THAT(Import(Arg(0, "DT_FLOAT") + Retval(0, "arg0:3"), {F32({2})}),
              HasSubstr("no output 3"));
  EXPECT_THAT(Import(Arg(0, "DT_FLOAT") + Retval(1, "arg0"), {F32({2})}),
              HasSubstr("no _Retval with index 0"));
  EXPECT_THAT(Import(Arg(0, "DT_INT32") + Retval(0, "arg0"), {F32({2})}), HasSubstr("DT_INT32"));
}

std::vector<std::string> ListedOps() {
  return {
#define TEKTITE_IMPORT(op, function, inputs, work, traits) #op,
#include "clustering/importer/import_list.inc"
#undef TEKTITE_IMPORT
  };
}

TEST(Importer, SurvivesNodesWithAnyInputs) {
  const std::string constants =
      Ints("zero", {0}, true) + Ints("one", {1}) + Ints("twos", {2, 2, 2, 2}) + Ints("none", {});
  for (const std::string& op : ListedOps()) {
    for (int rank : {0, 1, 2, 4}) {
      for (const char* first : {"arg0", "zero", "twos"}) {
        for (const char* other : {"arg0", "zero", "one", "twos", "none"}) {
          for (int n = 0; n <= 6; ++n) {
            std::vector<std::string> inputs(n, other);
            if (n > 0) inputs[0] = first;
            std::string text =
                Arg(0, "DT_FLOAT") + constants + Node("y", op, inputs) + Retval(0, "y");
            auto imported = ImportGraph(ReadText(text), {F32(ir::Dims(rank, Dim(2)))});
            if (!imported.ok()) continue;
            EXPECT_TRUE(ops::VerifyGraph(*imported->graph).ok()) << text;
          }
        }
      }
    }
  }
}

TEST(CompileTimeArgs, NamesShapesAndWhatTheyAreMadeFrom) {
  std::string text = Arg(0, "DT_FLOAT") + Arg(1, "DT_INT32") + Arg(2, "DT_INT32") +
                     Node("to", "ConcatV2", {"arg1", "arg1", "zero"}) + Ints("zero", {0}, true) +
                     Node("y", "Reshape", {"arg0", "to"}) + Node("z", "Neg", {"arg2"}) +
                     Retval(0, "y") + Retval(1, "z");
  EXPECT_THAT(CompileTimeArgs(ReadText(text)), ElementsAre(1));
}

TEST(CompileTimeArgs, NeedsNoValueOfWhatIsMeasured) {
  std::string text = Arg(0, "DT_FLOAT") + Arg(1, "DT_FLOAT") + Node("to", "Shape", {"arg1"}) +
                     Node("y", "Reshape", {"arg0", "to"}) + Retval(0, "y");
  EXPECT_THAT(CompileTimeArgs(ReadText(text)), IsEmpty());
}

}  // namespace
}  // namespace tektite::importer
