#include "runtime_hooks/tensorflow/hook/graph_pass/graph_text.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/function_names.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/whole_calls.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/full_type.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/versions.pb.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/lib/strings/proto_serialization.h"
#include "tensorflow/core/public/session_options.h"

namespace tektite::tf_hook {
namespace {

using tensorflow::AttrValue;
using tensorflow::Edge;
using tensorflow::Graph;
using tensorflow::Node;

constexpr size_t kMostBytes = 64 << 10;
constexpr size_t kUsualBytes = 8 << 10;
constexpr int kMostNodes = 1000;

// Every part says where it ends, so that no two sequences of parts have one text.
class Writer {
 public:
  Writer() { text_.reserve(kUsualBytes); }

  void Number(int64_t number) {
    text_.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }

  void Text(std::string_view text) {
    Number(static_cast<int64_t>(text.size()));
    text_.append(text);
  }

  void Message(const tensorflow::protobuf::MessageLite& message) {
    const size_t bytes = message.ByteSizeLong();
    Number(static_cast<int64_t>(bytes));
    if (text_.size() + bytes > kMostBytes) {
      is_full_ = true;
    } else {
      message.AppendPartialToString(&text_);
    }
  }

  // Of one that holds maps, which have no order of their own.
  void MessageWithMaps(const tensorflow::protobuf::MessageLite& message) {
    std::string bytes;
    if (!tensorflow::SerializeToStringDeterministic(message, &bytes)) is_full_ = true;
    Text(bytes);
  }

  bool is_full() const { return is_full_ || text_.size() > kMostBytes; }
  std::string Take() { return is_full() ? std::string() : std::move(text_); }

 private:
  std::string text_;
  bool is_full_ = false;
};

// Most attributes are a type, a number or a word, for which a message takes ten times as long.
void WriteValue(const AttrValue& value, Writer* writer) {
  writer->Number(value.value_case());
  switch (value.value_case()) {
    case AttrValue::kType:
      return writer->Number(value.type());
    case AttrValue::kI:
      return writer->Number(value.i());
    case AttrValue::kB:
      return writer->Number(value.b());
    case AttrValue::kS:
      return writer->Text(value.s());
    case AttrValue::kTensor:
    case AttrValue::kShape:
      return writer->Message(value);
    default:
      return writer->MessageWithMaps(value);
  }
}

void WriteAttributes(const Node& node, Writer* writer) {
  absl::InlinedVector<std::pair<std::string_view, const AttrValue*>, 8> attributes;
  for (const auto& [name, value] : node.attrs()) attributes.emplace_back(name, &value);
  std::sort(attributes.begin(), attributes.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  writer->Number(static_cast<int64_t>(attributes.size()));
  for (const auto& [name, value] : attributes) {
    writer->Text(name);
    WriteValue(*value, writer);
  }
}

void WriteNode(const Node& node, Writer* writer) {
  writer->Text(node.name());
  writer->Text(node.type_string());
  writer->Text(node.requested_device());
  writer->Text(node.assigned_device_name());
  WriteAttributes(node, writer);
  const tensorflow::NodeDef& def = node.def();
  writer->Number(def.has_experimental_debug_info());
  if (def.has_experimental_debug_info()) writer->Message(def.experimental_debug_info());
  writer->Number(def.has_experimental_type());
  if (def.has_experimental_type()) writer->Message(def.experimental_type());
}

// `position`: by node id, the place among the nodes that are written.
void WriteEdges(const Node& node, const std::vector<int>& position, Writer* writer) {
  absl::InlinedVector<std::tuple<int, int, int>, 8> edges;
  for (const Edge* edge : node.in_edges()) {
    edges.emplace_back(edge->dst_input(), position[edge->src()->id()], edge->src_output());
  }
  std::sort(edges.begin(), edges.end());  // in_edges() is a set of pointers
  writer->Number(static_cast<int64_t>(edges.size()));
  for (const auto& [input, source, output] : edges) {
    writer->Number(input);
    writer->Number(source);
    writer->Number(output);
  }
}

// Clusters are named after the function; the number behind its name differs from trace to trace.
std::string FunctionStem(const tensorflow::GraphOptimizationPassOptions& options) {
  std::string name = FunctionName(options);
  name.resize(name.find_last_not_of("0123456789") + 1);
  return name;
}

}  // namespace

std::string GraphText(const tensorflow::GraphOptimizationPassOptions& options, Extent extent) {
  const Graph& graph = **options.graph;
  if (graph.num_op_nodes() > kMostNodes) return "";
  Writer writer;
  writer.Number(static_cast<int64_t>(extent));
  writer.Number(options.is_function_graph);
  writer.Message(graph.versions());
  writer.Text(options.session_handle);
  writer.Text(FunctionStem(options));
  writer.Number(options.session_options != nullptr);
  if (options.session_options != nullptr) writer.MessageWithMaps(options.session_options->config);
  std::vector<int> position(graph.num_node_ids(), -1);
  int next = 0;
  for (const Node* node : graph.op_nodes()) {
    position[node->id()] = next++;
    WriteNode(*node, &writer);
    if (writer.is_full()) return "";
  }
  for (const Node* node : graph.op_nodes()) WriteEdges(*node, position, &writer);
  if (RunsFunctions(graph)) writer.MessageWithMaps(FunctionsRun(graph, *options.flib_def));
  return writer.Take();
}

}  // namespace tektite::tf_hook
