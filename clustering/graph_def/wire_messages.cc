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

// A map entry {key, value}.
template <typename Value>
void ReadMapEntry(pbf_reader reader, std::string* key, Value&& value) {
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Length(1):
        *key = ToString(reader.get_view());
        break;
      case Length(2):
        value(reader.get_view());
        break;
      default:
        reader.skip();
    }
  }
}

void ReadAttrEntry(pbf_reader reader, const Source& source, int depth, AttrMap* attrs) {
  std::string key;
  AttrValue value;
  ReadMapEntry(reader, &key,
               [&](data_view v) { value = ReadAttrValue(pbf_reader(v), source, depth); });
  attrs->Set(key, std::move(value));
}

FunctionRef ReadFunctionRef(pbf_reader reader, const Source& source, int depth) {
  FunctionRef f;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Length(1):
        f.name = ToString(reader.get_view());
        break;
      case Length(2):
        ReadAttrEntry(reader.get_message(), source, depth, &f.attrs);
        break;
      default:
        reader.skip();
    }
  }
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

DataType ToDataType(uint64_t number) { return static_cast<DataType>(static_cast<int32_t>(number)); }

AttrList ReadList(pbf_reader reader, const Source& source, int depth) {
  AttrList list;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Length(2):
        Append(&list, ToString(reader.get_view()));
        break;
      case Varint(3):
        Append(&list, reader.get_int64());
        break;
      case Length(3):
        AppendPackedVarints<int64_t>(reader.get_view(), &list);
        break;
      case Fixed32(4):
        Append(&list, reader.get_float());
        break;
      case Length(4):
        AppendPackedFloats(reader.get_view(), &list);
        break;
      case Varint(5):
        Append(&list, reader.get_uint64() != 0);
        break;
      case Length(5):
        AppendPackedVarints<bool>(reader.get_view(), &list);
        break;
      case Varint(6):
        Append(&list, ToDataType(reader.get_uint64()));
        break;
      case Length(6):
        AppendPackedVarints<DataType>(reader.get_view(), &list);
        break;
      case Length(7):
        Append(&list, ReadShape(reader.get_message()));
        break;
      case Length(8):
        Append(&list, ReadTensor(reader.get_view(), source));
        break;
      case Length(9):
        Append(&list, ReadFunctionRef(reader.get_message(), source, depth));
        break;
      default:
        reader.skip();
    }
  }
  return list;
}

AttrValue ReadAttrValue(pbf_reader reader, const Source& source, int depth) {
  if (depth >= kMaxDepth) throw MessageError("attributes are nested too deep");
  AttrValue a;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Length(1):
        a.value = ReadList(reader.get_message(), source, depth + 1);
        break;
      case Length(2):
        a.value = ToString(reader.get_view());
        break;
      case Varint(3):
        a.value = reader.get_int64();
        break;
      case Fixed32(4):
        a.value = reader.get_float();
        break;
      case Varint(5):
        a.value = reader.get_uint64() != 0;
        break;
      case Varint(6):
        a.value = ToDataType(reader.get_uint64());
        break;
      case Length(7):
        a.value = ReadShape(reader.get_message());
        break;
      case Length(8):
        a.value = ReadTensor(reader.get_view(), source);
        break;
      case Length(9):
        a.value = Placeholder{ToString(reader.get_view())};
        break;
      case Length(10):
        a.value = ReadFunctionRef(reader.get_message(), source, depth + 1);
        break;
      default:
        reader.skip();
    }
  }
  return a;
}

int64_t ReadDimension(pbf_reader reader) {
  int64_t size = 0;  // proto3: a missing size is 0
  while (reader.next()) {
    if (reader.tag_and_type() == Varint(1)) {
      size = reader.get_int64();
    } else {
      reader.skip();
    }
  }
  return std::max<int64_t>(size, -1);
}

ArgDef ReadArg(pbf_reader reader) {
  ArgDef arg;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Length(1):
        arg.name = ToString(reader.get_view());
        break;
      case Varint(3):
        arg.type = ToDataType(reader.get_uint64());
        break;
      case Length(4):
        arg.type_attr = ToString(reader.get_view());
        break;
      case Length(5):
        arg.number_attr = ToString(reader.get_view());
        break;
      case Length(6):
        arg.type_list_attr = ToString(reader.get_view());
        break;
      case Varint(16):
        arg.is_ref = reader.get_uint64() != 0;
        break;
      default:
        reader.skip();
    }
  }
  return arg;
}

AttrDef ReadAttrDef(pbf_reader reader) {
  AttrDef attr;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Length(1):
        attr.name = ToString(reader.get_view());
        break;
      case Length(2):
        attr.type = ToString(reader.get_view());
        break;
      default:
        reader.skip();
    }
  }
  return attr;
}

