// The messages inside a GraphDef, from their wire form; shared by the readers of this room.
//
// These functions throw (protozero does), so only the entry points of this room, which catch, call
// them: ReadGraphDef, ReadSavedModel, MaterializeTensor.
//
//   const absl::Status status = Guard("GraphDef", [&] { graph = ReadGraph(reader, source); });
#ifndef TEKTITE_CLUSTERING_GRAPH_DEF_WIRE_MESSAGES_H_
#define TEKTITE_CLUSTERING_GRAPH_DEF_WIRE_MESSAGES_H_

#include <protozero/pbf_reader.hpp>
#include <stdexcept>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "clustering/graph_def/graph_def.h"

namespace tektite::graph_def::wire {

// Errors beside protozero's own exceptions: exceeded limits and meaningless values.
class MessageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The bytes under a message, and who keeps them alive.
struct Source {
  bool borrow = false;
};

// The tag of a field of this number and wire type.
constexpr uint32_t Varint(uint32_t field) {
  return protozero::tag_and_type(field, protozero::pbf_wire_type::varint);
}
constexpr uint32_t Length(uint32_t field) {
  return protozero::tag_and_type(field, protozero::pbf_wire_type::length_delimited);
}
constexpr uint32_t Fixed32(uint32_t field) {
  return protozero::tag_and_type(field, protozero::pbf_wire_type::fixed32);
}
constexpr uint32_t Fixed64(uint32_t field) {
  return protozero::tag_and_type(field, protozero::pbf_wire_type::fixed64);
}

inline std::string ToString(protozero::data_view view) {
  return std::string(view.data(), view.size());
}
inline DataType ToDataType(uint64_t number) {
  return static_cast<DataType>(static_cast<int32_t>(number));
}

// What reads one field of a message: `read` takes the reader, which stands at the field's value.
template <typename Read>
struct Field {
  uint32_t tag;
  Read read;
};
template <typename Read>
Field(uint32_t tag, Read read) -> Field<Read>;

inline auto Text(uint32_t number, std::string* text) {
  return Field{Length(number),
               [text](protozero::pbf_reader& r) { *text = ToString(r.get_view()); }};
}
inline auto Bool(uint32_t number, bool* value) {
  return Field{Varint(number), [value](protozero::pbf_reader& r) { *value = r.get_uint64() != 0; }};
}
inline auto Type(uint32_t number, DataType* type) {
  return Field{Varint(number),
               [type](protozero::pbf_reader& r) { *type = ToDataType(r.get_uint64()); }};
}
// A message inside, of which `read` takes a reader of its own.
template <typename Read>
auto Message(uint32_t number, Read read) {
  return Field{Length(number), [read](protozero::pbf_reader& r) { read(r.get_message()); }};
}

// Reads a message, and skips what none of `fields` is for.  A field of an unexpected wire type is
// skipped, too, as protobuf demands.
template <typename... Reads>
void ReadFields(protozero::pbf_reader reader, const Field<Reads>&... fields) {
  const auto reads = [&reader](uint32_t tag, const auto& field) {
    if (field.tag != tag) return false;
    field.read(reader);
    return true;
  };
  while (reader.next()) {
    const uint32_t tag = reader.tag_and_type();
    if (!(reads(tag, fields) || ...)) reader.skip();
  }
}

PartialShape ReadShape(protozero::pbf_reader reader);
TensorProto ReadTensor(protozero::data_view bytes, const Source& source);
NodeDef ReadNode(protozero::pbf_reader reader, const Source& source);
OpDef ReadOp(protozero::pbf_reader reader);
GraphDef ReadGraph(protozero::pbf_reader reader, const Source& source);

// Runs `read` and turns its exception into a status that starts with `what`.
template <typename Read>
absl::Status Guard(absl::string_view what, Read&& read) {
  try {
    read();
    return absl::OkStatus();
  } catch (const std::exception& e) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": ", e.what()));
  }
}

}  // namespace tektite::graph_def::wire

#endif  // TEKTITE_CLUSTERING_GRAPH_DEF_WIRE_MESSAGES_H_
