// Emits the code that computes one vector of elements of a fusion's values.
//
//   ElementEmitter e(&b, region, lanes);
//   e.BindBuffer(region.parameter(0)->result(), b.Buffer(0));
//   e.SetMask(b.MaskUpTo(left, lanes));                      // for the tail
//   loop::Value v = e.Emit(region.outputs()[0], {row, {column, 1}});
//
// A position is an index per dimension, each a scalar base plus `coefficient` times the lane number
// (or, where that is not enough, an index for every lane).  Data movement changes the index and
// computes nothing; a value read at one position twice is computed once.  A value that does not
// depend on the lane stays scalar, and is spread only where it meets vectors.
//
// f16 and bf16 are computed in f32 and rounded after every op, as TensorFlow does.
#ifndef TEKTITE_JIT_LLVM_EMIT_ELEMENT_EMITTER_H_
#define TEKTITE_JIT_LLVM_EMIT_ELEMENT_EMITTER_H_

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "jit/ir/graph.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::loop {

struct LaneIndex {
  loop::Value base;         // s64 scalar
  ir::Dim coefficient = 0;  // of the lane number
  loop::Value lanes;        // s64 vector that replaces both when it is set

  bool uniform() const { return coefficient == ir::Dim(0) && !lanes; }
  friend bool operator==(const LaneIndex& a, const LaneIndex& b) {
    return a.base == b.base && a.coefficient == b.coefficient && a.lanes == b.lanes;
  }
};
using Indices = std::vector<LaneIndex>;

class ElementEmitter {
 public:
  // `lanes`: of the vectors Emit returns.
  ElementEmitter(loop::Builder* builder, int lanes) : b_(*builder), lanes_(lanes) {}

  // Where a value lies in memory, row-major in its own shape.
  void BindBuffer(ir::Value value, loop::Value pointer) { buffers_[value] = pointer; }
  // `value` is `v` at the current position, whatever the index (an accumulator, a row's sum).
  void BindValue(ir::Value value, loop::Value v) { bound_[value] = v; }
  // Computes the value at an index by other means than its op (a contraction's accumulator).
  void UnbindValue(ir::Value value) { bound_.erase(value); }
  // Lanes that are off read no memory.  None: all are on.
  void SetMask(loop::Value mask) { mask_ = mask; }
  // Forgets computed values: call it when the position moves or a block of code ends.
  void Clear() { memo_.clear(); }
  // Values computed so far stay known, also after Clear: for work that is done once before a loop.
  // Emit finds them again at the same index only.
  void Pin();

  // One lane if the value is the same in all lanes, otherwise `lanes`.
  loop::Value Emit(ir::Value value, const Indices& at);
  // The same with all lanes.
  loop::Value EmitVector(ir::Value value, const Indices& at);
  // Asks for the line of memory at which Emit would begin to read a part of a buffer (slices,
  // reshapes); for nothing where lanes are at places of their own.
  void Prefetch(ir::Value value, const Indices& at);
  // Reads `dtype` elements of a row-major array.
  loop::Value LoadAt(loop::Value pointer, const ir::Shape& shape, const Indices& at);
  void StoreAt(loop::Value pointer, const ir::Shape& shape, const Indices& at, loop::Value v);
  // Column c of an array whose rows end with columns.size() elements, at those rows.
  void StoreColumns(loop::Value pointer, const ir::Shape& shape, const Indices& rows,
                    absl::Span<const loop::Value> columns);
  // Where in the result of a dynamic_update_slice the element of its update is.
  Indices UpdatedAt(const ir::Node& update_slice, const Indices& at);
  // The elementwise op of `node` on operands that are there already.
  loop::Value Apply(const ir::Node& node, std::vector<loop::Value> operands);

  // The first thing that could not be emitted; the code is useless then.
  const absl::Status& status() const { return status_; }
  loop::Builder& builder() { return b_; }
  int lanes() const { return lanes_; }

 private:
  struct Offset {
    loop::Value base;
    ir::Dim coefficient = 0;
    loop::Value lanes;
  };
  Offset LinearOffset(const ir::Shape& shape, const Indices& at);
  loop::Value LaneVector(const LaneIndex& index);  // an s64 for every lane
  // Of all lanes: for gathers and scatters.
  loop::Value LaneOffsets(const Offset& offset);
  LaneIndex Affine(const LaneIndex& index, int64_t scale, const ir::Dim& shift);
  LaneIndex Shifted(const LaneIndex& index, loop::Value shift);
  loop::Value Compute(ir::Value value, const Indices& at);
  loop::Value IntegerPower(loop::Value base, loop::Value exponent);
  loop::Value EmitReshape(const ir::Node& node, const Indices& at);
  loop::Value EmitPad(const ir::Node& node, const Indices& at);
  loop::Value EmitConcatenate(const ir::Node& node, const Indices& at);
  loop::Value EmitGather(const ir::Node& node, const Indices& at);
  loop::Value EmitDynamicSlice(const ir::Node& node, const Indices& at);
  loop::Value EmitDynamicUpdateSlice(const ir::Node& node, const Indices& at);
  loop::Value ClampedStart(ir::Value start, const ir::Dim& highest);
  // Whether 0 <= index < size.  A uniform index is moved into that range: the element there may be
  // read whatever the answer.  Lanes stay: those outside are masked.
  loop::Value Inside(LaneIndex* index, const ir::Dim& size);
  // Both, either of which may be none.
  loop::Value Both(loop::Value a, loop::Value b);
  // Evaluates `value` where `inside` holds (lanes that are outside read nothing), `otherwise`
  // elsewhere.
  loop::Value EmitGuarded(ir::Value value, const Indices& at, loop::Value inside,
                          loop::Value otherwise);
  loop::Value ZeroOf(ir::DType dtype);
  loop::Value Fail(absl::Status status);
  loop::Value Spread(loop::Value v) { return b_.Splat(v, lanes_); }
  // Both with the lanes of the wider one.
  void Match(std::vector<loop::Value>& values);

  loop::Builder& b_;
  int lanes_;
  loop::Value mask_;
  bool prefetches_ = false;  // LoadAt asks for vectors and reads none
  absl::Status status_;
  absl::flat_hash_map<ir::Value, loop::Value> buffers_, bound_;
  using Memo = absl::flat_hash_map<ir::Value, std::vector<std::pair<Indices, loop::Value>>>;
  Memo memo_, pinned_;
};

// Index of a constant position.
inline LaneIndex At(loop::Value base, ir::Dim coefficient = 0) {
  return LaneIndex{base, std::move(coefficient), {}};
}
// Splits a linear index (s64 scalar) over `sizes`.
std::vector<loop::Value> Delinearize(loop::Builder& b, loop::Value linear, const ir::Dims& sizes);
// The same for a vector of linear indices.
std::vector<loop::Value> DelinearizeLanes(loop::Builder& b, loop::Value linear,
                                          const ir::Dims& sizes);

}  // namespace tektite::loop

#endif  // TEKTITE_JIT_LLVM_EMIT_ELEMENT_EMITTER_H_
