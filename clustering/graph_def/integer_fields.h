// Messages whose fields are all integers or lists of them, from their wire form: the dimension
// numbers that XLA's ops carry in string attributes.
//
//   // contracts dimension 1 of the left with dimension 0 of the right operand
//   IntegerFields fields = *ReadIntegerFields(node.attrs.String("dimension_numbers"));
//   fields[1];   // {1}: lhs_contracting_dimensions
//   fields[4];   // {}: rhs_batch_dimensions
//
// Any bytes are safe: the answer is the fields or an error.  Packed lists and repeated fields read
// the same; a field of another wire type is an error.
#ifndef TEKTITE_CLUSTERING_GRAPH_DEF_INTEGER_FIELDS_H_
#define TEKTITE_CLUSTERING_GRAPH_DEF_INTEGER_FIELDS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tektite::graph_def {

// By field number.
using IntegerFields = std::map<int, std::vector<int64_t>>;

absl::StatusOr<IntegerFields> ReadIntegerFields(absl::string_view bytes);

}  // namespace tektite::graph_def

#endif  // TEKTITE_CLUSTERING_GRAPH_DEF_INTEGER_FIELDS_H_
