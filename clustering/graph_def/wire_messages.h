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

// A case label for a field of this number and wire type. A field with an unexpected wire type then
// falls into `default: skip()`, as protobuf demands.
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
