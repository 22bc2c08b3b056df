#include "clustering/graph_def/wire_messages.h"

#include <algorithm>

namespace tektite::graph_def::wire {
namespace {

using protozero::data_view;
using protozero::pbf_reader;

// Functions as attributes may nest (a function whose attribute is a function); TensorFlow nests two
// or three deep, protobuf stops at 100.
constexpr int kMaxDepth = 32;
// TensorShape::MaxDimensions().
constexpr size_t kMaxRank = 254;

AttrValue ReadAttrValue(pbf_reader reader, const Source& source, int depth);

void ReadAttrEntry(pbf_reader reader, const Source& source, int depth, AttrMap* attrs) {
  std::string key;
  AttrValue value;
  ReadFields(reader, Text(1, &key),
             Message(2, [&](pbf_reader r) { value = ReadAttrValue(r, source, depth); }));
  attrs->Set(key, std::move(value));
}

// A field of attributes by name.
auto Attrs(uint32_t number, const Source& source, int depth, AttrMap* attrs) {
  return Message(number,
                 [&source, depth, attrs](pbf_reader r) { ReadAttrEntry(r, source, depth, attrs); });
}

FunctionRef ReadFunctionRef(pbf_reader reader, const Source& source, int depth) {
  FunctionRef f;
  ReadFields(reader, Text(1, &f.name), Attrs(2, source, depth, &f.attrs));
  return f;
}

// Appends to the list, which takes the element's type with its first element.
template <typename T>
void Append(AttrList* list, T element) {
  if (std::holds_alternative<std::monostate>(*list)) list->emplace<std::vector<T>>();
  auto* elements = std::get_if<std::vector<T>>(list);
  if (elements == nullptr) throw MessageError("an attribute list mixes kinds of elements");
  elements->push_back(std::move(element));
}

template <typename T>
void AppendPackedVarints(data_view packed, AttrList* list) {
  const char* p = packed.data();
  const char* end = p + packed.size();
  while (p < end) Append(list, static_cast<T>(protozero::decode_varint(&p, end)));
}

void AppendPackedFloats(data_view packed, AttrList* list) {
  if (packed.size() % sizeof(float) != 0) throw MessageError("a packed list of floats is cut off");
  for (size_t at = 0; at < packed.size(); at += sizeof(float)) {
    float f;
    std::copy_n(packed.data() + at, sizeof(float), reinterpret_cast<char*>(&f));
    Append(list, f);
  }
}

AttrList ReadList(pbf_reader reader, const Source& source, int depth) {
  AttrList list;
  const auto add = [&list](auto element) { Append(&list, std::move(element)); };
  ReadFields(
      reader, Field{Length(2), [&](pbf_reader& r) { add(ToString(r.get_view())); }},
      Field{Varint(3), [&](pbf_reader& r) { add(r.get_int64()); }},
      Field{Length(3), [&](pbf_reader& r) { AppendPackedVarints<int64_t>(r.get_view(), &list); }},
      Field{Fixed32(4), [&](pbf_reader& r) { add(r.get_float()); }},
      Field{Length(4), [&](pbf_reader& r) { AppendPackedFloats(r.get_view(), &list); }},
      Field{Varint(5), [&](pbf_reader& r) { add(r.get_uint64() != 0); }},
      Field{Length(5), [&](pbf_reader& r) { AppendPackedVarints<bool>(r.get_view(), &list); }},
      Field{Varint(6), [&](pbf_reader& r) { add(ToDataType(r.get_uint64())); }},
      Field{Length(6), [&](pbf_reader& r) { AppendPackedVarints<DataType>(r.get_view(), &list); }},
      Message(7, [&](pbf_reader r) { add(ReadShape(r)); }),
      Field{Length(8), [&](pbf_reader& r) { add(ReadTensor(r.get_view(), source)); }},
      Message(9, [&](pbf_reader r) { add(ReadFunctionRef(r, source, depth)); }));
  return list;
}

AttrValue ReadAttrValue(pbf_reader reader, const Source& source, int depth) {
  if (depth >= kMaxDepth) throw MessageError("attributes are nested too deep");
  AttrValue a;
  ReadFields(
      reader, Message(1, [&](pbf_reader r) { a.value = ReadList(r, source, depth + 1); }),
      Field{Length(2), [&](pbf_reader& r) { a.value = ToString(r.get_view()); }},
      Field{Varint(3), [&](pbf_reader& r) { a.value = r.get_int64(); }},
      Field{Fixed32(4), [&](pbf_reader& r) { a.value = r.get_float(); }},
      Field{Varint(5), [&](pbf_reader& r) { a.value = r.get_uint64() != 0; }},
      Field{Varint(6), [&](pbf_reader& r) { a.value = ToDataType(r.get_uint64()); }},
      Message(7, [&](pbf_reader r) { a.value = ReadShape(r); }),
      Field{Length(8), [&](pbf_reader& r) { a.value = ReadTensor(r.get_view(), source); }},
      Field{Length(9), [&](pbf_reader& r) { a.value = Placeholder{ToString(r.get_view())}; }},
      Message(10, [&](pbf_reader r) { a.value = ReadFunctionRef(r, source, depth + 1); }));
  return a;
}

int64_t ReadDimension(pbf_reader reader) {
  int64_t size = 0;  // proto3: a missing size is 0
  ReadFields(reader, Field{Varint(1), [&](pbf_reader& r) { size = r.get_int64(); }});
  return std::max<int64_t>(size, -1);
}

ArgDef ReadArg(pbf_reader reader) {
  ArgDef arg;
  ReadFields(reader, Text(1, &arg.name), Type(3, &arg.type), Text(4, &arg.type_attr),
             Text(5, &arg.number_attr), Text(6, &arg.type_list_attr), Bool(16, &arg.is_ref));
  return arg;
}

AttrDef ReadAttrDef(pbf_reader reader) {
  AttrDef attr;
  ReadFields(reader, Text(1, &attr.name), Text(2, &attr.type));
  return attr;
}

void ReadArgAttrs(pbf_reader reader, const Source& source, FunctionDef* function) {
  uint32_t index = 0;
  AttrMap attrs;
  ReadFields(reader, Field{Varint(1), [&](pbf_reader& r) { index = r.get_uint32(); }},
             Message(2, [&](pbf_reader r) { ReadFields(r, Attrs(1, source, 0, &attrs)); }));
  function->arg_attrs.emplace_back(index, std::move(attrs));
}

std::pair<std::string, std::string> ReadStringPair(pbf_reader reader) {
  std::pair<std::string, std::string> p;
  ReadFields(reader, Text(1, &p.first), Text(2, &p.second));
  return p;
}

FunctionDef ReadFunction(pbf_reader reader, const Source& source) {
  FunctionDef f;
  ReadFields(reader, Message(1, [&](pbf_reader r) { f.signature = ReadOp(r); }),
             Message(3, [&](pbf_reader r) { f.nodes.push_back(ReadNode(r, source)); }),
             Message(4, [&](pbf_reader r) { f.ret.push_back(ReadStringPair(r)); }),
             Attrs(5, source, 0, &f.attrs),
             Message(6, [&](pbf_reader r) { f.control_ret.push_back(ReadStringPair(r)); }),
             Message(7, [&](pbf_reader r) { ReadArgAttrs(r, source, &f); }));
  return f;
}

}  // namespace

PartialShape ReadShape(pbf_reader reader) {
  PartialShape shape;
  const auto read_dimension = [&](pbf_reader dimension) {
    if (shape.dims.size() == kMaxRank) throw MessageError("a shape has over 254 dimensions");
    shape.dims.push_back(ReadDimension(dimension));
  };
  ReadFields(reader, Message(2, read_dimension), Bool(3, &shape.unknown_rank));
  if (shape.unknown_rank) shape.dims.clear();
  return shape;
}

TensorProto ReadTensor(data_view bytes, const Source& source) {
  TensorProto tensor;
  ReadFields(pbf_reader(bytes), Type(1, &tensor.dtype),
             Message(2, [&](pbf_reader r) { tensor.shape = ReadShape(r); }));
  tensor.serialized = source.borrow ? Bytes::Borrow(absl::string_view(bytes.data(), bytes.size()))
                                    : Bytes::Own(ToString(bytes));
  return tensor;
}

NodeDef ReadNode(pbf_reader reader, const Source& source) {
  NodeDef node;
  const auto read_input = [&](pbf_reader& r) {
    const data_view text = r.get_view();
    node.inputs.push_back(NodeInput::Parse(absl::string_view(text.data(), text.size())));
  };
  ReadFields(reader, Text(1, &node.name), Text(2, &node.op), Field{Length(3), read_input},
             Text(4, &node.device), Attrs(5, source, 0, &node.attrs));
  // Data before control, as TensorFlow itself writes and demands it.
  std::stable_partition(node.inputs.begin(), node.inputs.end(),
                        [](const NodeInput& input) { return !input.is_control(); });
  return node;
}

OpDef ReadOp(pbf_reader reader) {
  OpDef op;
  const auto read_control = [&](pbf_reader& r) {
    op.control_outputs.push_back(ToString(r.get_view()));
  };
  ReadFields(reader, Text(1, &op.name),
             Message(2, [&](pbf_reader r) { op.inputs.push_back(ReadArg(r)); }),
             Message(3, [&](pbf_reader r) { op.outputs.push_back(ReadArg(r)); }),
             Message(4, [&](pbf_reader r) { op.attrs.push_back(ReadAttrDef(r)); }),
             Bool(17, &op.is_stateful), Field{Length(20), read_control});
  return op;
}

GraphDef ReadGraph(pbf_reader reader, const Source& source) {
  GraphDef graph;
  const auto function =
      Message(1, [&](pbf_reader r) { graph.functions.push_back(ReadFunction(r, source)); });
  const auto producer = Field{Varint(1), [&](pbf_reader& r) { graph.producer = r.get_int32(); }};
  const auto min_consumer =
      Field{Varint(2), [&](pbf_reader& r) { graph.min_consumer = r.get_int32(); }};
  ReadFields(
      reader, Message(1, [&](pbf_reader r) { graph.nodes.push_back(ReadNode(r, source)); }),
      Message(2, [&](pbf_reader library) { ReadFields(library, function); }),
      Message(4, [&](pbf_reader versions) { ReadFields(versions, producer, min_consumer); }));
  return graph;
}

}  // namespace tektite::graph_def::wire
