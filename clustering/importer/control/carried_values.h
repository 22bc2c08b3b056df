// What the importer knows of a value on its way into a region and out of it, and the IR values that
// carry the rest.
//
//   tensor of unknown content      one value
//   known elements, a constant     none: each side makes them anew
//   a variable's handle            one value, the variable's content
//   a list of tensors              its length if that is not known, its buffer once there is one
//   an array's handle              none
//   an array's flow                that of a list, and the next place where no other value tells it
//
// A loop's facts have to hold before and after each turn. They start as those of the values that
// enter the loop, and Join takes away what the values after a turn contradict.
#ifndef TEKTITE_CLUSTERING_IMPORTER_CONTROL_CARRIED_VALUES_H_
#define TEKTITE_CLUSTERING_IMPORTER_CONTROL_CARRIED_VALUES_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "clustering/importer/tensor_info.h"

namespace tektite::importer {

// All but the values.
TensorInfo FactsOf(const TensorInfo& info);

// Takes away from `facts` what `info` contradicts; `changed` becomes true when it was anything.
// Sizes that may be equal are assumed to be.  An error's message lacks the node.
absl::Status Join(const TensorInfo& info, FuncBuilder* b, TensorInfo* facts, bool* changed);

// The shapes of the values that carry what the facts leave open.
std::vector<Shape> CarriedShapes(const TensorInfo& facts);

// These values of `info`, made where they are not there.
std::vector<Value> CarriedValues(const TensorInfo& facts, const TensorInfo& info, FuncBuilder* b);

// The facts with these values, which are taken from the front of `values`.
TensorInfo WithValues(const TensorInfo& facts, absl::Span<const Value>* values);

// Whether a buffer of the list can be had.
bool HasRoom(const TensorList& list);
Shape BufferShape(const TensorList& list);
// The list's buffer; null where something may have been written and nothing tells how much.
Value BufferOf(const TensorList& list, FuncBuilder* b);
// The same with room for as many elements as `capacity`, which is no less than the list's.
Value BufferWithRoom(const TensorList& list, const Dim& capacity, FuncBuilder* b);
Value LengthOf(const TensorList& list, FuncBuilder* b);  // s32
// Of an array, the place behind those that are written, s32.
Value NextOf(const TensorList& list, FuncBuilder* b);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_CONTROL_CARRIED_VALUES_H_
