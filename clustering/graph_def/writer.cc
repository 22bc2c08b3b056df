#include "clustering/graph_def/writer.h"

#include <protozero/pbf_writer.hpp>

namespace tektite::graph_def {
namespace {

using protozero::pbf_writer;

template <typename... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <typename... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

void AddAttrs(uint32_t field, const AttrMap& attrs, pbf_writer* out) {
  for (const Attr& attr : attrs.entries()) {
    pbf_writer entry(*out, field);
    entry.add_string(1, attr.name);
    entry.add_message(2, SerializeAttrValue(attr.value));
  }
}

std::string SerializeFunctionRef(const FunctionRef& f) {
  std::string bytes;
  pbf_writer out(bytes);
  out.add_string(1, f.name);
  AddAttrs(2, f.attrs, &out);
  return bytes;
}

std::string SerializeList(const AttrList& list) {
  std::string bytes;
  pbf_writer out(bytes);
  std::visit(
      Overloaded{
          [](const std::monostate&) {},
          [&](const std::vector<std::string>& v) {
            for (const std::string& s : v) out.add_bytes(2, s);
          },
          [&](const std::vector<int64_t>& v) { out.add_packed_int64(3, v.begin(), v.end()); },
          [&](const std::vector<float>& v) { out.add_packed_float(4, v.begin(), v.end()); },
          [&](const std::vector<bool>& v) { out.add_packed_bool(5, v.begin(), v.end()); },
          [&](const std::vector<DataType>& v) {
            std::vector<int32_t> numbers;
            for (DataType t : v) numbers.push_back(static_cast<int32_t>(t));
            out.add_packed_enum(6, numbers.begin(), numbers.end());
          },
          [&](const std::vector<PartialShape>& v) {
            for (const PartialShape& s : v) out.add_message(7, SerializeShape(s));
          },
          [&](const std::vector<TensorProto>& v) {
            for (const TensorProto& t : v) {
              out.add_message(8, t.serialized.view().data(), t.serialized.view().size());
            }
          },
          [&](const std::vector<FunctionRef>& v) {
            for (const FunctionRef& f : v) out.add_message(9, SerializeFunctionRef(f));
          },
      },
      list);
  return bytes;
}

void AddArgs(uint32_t field, const std::vector<ArgDef>& args, pbf_writer* out) {
  for (const ArgDef& a : args) {
    pbf_writer arg(*out, field);
    arg.add_string(1, a.name);
    if (a.type != DataType::kInvalid) arg.add_enum(3, static_cast<int32_t>(a.type));
    if (!a.type_attr.empty()) arg.add_string(4, a.type_attr);
    if (!a.number_attr.empty()) arg.add_string(5, a.number_attr);
    if (!a.type_list_attr.empty()) arg.add_string(6, a.type_list_attr);
    if (a.is_ref) arg.add_bool(16, true);
  }
}

std::string SerializeOp(const OpDef& op) {
  std::string bytes;
  pbf_writer out(bytes);
  out.add_string(1, op.name);
  AddArgs(2, op.inputs, &out);
  AddArgs(3, op.outputs, &out);
  for (const AttrDef& a : op.attrs) {
    pbf_writer attr(out, 4);
    attr.add_string(1, a.name);
    attr.add_string(2, a.type);
  }
  if (op.is_stateful) out.add_bool(17, true);
  for (const std::string& name : op.control_outputs) out.add_string(20, name);
  return bytes;
}

void AddPairs(uint32_t field, const std::vector<std::pair<std::string, std::string>>& pairs,
              pbf_writer* out) {
  for (const auto& [key, value] : pairs) {
    pbf_writer entry(*out, field);
    entry.add_string(1, key);
    entry.add_string(2, value);
  }
}

std::string SerializeFunction(const FunctionDef& f) {
  std::string bytes;
  pbf_writer out(bytes);
  out.add_message(1, SerializeOp(f.signature));
  for (const NodeDef& node : f.nodes) out.add_message(3, SerializeNode(node));
  AddPairs(4, f.ret, &out);
  AddAttrs(5, f.attrs, &out);
  AddPairs(6, f.control_ret, &out);
  for (const auto& [index, attrs] : f.arg_attrs) {
    pbf_writer entry(out, 7);
    entry.add_uint32(1, index);
    pbf_writer value(entry, 2);
    AddAttrs(1, attrs, &value);
  }
  return bytes;
}

}  // namespace

std::string SerializeShape(const PartialShape& shape) {
  std::string bytes;
  pbf_writer out(bytes);
  for (int64_t d : shape.dims) {
    pbf_writer dim(out, 2);
    dim.add_int64(1, d);
  }
  if (shape.unknown_rank) out.add_bool(3, true);
  return bytes;
}

std::string SerializeAttrValue(const AttrValue& value) {
  std::string bytes;
  pbf_writer out(bytes);
  std::visit(Overloaded{
                 [](const std::monostate&) {},
                 [&](const std::string& s) { out.add_bytes(2, s); },
                 [&](int64_t i) { out.add_int64(3, i); },
                 [&](float f) { out.add_float(4, f); },
                 [&](bool b) { out.add_bool(5, b); },
                 [&](DataType t) { out.add_enum(6, static_cast<int32_t>(t)); },
                 [&](const PartialShape& s) { out.add_message(7, SerializeShape(s)); },
                 [&](const TensorProto& t) {
                   out.add_message(8, t.serialized.view().data(), t.serialized.view().size());
                 },
                 [&](const AttrList& list) { out.add_message(1, SerializeList(list)); },
                 [&](const FunctionRef& f) { out.add_message(10, SerializeFunctionRef(f)); },
                 [&](const Placeholder& p) { out.add_string(9, p.name); },
             },
             value.value);
  return bytes;
}

std::string SerializeNode(const NodeDef& node) {
  std::string bytes;
  pbf_writer out(bytes);
  out.add_string(1, node.name);
  out.add_string(2, node.op);
  for (const NodeInput& input : node.inputs) out.add_string(3, input.ToString());
  if (!node.device.empty()) out.add_string(4, node.device);
  AddAttrs(5, node.attrs, &out);
  return bytes;
}

std::string WriteGraphDef(const GraphDef& graph) {
  std::string bytes;
  pbf_writer out(bytes);
  for (const NodeDef& node : graph.nodes) out.add_message(1, SerializeNode(node));
  if (!graph.functions.empty()) {
    pbf_writer library(out, 2);
    for (const FunctionDef& f : graph.functions) library.add_message(1, SerializeFunction(f));
  }
  pbf_writer versions(out, 4);
  if (graph.producer != 0) versions.add_int32(1, graph.producer);
  if (graph.min_consumer != 0) versions.add_int32(2, graph.min_consumer);
  return bytes;
}

}  // namespace tektite::graph_def
