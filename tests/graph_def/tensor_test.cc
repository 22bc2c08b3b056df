// Tensors: every form of spelling elements, and sizes that lie.
#include "clustering/graph_def/tensor.h"

#include <gmock/gmock.h>

#include <cstring>

#include "clustering/graph_def/reader.h"
#include "tests/graph_def/testing.h"

namespace tektite::graph_def {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename T>
std::vector<T> As(const TensorValue& value) {
  std::vector<T> out(value.bytes.view().size() / sizeof(T));
  std::memcpy(out.data(), value.bytes.view().data(), out.size() * sizeof(T));
  return out;
}

TensorProto FromText(absl::string_view tensor) {
  const GraphDef graph = ParseGraph(absl::StrCat(
      "node { name: 'c' op: 'Const' attr { key: 'value' value { tensor { ", tensor, " } } } }"));
  return *graph.nodes[0].attrs.Find("value")->As<TensorProto>();
}

TensorValue Value(const TensorProto& proto) {
  absl::StatusOr<TensorValue> value = MaterializeTensor(proto);
  EXPECT_TRUE(value.ok()) << value.status();
  return value.ok() ? *value : TensorValue();
}

std::string Error(absl::string_view tensor) {
  return std::string(MaterializeTensor(FromText(tensor)).status().message());
}

TEST(Tensor, ReadsWhatTensorFlowWrites) {
  absl::StatusOr<GraphDef> graph = ReadGraphDef(ReadTestData("constants.pb"));
  ASSERT_TRUE(graph.ok()) << graph.status();
  auto value = [&](absl::string_view name) {
    return Value(*FindNode(*graph, name).attrs.Find("value")->As<TensorProto>());
  };
  EXPECT_THAT(As<uint16_t>(value("half")), ElementsAre(0x3E00, 0xC000));
  EXPECT_THAT(As<uint16_t>(value("bfloat16")), ElementsAre(0x3FC0, 0xC000));
  EXPECT_THAT(value("strings").strings, ElementsAre("a", std::string("b\0c", 3), ""));
  EXPECT_THAT(As<uint8_t>(value("bools")), ElementsAre(1, 0));
  EXPECT_THAT(As<float>(value("fill")), ElementsAre(7, 7, 7, 7, 7, 7));
  EXPECT_THAT(As<int8_t>(value("int8")), ElementsAre(-1, 5));
  EXPECT_THAT(As<int64_t>(value("int64")), ElementsAre(int64_t{1} << 40, -3));
  EXPECT_THAT(value("empty").dims, ElementsAre(0, 4));
  EXPECT_TRUE(value("empty").bytes.view().empty());
  EXPECT_THAT(As<float>(value("complex")), ElementsAre(1, 2));
  EXPECT_THAT(As<double>(value("double")), ElementsAre(2.25));
  EXPECT_THAT(As<uint16_t>(value("uint16")), ElementsAre(65535, 1));
  EXPECT_THAT(As<uint64_t>(value("uint64")), ElementsAre(uint64_t{1} << 63));
}

TEST(Tensor, LastValueStandsForAllThatFollow) {
  const char* shape = "tensor_shape { dim { size: 4 } }";
  EXPECT_THAT(As<int32_t>(Value(
                  FromText(absl::StrCat("dtype: DT_INT32 ", shape, " int_val: 3 int_val: -2")))),
              ElementsAre(3, -2, -2, -2));
  EXPECT_THAT(As<float>(Value(FromText(absl::StrCat("dtype: DT_FLOAT ", shape)))),
              ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(
      As<uint16_t>(Value(FromText(absl::StrCat("dtype: DT_HALF ", shape, " half_val: 15360")))),
      ElementsAre(15360, 15360, 15360, 15360));
  EXPECT_THAT(As<uint8_t>(Value(
                  FromText(absl::StrCat("dtype: DT_BOOL ", shape, " bool_val: [false, true]")))),
              ElementsAre(0, 1, 1, 1));
}

TEST(Tensor, ValuesOfAnotherTypesFieldAreNotItsOwn) {
  EXPECT_THAT(As<float>(Value(FromText("dtype: DT_FLOAT tensor_shape {} int_val: 3"))),
              ElementsAre(0));
}

TEST(Tensor, RefusesSizesThatLie) {
  EXPECT_THAT(Error("dtype: DT_FLOAT tensor_shape { dim { size: 1099511627776 } }"),
              HasSubstr("spells out only 0"));
  EXPECT_THAT(Error("dtype: DT_FLOAT tensor_shape { dim { size: 4611686018427387904 } "
                    "dim { size: 4 } }"),
              HasSubstr("larger than any memory"));
  EXPECT_THAT(Error("dtype: DT_STRING tensor_shape { dim { size: 1099511627776 } }"),
              HasSubstr("far more strings"));
  EXPECT_THAT(Error("dtype: DT_FLOAT tensor_shape { dim { size: -1 } }"),
              HasSubstr("no complete shape"));
  EXPECT_THAT(Error("dtype: DT_FLOAT tensor_shape { dim { size: 2 } } tensor_content: 'abc'"),
              HasSubstr("needs 8 bytes, its content has 3"));
  EXPECT_THAT(Error("dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: [1, 2]"),
              HasSubstr("needs 4 bytes, its values have 8"));
  EXPECT_THAT(Error("dtype: DT_RESOURCE tensor_shape { }"), HasSubstr("plain memory"));
}

TEST(Tensor, WidensIntegers) {
  auto ints = [](absl::string_view text) { return *MaterializeIntegers(FromText(text)); };
  EXPECT_THAT(ints("dtype: DT_INT8 tensor_shape { dim { size: 2 } } int_val: [-1, 7]"),
              ElementsAre(-1, 7));
  EXPECT_THAT(ints("dtype: DT_INT64 tensor_shape { } int64_val: -5"), ElementsAre(-5));
  EXPECT_THAT(ints("dtype: DT_UINT8 tensor_shape { } int_val: 255"), ElementsAre(255));
  EXPECT_FALSE(MaterializeIntegers(FromText("dtype: DT_FLOAT tensor_shape { }")).ok());
}

}  // namespace
}  // namespace tektite::graph_def
