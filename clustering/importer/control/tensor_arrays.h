// Arrays of TensorFlow 1 (TensorArrayV3) as lists of tensors (tensor_info.h).
//
// An array's handle names it, and a float, its flow, runs from each write to the next.  TensorFlow
// keeps the elements beside the graph; here the flow is the list, and the handle is no value.
//
//   handle, f0 = TensorArrayV3(size)                  f0: buffer [size, element...]
//   f1 = TensorArrayWriteV3(handle, i, x, f0)   ==>   f1: dynamic_update_slice(f0, x, i, 0)
//   y = TensorArrayReadV3(handle, i, f1)              y:  dynamic_slice(f1, i, 0)
//
// TensorFlow raises an error where an element is written twice, read without having been written
// (but for zeros of a shape that the array knows, by its attribute or an element), or read twice
// (clear_after_read).  So
// - writes go from place to place, which the index has to prove: in a loop it is a counter that
//   starts where the writes do (loops.cc).  Others are refused.
// - reads of places that may not be written are checked (importer.h).  That a place is zeros is
//   known of the newest state alone: a program may write along one flow and read along an older
//   one.
// - of an array that clears what is read, the reads are noted at the handle: each must see another
//   place in each turn, and the places of two must not overlap.  Others are refused.
//
// Limits: arrays that grow (dynamic_size), gradients of arrays and stacks are the host's.
#ifndef TEKTITE_CLUSTERING_IMPORTER_CONTROL_TENSOR_ARRAYS_H_
#define TEKTITE_CLUSTERING_IMPORTER_CONTROL_TENSOR_ARRAYS_H_

#include <map>
#include <optional>

#include "clustering/importer/node_import.h"

namespace tektite::importer {

struct ArrayHandle {
  struct Reads {
    std::optional<ValueRange> places;  // nothing: any
    bool is_once = false;              // each at most once
  };

  bool clears = true;
  int writes = 0;  // so far, each making another flow
  std::map<const graph_def::NodeDef*, Reads> reads;
};

// Before a region's import: what is known of an array that is not its newest state.  On the way
// into a region.  When a loop has written to it.
void NoteStale(TensorInfo* info);
void EnterRegion(ArrayState* array);
void NoteWrite(ArrayState* array);

// Refuses an array that clears elements of which one may be read twice; `op` is what is refused.
absl::Status CheckReads(const NodeImport& op, const ArrayHandle& array);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_CONTROL_TENSOR_ARRAYS_H_
