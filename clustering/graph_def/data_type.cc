#include "clustering/graph_def/data_type.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace tektite::graph_def {
namespace {

struct Row {
  DataType type;
  absl::string_view name;
  int64_t bytes;
};

constexpr Row kRows[] = {
#define TEKTITE_DATA_TYPE(enumerator, name, number, bytes) {DataType::enumerator, name, bytes},
#include "clustering/graph_def/data_type_list.inc"
#undef TEKTITE_DATA_TYPE
};

}  // namespace

int64_t ElementSize(DataType type) {
  for (const Row& row : kRows) {
    if (row.type == type) return row.bytes;
  }
  return 0;
}

std::string DataTypeName(DataType type) {
  for (const Row& row : kRows) {
    if (row.type == type) return std::string(row.name);
  }
  if (IsRef(type)) {
    return absl::StrCat(
        DataTypeName(static_cast<DataType>(static_cast<int32_t>(type) - kRefOffset)), "_REF");
  }
  return absl::StrCat("DT_", static_cast<int32_t>(type));
}

std::optional<DataType> PartType(DataType type) {
  if (type == DataType::kComplex64) return DataType::kFloat;
  if (type == DataType::kComplex128) return DataType::kDouble;
  return std::nullopt;
}

std::optional<DataType> DataTypeFromName(absl::string_view name) {
  const bool ref = absl::ConsumeSuffix(&name, "_REF");
  for (const Row& row : kRows) {
    if (row.name != name) continue;
    return static_cast<DataType>(static_cast<int32_t>(row.type) + (ref ? kRefOffset : 0));
  }
  return std::nullopt;
}

}  // namespace tektite::graph_def
