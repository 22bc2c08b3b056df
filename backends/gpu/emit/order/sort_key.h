// What sorting compares: entries, each a value's key and the number of the element that has it.
//
//   const SortKey key(DType::kF32, /*descending=*/false);
//   Values entry = key.Entry(b, x, index);            // one s64: the key above, the index below
//   Value first = key.Before(b, entry, other);
//
// Keys are integers in the order of the values: -0 is 0, NaN is greater than all others.  No two
// entries are equal, so every way to put them in order, in any pieces, has the same result, and
// that of a stable sort.  Keys of 8 bytes have their index in a word of its own.
//
// Limits: fewer than 2^31 elements.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_ORDER_SORT_KEY_H_
#define TEKTITE_BACKENDS_GPU_EMIT_ORDER_SORT_KEY_H_

#include <vector>

#include "jit/llvm/loop_ir.h"

namespace tektite::gpu {

// How entries are put in order.
class EntryOrder {
 public:
  using Values = std::vector<loop::Value>;
  virtual ~EntryOrder() = default;
  // The parts of an entry.
  virtual std::vector<ir::DType> parts() const = 0;
  // An entry behind all others, and one before all that have the key of `entry`.
  virtual Values End(loop::Builder& b) const = 0;
  virtual Values FirstOf(loop::Builder& b, const Values& entry) const = 0;
  virtual loop::Value Before(loop::Builder& b, const Values& x, const Values& y) const = 0;
  virtual loop::Value Index(loop::Builder& b, const Values& entry) const = 0;  // s64
};

class SortKey final : public EntryOrder {
 public:
  SortKey(ir::DType dtype, bool descending) : dtype_(dtype), descending_(descending) {}

  Values Entry(loop::Builder& b, loop::Value x, loop::Value index) const;
  // The key alone, as s64.
  loop::Value Ordered(loop::Builder& b, loop::Value x) const;
  // Whether two entries have one key.
  loop::Value SameKey(loop::Builder& b, const Values& x, const Values& y) const;
  // An entry behind all of the same key.
  Values LastOf(loop::Builder& b, const Values& entry) const;

  std::vector<ir::DType> parts() const override;
  Values End(loop::Builder& b) const override;
  Values FirstOf(loop::Builder& b, const Values& entry) const override;
  loop::Value Before(loop::Builder& b, const Values& x, const Values& y) const override;
  loop::Value Index(loop::Builder& b, const Values& entry) const override;

 private:
  bool is_wide() const { return ir::DTypeBytes(dtype_) == 8; }

  const ir::DType dtype_;
  const bool descending_;
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_ORDER_SORT_KEY_H_
