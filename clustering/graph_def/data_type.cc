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

struct Pair {
  ir::DType dtype;
  DataType type;
};

// Quantized types behind the integers that the IR holds them as.
constexpr Pair kPairs[] = {
    {ir::DType::kBool, DataType::kBool},     {ir::DType::kS8, DataType::kInt8},
    {ir::DType::kS16, DataType::kInt16},     {ir::DType::kS32, DataType::kInt32},
    {ir::DType::kS64, DataType::kInt64},     {ir::DType::kU8, DataType::kUint8},
    {ir::DType::kU16, DataType::kUint16},    {ir::DType::kU32, DataType::kUint32},
    {ir::DType::kU64, DataType::kUint64},    {ir::DType::kF16, DataType::kHalf},
    {ir::DType::kBF16, DataType::kBfloat16}, {ir::DType::kF32, DataType::kFloat},
    {ir::DType::kF64, DataType::kDouble},    {ir::DType::kS8, DataType::kQint8},
    {ir::DType::kU8, DataType::kQuint8},     {ir::DType::kS16, DataType::kQint16},
    {ir::DType::kU16, DataType::kQuint16},   {ir::DType::kS32, DataType::kQint32},
};

}  // namespace

std::optional<ir::DType> DTypeOf(DataType type) {
  for (const Pair& pair : kPairs) {
    if (pair.type == type) return pair.dtype;
  }
  return std::nullopt;
}

DataType DataTypeOf(ir::DType dtype) {
  for (const Pair& pair : kPairs) {
    if (pair.dtype == dtype) return pair.type;
  }
  return DataType::kInvalid;
}

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
