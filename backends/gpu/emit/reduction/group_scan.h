// Prefixes over the threads of a group: a warp, or all of a block.
//
//   GroupScan scan(&b, reduction, /*threads=*/256);
//   const GroupScan::Prefix sum = scan.Run(x);        // sum.before: of the threads before this one
//
// In a warp by doubling distances, then over the warps' totals in the same way: the same order in
// every launch.  Run has barriers in it when the group is a block, and may stand in a loop.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_REDUCTION_GROUP_SCAN_H_
#define TEKTITE_BACKENDS_GPU_EMIT_REDUCTION_GROUP_SCAN_H_

#include "backends/gpu/emit/reduction/group_reduction.h"

namespace tektite::gpu {

class GroupScan {
 public:
  // `threads`: kWarpThreads, or as many as a block has.  The reduction must outlive this.
  GroupScan(loop::Builder* builder, const GroupReduction* reduction, int threads);

  struct Prefix {
    loop::Value before, through, total;  // without and with this thread's, and of all threads
  };
  // A scalar of the reduction's accumulator.
  Prefix Run(loop::Value x) const;

 private:
  Prefix RunWarp(loop::Value x) const;

  loop::Builder& b_;
  const GroupReduction& reduction_;
  const int64_t warps_;
  const loop::Value lane_;
  loop::Value shared_;  // a word for each warp
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_REDUCTION_GROUP_SCAN_H_