void ReadArgAttrs(pbf_reader reader, const Source& source, FunctionDef* function) {
  uint32_t index = 0;
  AttrMap attrs;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Varint(1):
        index = reader.get_uint32();
        break;
      case Length(2): {
        pbf_reader value = reader.get_message();
        while (value.next()) {
          if (value.tag_and_type() == Length(1)) {
            ReadAttrEntry(value.get_message(), source, 0, &attrs);
          } else {
            value.skip();
          }
        }
        break;
      }
      default:
        reader.skip();
    }
  }
  function->arg_attrs.emplace_back(index, std::move(attrs));
}

std::pair<std::string, std::string> ReadStringPair(pbf_reader reader) {
  std::pair<std::string, std::string> p;
  ReadMapEntry(reader, &p.first, [&](data_view v) { p.second = ToString(v); });
  return p;
}

FunctionDef ReadFunction(pbf_reader reader, const Source& source) {
  FunctionDef f;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Length(1):
        f.signature = ReadOp(reader.get_message());
        break;
      case Length(3):
        f.nodes.push_back(ReadNode(reader.get_message(), source));
        break;
      case Length(4):
        f.ret.push_back(ReadStringPair(reader.get_message()));
        break;
      case Length(5):
        ReadAttrEntry(reader.get_message(), source, 0, &f.attrs);
        break;
      case Length(6):
        f.control_ret.push_back(ReadStringPair(reader.get_message()));
        break;
      case Length(7):
        ReadArgAttrs(reader.get_message(), source, &f);
        break;
      default:
        reader.skip();
    }
  }
  return f;
}

}  // namespace

PartialShape ReadShape(pbf_reader reader) {
  PartialShape shape;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Length(2):
        if (shape.dims.size() == kMaxRank) throw MessageError("a shape has over 254 dimensions");
        shape.dims.push_back(ReadDimension(reader.get_message()));
        break;
      case Varint(3):
        shape.unknown_rank = reader.get_uint64() != 0;
        break;
      default:
        reader.skip();
    }
  }
  if (shape.unknown_rank) shape.dims.clear();
  return shape;
}

TensorProto ReadTensor(data_view bytes, const Source& source) {
  TensorProto tensor;
  pbf_reader reader(bytes);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Varint(1):
        tensor.dtype = ToDataType(reader.get_uint64());
        break;
      case Length(2):
        tensor.shape = ReadShape(reader.get_message());
        break;
      default:
        reader.skip();
    }
  }
  tensor.serialized = source.borrow ? Bytes::Borrow(absl::string_view(bytes.data(), bytes.size()))
                                    : Bytes::Own(ToString(bytes));
  return tensor;
}

NodeDef ReadNode(pbf_reader reader, const Source& source) {
  NodeDef node;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Length(1):
        node.name = ToString(reader.get_view());
        break;
      case Length(2):
        node.op = ToString(reader.get_view());
        break;
      case Length(3): {
        const data_view text = reader.get_view();
        node.inputs.push_back(NodeInput::Parse(absl::string_view(text.data(), text.size())));
        break;
      }
      case Length(4):
        node.device = ToString(reader.get_view());
        break;
      case Length(5):
        ReadAttrEntry(reader.get_message(), source, 0, &node.attrs);
        break;
      default:
        reader.skip();
    }
  }
  // Data before control, as TensorFlow itself writes and demands it.
  std::stable_partition(node.inputs.begin(), node.inputs.end(),
                        [](const NodeInput& input) { return !input.is_control(); });
  return node;
}

OpDef ReadOp(pbf_reader reader) {
  OpDef op;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Length(1):
        op.name = ToString(reader.get_view());
        break;
      case Length(2):
        op.inputs.push_back(ReadArg(reader.get_message()));
        break;
      case Length(3):
        op.outputs.push_back(ReadArg(reader.get_message()));
        break;
      case Length(4):
        op.attrs.push_back(ReadAttrDef(reader.get_message()));
        break;
      case Varint(17):
        op.is_stateful = reader.get_uint64() != 0;
        break;
      case Length(20):
        op.control_outputs.push_back(ToString(reader.get_view()));
        break;
      default:
        reader.skip();
    }
  }
  return op;
}

GraphDef ReadGraph(pbf_reader reader, const Source& source) {
  GraphDef graph;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Length(1):
        graph.nodes.push_back(ReadNode(reader.get_message(), source));
        break;
      case Length(2): {
        pbf_reader library = reader.get_message();
        while (library.next()) {
          if (library.tag_and_type() == Length(1)) {
            graph.functions.push_back(ReadFunction(library.get_message(), source));
          } else {
            library.skip();
          }
        }
        break;
      }
      case Length(4): {
        pbf_reader versions = reader.get_message();
        while (versions.next()) {
          if (versions.tag_and_type() == Varint(1)) {
            graph.producer = versions.get_int32();
          } else if (versions.tag_and_type() == Varint(2)) {
            graph.min_consumer = versions.get_int32();
          } else {
            versions.skip();
          }
        }
        break;
      }
      default:
        reader.skip();
    }
  }
  return graph;
}

}  // namespace tektite::graph_def::wire
