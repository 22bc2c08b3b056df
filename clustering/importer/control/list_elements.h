// The elements of lists of tensors (tensor_info.h) and of arrays (tensor_arrays.cc), which both are
// buffers: their shape, their places, reads and writes.
#ifndef TEKTITE_CLUSTERING_IMPORTER_CONTROL_LIST_ELEMENTS_H_
#define TEKTITE_CLUSTERING_IMPORTER_CONTROL_LIST_ELEMENTS_H_

#include <optional>

#include "clustering/importer/node_import.h"

namespace tektite::importer {

bool IsOpen(const Dim& size);  // -1
bool IsComplete(const std::optional<Dims>& shape);

// What two descriptions of a shape say together; sizes that both give are assumed to be equal.
absl::StatusOr<std::optional<Dims>> Merge(NodeImport& op, const std::optional<Dims>& a,
                                          const std::optional<Dims>& b);

// An element of this shape is put into the list.
absl::Status Admit(NodeImport& op, const Dims& shape, TensorList* list);

// The elements are read as having this shape, which the list's own and theirs may complete.
absl::Status DescribeAs(NodeImport& op, std::optional<Dims> given, TensorList* list);

void CheckBelow(NodeImport& op, Value a, Value b);
bool NeverBehind(const ValueRange& range, const Dim& end);
// What is known of an index.
std::optional<ValueRange> RangeOf(const TensorInfo& index);
// The same of an input, which may also be computed from counters by sums and products.
std::optional<ValueRange> PlacesOf(const NodeImport& op, int input);

// 0 <= input < length, or TensorFlow raises an error.
absl::Status CheckIndex(NodeImport& op, int input, const TensorList& list);

// Without a buffer that can be had yet, the loop around imports its body again when there is one.
void Write(NodeImport& op, Value index, Value element, TensorList* list);
Value Read(NodeImport& op, Value index, const TensorList& list);

// The list becomes so long that it has an element at that place, if it is not.  Elements between
// are not set.  Where nothing bounds the place, that is doubted (node_import.h).
absl::Status GrowTo(NodeImport& op, int input, TensorList* list);
// The list has room for as many elements.
void MakeRoom(FuncBuilder& b, const Dim& elements, TensorList* list);

absl::Status RequireNotNegative(NodeImport& op, const Dim& size);

// [parts, size of each, ...] of an input that is split into parts of these lengths along its first
// dimension; refuses parts of several sizes.
absl::StatusOr<Dims> EqualParts(NodeImport& op, int value, int lengths);

// The elements as one tensor; as many as there is room for where their number is not known.
absl::StatusOr<Value> Stacked(NodeImport& op, const TensorList& list);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_CONTROL_LIST_ELEMENTS_H_
