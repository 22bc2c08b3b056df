#include "clustering/graph_def/tensor.h"

#include <cstring>
#include <limits>
#include <protozero/pbf_reader.hpp>

#include "clustering/graph_def/wire_messages.h"

namespace tektite::graph_def {
namespace {

using protozero::data_view;
using protozero::pbf_reader;
using wire::Fixed32;
using wire::Fixed64;
using wire::Length;
using wire::Varint;

// The values a proto spells out: either one blob or elements, already as they lie in memory.
struct Spelled {
  absl::string_view content;
  std::string elements;
  std::vector<std::string> strings;
};

template <typename T>
void Put(T value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Appends the varints of field `reader` stands at, packed or not, each as a T.
template <typename T>
void ReadVarints(pbf_reader* reader, std::string* out) {
  if (reader->has_wire_type(protozero::pbf_wire_type::varint)) {
    Put(static_cast<T>(reader->get_uint64()), out);
    return;
  }
  const data_view packed = reader->get_view();
  const char* p = packed.data();
  const char* end = p + packed.size();
  while (p < end) Put(static_cast<T>(protozero::decode_varint(&p, end)), out);
}

void ReadPackedFixed(pbf_reader* reader, std::string* out) {
  const data_view packed = reader->get_view();
  out->append(packed.data(), packed.size());
}

void ReadIntVal(pbf_reader* reader, DataType dtype, std::string* out) {
  switch (ElementSize(dtype)) {
    case 1:
      return ReadVarints<int8_t>(reader, out);
    case 2:
      return ReadVarints<int16_t>(reader, out);
    default:
      return ReadVarints<int32_t>(reader, out);
  }
}

// Values come in the field of their type; those of another field are not this tensor's.
Spelled ReadSpelled(const TensorProto& proto) {
  Spelled spelled;
  const DataType dtype = proto.dtype;
  const bool int_field = dtype == DataType::kInt32 || dtype == DataType::kInt16 ||
                         dtype == DataType::kInt8 || dtype == DataType::kUint8 ||
                         dtype == DataType::kUint16 || dtype == DataType::kQint8 ||
                         dtype == DataType::kQuint8 || dtype == DataType::kQint16 ||
                         dtype == DataType::kQuint16 || dtype == DataType::kQint32;
  const bool half_field = dtype == DataType::kHalf || dtype == DataType::kBfloat16;
  const bool float_field = dtype == DataType::kFloat || dtype == DataType::kComplex64;
  const bool double_field = dtype == DataType::kDouble || dtype == DataType::kComplex128;
  const absl::string_view bytes = proto.serialized.view();
  pbf_reader reader(bytes.data(), bytes.size());
  std::string* out = &spelled.elements;
  while (reader.next()) {
    const uint32_t field = reader.tag();
    const uint32_t tag = reader.tag_and_type();
    const bool varints = tag == Varint(field) || tag == Length(field);
    if (tag == Length(4)) {
      const data_view content = reader.get_view();
      spelled.content = absl::string_view(content.data(), content.size());
    } else if (field == 7 && varints && int_field) {
      ReadIntVal(&reader, dtype, out);
    } else if (field == 13 && varints && half_field) {
      ReadVarints<uint16_t>(&reader, out);
    } else if (field == 10 && varints && dtype == DataType::kInt64) {
      ReadVarints<int64_t>(&reader, out);
    } else if (field == 11 && varints && dtype == DataType::kBool) {
      ReadVarints<bool>(&reader, out);
    } else if (field == 16 && varints && dtype == DataType::kUint32) {
      ReadVarints<uint32_t>(&reader, out);
    } else if (field == 17 && varints && dtype == DataType::kUint64) {
      ReadVarints<uint64_t>(&reader, out);
    } else if (float_field && (tag == Fixed32(5) || tag == Fixed32(9))) {
      Put(reader.get_float(), out);
    } else if (float_field && (tag == Length(5) || tag == Length(9))) {
      ReadPackedFixed(&reader, out);
    } else if (double_field && (tag == Fixed64(6) || tag == Fixed64(12))) {
      Put(reader.get_double(), out);
    } else if (double_field && (tag == Length(6) || tag == Length(12))) {
      ReadPackedFixed(&reader, out);
    } else if (tag == Length(8) && dtype == DataType::kString) {
      spelled.strings.push_back(wire::ToString(reader.get_view()));
    } else if (tag == Length(18) && ElementSize(dtype) == 1) {
      ReadPackedFixed(&reader, out);
    } else {
      reader.skip();
    }
  }
  return spelled;
}

std::string Describe(const TensorProto& proto) {
  return absl::StrCat(DataTypeName(proto.dtype), proto.shape.ToString());
}

absl::Status FillStrings(const TensorProto& proto, Spelled spelled, int64_t elements,
                         TensorValue* value) {
  // A string of no characters still costs an object.
  if (elements > static_cast<int64_t>(spelled.strings.size()) + (int64_t{1} << 20)) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor ", Describe(proto), " claims far more strings than it holds"));
  }
  value->strings = std::move(spelled.strings);
  if (static_cast<int64_t>(value->strings.size()) > elements) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor ", Describe(proto), " holds ", value->strings.size(), " strings"));
  }
  const std::string last = value->strings.empty() ? std::string() : value->strings.back();
  value->strings.resize(elements, last);
  return absl::OkStatus();
}

absl::StatusOr<TensorValue> Materialize(const TensorProto& proto, int64_t max_broadcast_bytes) {
  TensorValue value;
  value.dtype = proto.dtype;
  if (!proto.shape.IsStatic()) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor ", Describe(proto), " has no complete shape"));
  }
  value.dims.assign(proto.shape.dims.begin(), proto.shape.dims.end());
  const int64_t elements = proto.shape.NumElements();
  const int64_t element_size = ElementSize(proto.dtype);
  if (element_size == 0 && proto.dtype != DataType::kString) {
    return absl::UnimplementedError(
        absl::StrCat("tensor ", Describe(proto), " has no elements that lie in plain memory"));
  }
  int64_t size = 0;
  if (__builtin_mul_overflow(elements, element_size, &size)) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor ", Describe(proto), " is larger than any memory"));
  }
  Spelled spelled = ReadSpelled(proto);
  if (proto.dtype == DataType::kString) {
    absl::Status status = FillStrings(proto, std::move(spelled), elements, &value);
    if (!status.ok()) return status;
    return value;
  }
  if (!spelled.content.empty()) {
    if (static_cast<int64_t>(spelled.content.size()) != size) {
      return absl::InvalidArgumentError(absl::StrCat("tensor ", Describe(proto), " needs ", size,
                                                     " bytes, its content has ",
                                                     spelled.content.size()));
    }
    value.bytes = proto.serialized.Part(spelled.content);
    return value;
  }
  const int64_t spelled_size = spelled.elements.size();
  if (spelled_size > size || spelled_size % element_size != 0) {
    return absl::InvalidArgumentError(absl::StrCat("tensor ", Describe(proto), " needs ", size,
                                                   " bytes, its values have ", spelled_size));
  }
  if (size > spelled_size && size > max_broadcast_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("tensor ", Describe(proto), " would take ",
                                                     size, " bytes but spells out only ",
                                                     spelled_size));
  }
  // The last value stands for all that follow; without any value they are zero.
  std::string bytes = std::move(spelled.elements);
  const std::string last =
      bytes.empty() ? std::string(element_size, '\0') : bytes.substr(bytes.size() - element_size);
  if (last.find_first_not_of(last[0]) == std::string::npos) {
    bytes.resize(size, last[0]);
  } else {
    bytes.reserve(size);
    while (static_cast<int64_t>(bytes.size()) < size) bytes += last;
  }
  value.bytes = Bytes::Own(std::move(bytes));
  return value;
}

