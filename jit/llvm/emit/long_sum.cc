#include "jit/llvm/emit/long_sum.h"

namespace tektite::loop {

LongSum EmptySum(Builder& b, DType dtype, int lanes) {
  const Value zero = b.Splat(b.Float(dtype, 0), lanes);
  return {zero, zero};
}

LongSum Plus(Builder& b, const LongSum& sum, Value block) {
  const Value high = b.Add(sum.high, block);
  const Value taken = b.Sub(high, sum.high);
  const Value lost = b.Add(b.Sub(sum.high, b.Sub(high, taken)), b.Sub(block, taken));
  return {high, b.Add(sum.low, lost)};
}

Value Total(Builder& b, const LongSum& sum) {
  // The lost part of an infinite sum is inf - inf.
  const Value total = b.Add(sum.high, sum.low);
  return b.Select(b.Compare("eq", total, total), total, sum.high);
}

}  // namespace tektite::loop
