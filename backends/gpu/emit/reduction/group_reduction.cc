#include "backends/gpu/emit/reduction/group_reduction.h"

#include "backends/gpu/emit/names.h"
#include "jit/llvm/emit/reducer.h"
#include "jit/ops/ops.h"

namespace tektite::gpu {

GroupReduction::GroupReduction(loop::Builder* builder, const std::string& reducer, DType dtype,
                               int threads)
    : b_(*builder),
      reducer_(reducer),
      op_(ops::ReducerOp(reducer)),
      dtype_(dtype),
      accumulator_(loop::AccumulatorOf(dtype)),
      threads_(threads) {}

Value GroupReduction::Identity(int lanes) const {
  return loop::ReducerIdentity(b_, reducer_, accumulator_, lanes);
}

Value GroupReduction::Take(Value accumulator, Value x) const {
  return Combine(accumulator, Widen(x));
}

Value GroupReduction::Narrow(Value accumulator) const { return b_.Convert(accumulator, dtype_); }

Value GroupReduction::WideTotal(Value accumulator) const {
  Value x = accumulator.lanes() == 1 ? accumulator : b_.ReduceLanes(op_, accumulator);
  for (int distance = kWarpThreads / 2; distance > 0; distance /= 2) {
    x = Combine(x, b_.WarpDown(x, distance));
  }
  if (threads_ == kWarpThreads) return b_.WarpRead(x, b_.Index(0));
  const int64_t warps = threads_ / kWarpThreads;
  const Value parts = b_.AllocateShared(accumulator_, warps);
  const Value lane = b_.Rem(b_.ThreadIndex(), b_.Index(kWarpThreads));
  b_.If(b_.Compare("eq", lane, b_.Index(0)),
        [&] { b_.Store(parts, b_.Div(b_.ThreadIndex(), b_.Index(kWarpThreads)), x); });
  b_.Barrier();
  Value all = b_.Load(parts, accumulator_, b_.Index(0));
  for (int64_t w = 1; w < warps; ++w) all = Combine(all, b_.Load(parts, accumulator_, b_.Index(w)));
  return all;
}

}  // namespace tektite::gpu
