// What XLA's own ops (XlaReduce, XlaGather, ...) have in common: dimension numbers in a string, and
// small functions that reduce or compare two numbers.
//
//   TEKTITE_ASSIGN_OR_RETURN(const std::string reducer, RequireReducer(op, "reducer"));   // "add"
//
// Only XLA has kernels for these ops, so graphs hold them in functions that it compiles
// (jit_compile=True): programs that call its ops by name, and exports of other frameworks.
#ifndef TEKTITE_CLUSTERING_IMPORTER_XLA_XLA_FUNCTIONS_H_
#define TEKTITE_CLUSTERING_IMPORTER_XLA_XLA_FUNCTIONS_H_

#include <string>
#include <vector>

#include "clustering/graph_def/integer_fields.h"
#include "clustering/importer/node_import.h"

namespace tektite::importer {

// The fields of the attribute dimension_numbers.
absl::StatusOr<graph_def::IntegerFields> RequireDimensionNumbers(const NodeImport& op);
// A field with one number; it defaults to 0, as in the message.
int64_t OneOf(const graph_def::IntegerFields& fields, int field);
std::vector<int64_t> AllOf(const graph_def::IntegerFields& fields, int field);

// The op that the function of this attribute applies to its two arguments, "Less" or "AddV2";
// refuses functions that do more.
absl::StatusOr<std::string> RequireBinaryOp(NodeImport& op, absl::string_view attr);
// A reducer of the IR that does what the function does; of a scatter's, "replace", too.
absl::StatusOr<std::string> RequireReducer(NodeImport& op, absl::string_view attr);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_XLA_XLA_FUNCTIONS_H_
