#include "backends/gpu/emit/reduction/group_scan.h"

#include "backends/gpu/emit/names.h"

namespace tektite::gpu {

GroupScan::GroupScan(loop::Builder* builder, const GroupReduction* reduction, int threads)
    : b_(*builder),
      reduction_(*reduction),
      warps_(threads / kWarpThreads),
      lane_(b_.Rem(b_.ThreadIndex(), b_.Index(kWarpThreads))) {
  if (warps_ > 1) shared_ = b_.AllocateShared(reduction_.accumulator(), warps_);
}

GroupScan::Prefix GroupScan::RunWarp(Value x) const {
  const auto before = [&](Value v, int64_t distance) {
    return b_.WarpRead(v, b_.Max(b_.Sub(lane_, b_.Index(distance)), b_.Index(0)));
  };
  const auto has_before = [&](int64_t distance) {
    return b_.Compare("ge", lane_, b_.Index(distance));
  };
  for (int64_t distance = 1; distance < kWarpThreads; distance *= 2) {
    x = b_.Select(has_before(distance), reduction_.Combine(before(x, distance), x), x);
  }
  return {b_.Select(has_before(1), before(x, 1), reduction_.Identity(1)), x,
          b_.WarpRead(x, b_.Index(kWarpThreads - 1))};
}

GroupScan::Prefix GroupScan::Run(Value x) const {
  const Prefix own = RunWarp(x);
  if (warps_ == 1) return own;
  const Value warp = b_.Div(b_.ThreadIndex(), b_.Index(kWarpThreads));
  b_.If(b_.Compare("eq", lane_, b_.Index(kWarpThreads - 1)),
        [&] { b_.Store(shared_, warp, own.through); });
  b_.Barrier();
  Value parts = b_.Load(shared_, reduction_.accumulator(), b_.Min(lane_, b_.Index(warps_ - 1)));
  if (warps_ < kWarpThreads) {
    parts = b_.Select(b_.Compare("lt", lane_, b_.Index(warps_)), parts, reduction_.Identity(1));
  }
  const Prefix all = RunWarp(parts);
  b_.Barrier();
  const Value before = b_.WarpRead(all.before, warp);
  return {reduction_.Combine(before, own.before), reduction_.Combine(before, own.through),
          all.total};
}

}  // namespace tektite::gpu
