// Places of values in sorted rows.
//
//   // How many elements of each row of cumulated weights are not above each number.
//   Value places = SearchRows(b, weights, numbers, n, [&](Value element, Value number) {
//     return b.Compare(element, number, "le");
//   });
//
// Limits: the rows' length must be known; each step of the search is a gather.
#ifndef TEKTITE_CLUSTERING_IMPORTER_MOVEMENT_ROW_SEARCH_H_
#define TEKTITE_CLUSTERING_IMPORTER_MOVEMENT_ROW_SEARCH_H_

#include "clustering/importer/movement/gathering.h"
#include "clustering/importer/node_import.h"

namespace tektite::importer {

// How many elements of each sorted row [b, n] come before each value [b, m]: s64[b, m].  A binary
// search with the comparisons that C++'s lower_bound makes, so that rows which are not sorted have
// its answer, too.  `before` says which elements those are.
template <typename Before>
Value SearchRows(FuncBuilder& b, Value rows, Value values, int64_t n, Before before) {
  const Dims dims = values.shape().dims();
  Value first = b.Full(DType::kS64, 0, dims), length = b.Full(DType::kS64, n, dims);
  const Value row = b.Iota(DType::kS64, {dims[0], dims[1], Dim(1)}, 0);
  for (int64_t rest = n; rest > 0; rest /= 2) {
    Value half = b.Binary(Op::kShiftRightArithmetic, length, b.FullLike(length, 1));
    Value middle = b.Add(first, half);
    Value column = b.Min(middle, b.FullLike(middle, n - 1));
    Value points = b.Concatenate({row, b.Reshape(column, {dims[0], dims[1], Dim(1)})}, 2);
    Value goes_on = b.Binary(Op::kAnd, b.Compare(length, b.FullLike(length, 0), "gt"),
                             before(Gather(b, rows, points, {0, 1}, {}, 2), values));
    first = b.Select(goes_on, b.Add(middle, b.FullLike(middle, 1)), first);
    length = b.Select(goes_on, b.Sub(b.Sub(length, half), b.FullLike(length, 1)), half);
  }
  return first;
}

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_MOVEMENT_ROW_SEARCH_H_
