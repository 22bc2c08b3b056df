// A graph that TensorFlow wrote stays the same when it is read, written and read again.
#include <gmock/gmock.h>
#include <protozero/pbf_writer.hpp>

#include "clustering/graph_def/reader.h"
#include "clustering/graph_def/saved_model.h"
#include "clustering/graph_def/tensor.h"
#include "clustering/graph_def/writer.h"
#include "tests/graph_def/testing.h"

namespace tektite::graph_def {
namespace {

// A tensor with its elements as one blob.
TensorProto MakeTensorProto(DataType dtype, absl::Span<const int64_t> dims,
                            absl::string_view bytes) {
  TensorProto tensor;
  tensor.dtype = dtype;
  tensor.shape.dims.assign(dims.begin(), dims.end());
  std::string serialized;
  protozero::pbf_writer writer(serialized);
  writer.add_enum(1, static_cast<int32_t>(dtype));
  writer.add_message(2, SerializeShape(tensor.shape));
  writer.add_bytes(4, bytes.data(), bytes.size());
  tensor.serialized = Bytes::Own(std::move(serialized));
  return tensor;
}

// Text spells a list of values one by one, the wire form packs it: only the values must be the
// same.
void SpellTensorsAlike(std::vector<NodeDef>* nodes) {
  for (NodeDef& node : *nodes) {
    AttrValue* value = node.attrs.Find("value");
    if (value == nullptr || value->As<TensorProto>() == nullptr) continue;
    absl::StatusOr<TensorValue> tensor = MaterializeTensor(*value->As<TensorProto>());
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    *value = AttrValue::Of(MakeTensorProto(tensor->dtype, tensor->dims, tensor->bytes.view()));
  }
}

void SpellTensorsAlike(GraphDef* graph) {
  SpellTensorsAlike(&graph->nodes);
  for (FunctionDef& f : graph->functions) SpellTensorsAlike(&f.nodes);
}

TEST(RoundTrip, WritingWhatWasReadIsStable) {
  for (const char* file : {"frozen.pb", "constants.pb"}) {
    absl::StatusOr<GraphDef> graph = ReadGraphDef(ReadTestData(file));
    ASSERT_TRUE(graph.ok()) << graph.status();
    const std::string once = WriteGraphDef(*graph);
    absl::StatusOr<GraphDef> again = ReadGraphDef(once);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->nodes.size(), graph->nodes.size());
    EXPECT_EQ(again->functions.size(), graph->functions.size());
    EXPECT_EQ(WriteGraphDef(*again), once) << file;
  }
}

TEST(RoundTrip, TextAndBinaryFormAreTheSameGraph) {
  absl::StatusOr<GraphDef> binary = ReadGraphDef(ReadTestData("frozen.pb"));
  ASSERT_TRUE(binary.ok()) << binary.status();
  GraphDef text = ParseGraph(ReadTestData("frozen.pbtxt"));
  ASSERT_GT(text.nodes.size(), 5u);
  SpellTensorsAlike(&text);
  SpellTensorsAlike(&*binary);
  EXPECT_EQ(WriteGraphDef(text), WriteGraphDef(*binary));
}

TEST(RoundTrip, BorrowedTensorsPointIntoTheBytes) {
  const std::string bytes = ReadTestData("constants.pb");
  absl::StatusOr<GraphDef> graph = ReadGraphDef(bytes, TensorStorage::kBorrow);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const absl::string_view tensor =
      graph->nodes[0].attrs.Find("value")->As<TensorProto>()->serialized.view();
  EXPECT_GE(tensor.data(), bytes.data());
  EXPECT_LE(tensor.data() + tensor.size(), bytes.data() + bytes.size());
}

TEST(RoundTrip, KeepsFunctionsAndTheirArguments) {
  absl::StatusOr<SavedModel> model =
      ReadSavedModel(ReadTestData("saved_model.pb"), TensorStorage::kCopy);
  ASSERT_TRUE(model.ok()) << model.status();
  absl::StatusOr<GraphDef> again = ReadGraphDef(WriteGraphDef(model->graph));
  ASSERT_TRUE(again.ok()) << again.status();
  ASSERT_EQ(again->functions.size(), model->graph.functions.size());
  ASSERT_FALSE(again->functions.empty());
  for (size_t i = 0; i < again->functions.size(); ++i) {
    const FunctionDef& a = again->functions[i];
    const FunctionDef& b = model->graph.functions[i];
    EXPECT_EQ(a.signature.name, b.signature.name);
    EXPECT_EQ(a.signature.inputs.size(), b.signature.inputs.size());
    EXPECT_EQ(a.arg_attrs.size(), b.arg_attrs.size());
    EXPECT_EQ(a.ret, b.ret);
    EXPECT_EQ(a.nodes.size(), b.nodes.size());
  }
}

TEST(SavedModelReader, FindsTheSignature) {
  absl::StatusOr<SavedModel> model =
      ReadSavedModel(ReadTestData("saved_model.pb"), TensorStorage::kCopy);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_FALSE(model->ops.empty());
  const Signature* serving = nullptr;
  for (const Signature& s : model->signatures) {
    if (s.name == "serving_default") serving = &s;
  }
  ASSERT_NE(serving, nullptr);
  ASSERT_EQ(serving->inputs.size(), 1u);
  EXPECT_EQ(serving->inputs[0].key, "x");
  EXPECT_EQ(serving->inputs[0].shape.ToString(), "[?,4]");
  ASSERT_EQ(serving->outputs.size(), 2u);
  EXPECT_EQ(serving->outputs[0].key, "mean");
  EXPECT_EQ(serving->outputs[1].key, "probabilities");
  EXPECT_EQ(serving->outputs[1].dtype, DataType::kFloat);
}

TEST(NodeInputParse, UnderstandsAllForms) {
  struct Case {
    const char* text;
    NodeInput input;
  };
  const Case cases[] = {
      {"a", {"a", 0, ""}},
      {"a:0", {"a", 0, ""}},
      {"a/b:12", {"a/b", 12, ""}},
      {"^a", {"a", NodeInput::kControl, ""}},
      {"a:y:1", {"a", 1, "y"}},
      {"a:b", {"a:b", 0, ""}},
      {"a:01", {"a:01", 0, ""}},
      {"", {"", 0, ""}},
      {"a:99999999999", {"a:99999999999", 0, ""}},
  };
  for (const Case& c : cases) EXPECT_EQ(NodeInput::Parse(c.text), c.input) << c.text;
}

TEST(NodeInputParse, PrintsBack) {
  for (const char* text : {"a", "a:3", "^a", "a:y:0"}) {
    EXPECT_EQ(NodeInput::Parse(text).ToString(), text);
  }
}

}  // namespace
}  // namespace tektite::graph_def
