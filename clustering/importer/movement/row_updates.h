// Rows of variables that change by a rule, one after the other.
//
//   // rows of `table` at the indices, which are input 2, are divided by those of x, input 3
//   const RowRule divide = [](FuncBuilder& r, const std::vector<Value>& e) {
//     return std::vector<Value>{r.Div(e[0], e[1])};
//   };
//   TEKTITE_ASSIGN_OR_RETURN(const std::vector<Value> changed,
//                            UpdateRows(op, {table}, 2, 3, {x}, divide));
//
// The compiled update writes these rows alone where a variable's buffer belongs to it alone.
#ifndef TEKTITE_CLUSTERING_IMPORTER_MOVEMENT_ROW_UPDATES_H_
#define TEKTITE_CLUSTERING_IMPORTER_MOVEMENT_ROW_UPDATES_H_

#include <functional>
#include <vector>

#include "clustering/importer/node_import.h"

namespace tektite::importer {

// New elements of the arrays, from their old ones and then one of each other operand.
using RowRule = std::function<std::vector<Value>(FuncBuilder& b, const std::vector<Value>& in)>;

// The arrays, which have one shape, after the rule has gone over their rows at the indices, an
// input of any rank.  Other operands are scalars or [the indices' dimensions, a row's dimensions];
// where only the first rows of `update_input` count, only these are applied (row_counts.h).  Adds
// the check that every index is in range.
absl::StatusOr<std::vector<Value>> UpdateRows(NodeImport& op, const std::vector<Value>& arrays,
                                              int indices_input, int update_input,
                                              const std::vector<Value>& others,
                                              const RowRule& rule);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_MOVEMENT_ROW_UPDATES_H_