template <typename T>
std::vector<int64_t> Widen(absl::string_view bytes) {
  std::vector<int64_t> out(bytes.size() / sizeof(T));
  for (size_t i = 0; i < out.size(); ++i) {
    T element;
    std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
    out[i] = static_cast<int64_t>(element);
  }
  return out;
}

}  // namespace

int64_t TensorValue::NumElements() const {
  PartialShape shape;
  shape.dims = dims;
  return shape.NumElements();
}

absl::StatusOr<TensorValue> MaterializeTensor(const TensorProto& proto,
                                              int64_t max_broadcast_bytes) {
  absl::StatusOr<TensorValue> value = absl::InternalError("not read");
  absl::Status status = wire::Guard(absl::StrCat("tensor ", Describe(proto)),
                                    [&] { value = Materialize(proto, max_broadcast_bytes); });
  if (!status.ok()) return status;
  return value;
}

absl::StatusOr<std::vector<int64_t>> MaterializeIntegers(const TensorProto& proto) {
  absl::StatusOr<TensorValue> value = MaterializeTensor(proto, /*max_broadcast_bytes=*/1 << 20);
  if (!value.ok()) return value.status();
  const absl::string_view bytes = value->bytes.view();
  switch (value->dtype) {
    case DataType::kInt8:
      return Widen<int8_t>(bytes);
    case DataType::kInt16:
      return Widen<int16_t>(bytes);
    case DataType::kInt32:
      return Widen<int32_t>(bytes);
    case DataType::kInt64:
      return Widen<int64_t>(bytes);
    case DataType::kUint8:
      return Widen<uint8_t>(bytes);
    case DataType::kUint16:
      return Widen<uint16_t>(bytes);
    case DataType::kUint32:
      return Widen<uint32_t>(bytes);
    case DataType::kUint64:
      return Widen<uint64_t>(bytes);
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", Describe(proto), " is not of an integer type"));
  }
}

}  // namespace tektite::graph_def
