// Places that data decides on: an element of an integer tensor as a sum of what is known and of
// values.
//
//   begin = [0, i]    end = [4, i + 3]           // of a StridedSlice
//   KnownSum(op, {{2, 1, 1}, {1, 1, -1}})        // end[1] - begin[1]: 3
//   PositionOf(op, 1, 1)                         // the value i, and between which bounds it is
//
// clustering/graph_def/positions.h asks the same of the graph, before there is any IR; what is
// known there must be known here, too.
//
// Limits: sums, differences, products with constants, and movement of elements; anything else is a
// value of its own.  Sums are those of integers without end: a caller that takes a distance for a
// size checks that the place lies inside, where no sum of 32 bits has wrapped.
#ifndef TEKTITE_CLUSTERING_IMPORTER_MOVEMENT_POSITIONS_H_
#define TEKTITE_CLUSTERING_IMPORTER_MOVEMENT_POSITIONS_H_

#include <optional>

#include "absl/types/span.h"
#include "clustering/importer/node_import.h"

namespace tektite::importer {

// Where something lies in a dimension.
struct Position {
  std::optional<Dim> known;
  Value value;                      // s64, a scalar, where it is not known
  std::optional<ValueRange> range;  // of the value
};

// Element `element` of a node's input, times `factor`.
struct ElementTerm {
  int input = 0;
  int64_t element = 0;
  int64_t factor = 1;
};

// The sum of these, where it does not depend on data.
std::optional<Dim> KnownSum(NodeImport& op, absl::Span<const ElementTerm> terms);

absl::StatusOr<Position> PositionOf(NodeImport& op, int input, int64_t element);

// Whether the elements of an input are all known.
bool IsKnown(const NodeImport& op, int input);

// The position as a value, s64.
Value ValueOf(NodeImport& op, const Position& position);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_MOVEMENT_POSITIONS_H_
