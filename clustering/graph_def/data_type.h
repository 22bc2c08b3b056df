// The element types of TensorFlow, with the numbers of tensorflow.DataType.
//
// They exist here, apart from the IR's own dtypes, because a graph may hold types
// that no code is ever made for (strings, resources) and those must survive being
// read and written.
//
//   ElementSize(DataType::kFloat)  // 4
//   DataTypeName(DataType::kHalf)  // "DT_HALF"
//
// A reference type ("ref-typed input", number + 100) keeps its number; see IsRef.
#ifndef TEKTITE_CLUSTERING_GRAPH_DEF_DATA_TYPE_H_
#define TEKTITE_CLUSTERING_GRAPH_DEF_DATA_TYPE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "jit/ir/dtype.h"

namespace tektite::graph_def {

enum class DataType : int32_t {
#define TEKTITE_DATA_TYPE(enumerator, name, number, bytes) enumerator = number,
#include "clustering/graph_def/data_type_list.inc"
#undef TEKTITE_DATA_TYPE
};

// Bytes of one element in memory; 0 for types without a fixed in-memory form (string,
// resource, variant) and for packed or unknown ones.
int64_t ElementSize(DataType type);

// "DT_FLOAT"; "DT_FLOAT_REF" for reference types; "DT_<number>" for a number not in the list.
std::string DataTypeName(DataType type);

// The type of a complex type's two parts; nullopt for any other type.
std::optional<DataType> PartType(DataType type);

// The tensor IR's type of such elements, and back; nullopt where the IR has none.
std::optional<ir::DType> DTypeOf(DataType type);
DataType DataTypeOf(ir::DType dtype);

// The type called `name`, reference types included.
std::optional<DataType> DataTypeFromName(absl::string_view name);

inline constexpr int32_t kRefOffset = 100;
inline bool IsRef(DataType type) { return static_cast<int32_t>(type) > kRefOffset; }

}  // namespace tektite::graph_def

#endif  // TEKTITE_CLUSTERING_GRAPH_DEF_DATA_TYPE_H_
