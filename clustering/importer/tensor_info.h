// What the importer knows of one output of a TensorFlow node: a tensor, a variable's handle, or a
// list of tensors.
//
//   TensorInfo info = ...;              // of tf.shape(x) with x: f32[n,3]
//   info.contents;                      // {n, 3}
//   Value v = Materialize(b, info);     // these as data
#ifndef TEKTITE_CLUSTERING_IMPORTER_TENSOR_INFO_H_
#define TEKTITE_CLUSTERING_IMPORTER_TENSOR_INFO_H_

#include <memory>
#include <optional>
#include <string>

#include "jit/ops/builder.h"

namespace tektite::importer {

using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::Literal;
using ir::Op;
using ir::Shape;
using ir::Value;
using ops::FuncBuilder;

// Integer tensors of at most this many elements are followed as dimension expressions.
inline constexpr int64_t kMaxContents = 64;

// first <= value < behind.
struct ValueRange {
  Dim first, behind;
  friend bool operator==(const ValueRange& a, const ValueRange& b) {
    return a.first == b.first && a.behind == b.behind;
  }
};

struct ArrayHandle;  // tensor_arrays.h

// Of an array (tensor_arrays.h), the place behind those that are written.
struct NextPlace {
  std::optional<Dim> known;
  Value base;  // s32, where it is not known: the place is `base` + `offset`
  int64_t offset = 0;
  bool is_open = false;  // `base` is a region's parameter
  // Of a loop's variable: `base` is what this other variable has.
  std::optional<size_t> same_as;
};

struct ArrayState {
  std::shared_ptr<ArrayHandle> handle;
  NextPlace next;
  bool unset_are_zeros = false;
  bool is_unproven = false;  // a write may have been to another place than the next
  int writes = 0;            // of those that the handle has seen, when this one was made
  bool is_stale = false;     // it was not the last one when it entered a region
};

// TensorFlow's TensorList as a buffer [capacity, element...] whose first `length` rows are the
// elements.  An element that is not set is zeros there, as TensorFlow reads it.
//
// A list into which one value alone was pushed, as often as it was, has no buffer: a gradient's
// loop keeps the weights that its forward loop reads in each turn in such lists.
struct TensorList {
  enum class Written { kNo, kYes, kMaybe };

  DType dtype = DType::kF32;
  // The elements' shape as the program gives it, -1 for a size that it leaves open; nothing: not
  // even the rank.
  std::optional<Dims> declared;
  std::optional<Dims> element;  // all known; from the first element where the program is not clear
  std::optional<Dim> length;
  Value length_value;  // s32, where the length is not known as a size
  std::optional<ValueRange> length_range;
  std::optional<Dim> limit;        // on the length; nothing: none
  std::optional<Dim> capacity;     // nothing: not known before the loop around is
  std::optional<Dim> reach;        // places that made it longer were before this one
  bool grows_anywhere = false;     // nothing is known of some of them
  bool has_leftovers = false;      // rows behind the length may be of elements that are gone
  bool has_buffer = false;         // something may have been written
  Value buffer;                    // null: zeros, or not known yet
  Written written = Written::kNo;  // any element
  Value written_value;             // bool, for kMaybe
  std::optional<Dims> contents;    // of every single element
  bool is_uniform = false;         // every element is `uniform`, and `buffer` is null
  Value uniform;
  // Of a loop's variable: `uniform` is what this other variable has, which no turn changes.
  std::optional<size_t> uniform_of;
  std::optional<ArrayState> array;  // it is the content of a TensorArray
};

// A tensor of which only some rows count, as its room for rows is known but not their number.
struct Measured {
  Dims dims;   // of the room
  Value rows;  // s64
};

struct TensorInfo {
  Shape shape;
  Value value;                         // null: to be made from contents or literal when needed
  std::optional<Dims> contents;        // the elements, row-major, of a small integer tensor
  std::optional<Literal> literal;      // the elements of a constant
  std::optional<ValueRange> range;     // of an integer scalar
  bool is_resource = false;            // a variable's handle: `value` is the variable's content
  bool counts = false;                 // each turn of the loop around sees another value of it
  std::optional<TensorList> list;      // a list's handle, or the flow of an array
  std::shared_ptr<ArrayHandle> array;  // an array's handle, which no value stands for
  int array_loops = 0;                 // between here and where that array is made
  bool is_complex = false;             // `shape` and `value` are of the real part
  Value imaginary;                     // the imaginary part, with is_complex
  Value rows;                          // how many of the rows count, s64; null: all (row_counts.h)
  std::optional<Measured> measured;    // of such a tensor's sizes, or the first of them alone
  std::string unusable;                // why there can be no value (a string constant); else empty
};

TensorInfo InfoOfList(TensorList list);

// Makes the value of a tensor whose elements are known.
Value Materialize(FuncBuilder& b, const TensorInfo& info);
// Elements of a small integer literal; nullopt for any other.
std::optional<Dims> ContentsOf(const Literal& literal);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_TENSOR_INFO_H_
