#include "clustering/graph_def/integer_fields.h"

#include "clustering/graph_def/wire_messages.h"

namespace tektite::graph_def {

absl::StatusOr<IntegerFields> ReadIntegerFields(absl::string_view bytes) {
  IntegerFields fields;
  absl::Status status = wire::Guard("dimension numbers", [&] {
    protozero::pbf_reader reader(bytes.data(), bytes.size());
    while (reader.next()) {
      std::vector<int64_t>& field = fields[static_cast<int>(reader.tag())];
      switch (reader.wire_type()) {
        case protozero::pbf_wire_type::varint:
          field.push_back(reader.get_int64());
          break;
        case protozero::pbf_wire_type::length_delimited:
          for (const int64_t value : reader.get_packed_int64()) field.push_back(value);
          break;
        default:
          throw wire::MessageError("a field that is no integer");
      }
    }
  });
  if (!status.ok()) return status;
  return fields;
}

}  // namespace tektite::graph_def
