// Tensors of a GraphDef: from TensorProto to raw bytes and back.
//
// A TensorProto holds its elements in one of many forms (one blob, a list per type, a list
// whose last value stands for all that follow). MaterializeTensor makes the one form that
// code can use: row-major elements in the host's byte order.
//
//   ASSIGN_OR_RETURN(TensorValue value, MaterializeTensor(proto));
//   const float* x = ...memcpy from value.bytes.view()...
//
// Limits: the claimed size is checked before memory is asked for; a tensor that is larger than
// what its proto spells out (a broadcast value) may have at most `max_broadcast_bytes`.
// Strings have no raw bytes: they come in `strings`. Resources and variants are refused.
#ifndef TEKTITE_CLUSTERING_GRAPH_DEF_TENSOR_H_
#define TEKTITE_CLUSTERING_GRAPH_DEF_TENSOR_H_

#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "clustering/graph_def/graph_def.h"

namespace tektite::graph_def {

struct TensorValue {
  DataType dtype = DataType::kInvalid;
  absl::InlinedVector<int64_t, 4> dims;
  // ElementSize(dtype) bytes an element; not aligned. May share the proto's memory.
  Bytes bytes;
  std::vector<std::string> strings;  // DT_STRING only

  int64_t NumElements() const;
};

inline constexpr int64_t kMaxBroadcastBytes = int64_t{1} << 30;

absl::StatusOr<TensorValue> MaterializeTensor(const TensorProto& proto,
                                              int64_t max_broadcast_bytes = kMaxBroadcastBytes);

// The elements of a tensor of any integer type, widened.
absl::StatusOr<std::vector<int64_t>> MaterializeIntegers(const TensorProto& proto);

}  // namespace tektite::graph_def

#endif  // TEKTITE_CLUSTERING_GRAPH_DEF_TENSOR_H_
