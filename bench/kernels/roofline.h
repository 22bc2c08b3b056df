// The machine's present peaks: multiply-adds per second and bytes per second of one core, measured
// with kernels made by the same code generator.
#ifndef TEKTITE_BENCH_KERNELS_ROOFLINE_H_
#define TEKTITE_BENCH_KERNELS_ROOFLINE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/target/target_info.h"

namespace tektite::bench {

// Bytes that are read again and again, all of them in turn: what a model's calls do to its weights.
struct Reading {
  int64_t bytes = 0;
  double bytes_per_second = 0;
};

struct Roofline {
  double flops_per_second = 0;         // f32 fused multiply-adds, two operations each
  double cache_bytes_per_second = 0;   // read + write of a working set in L2
  double shared_bytes_per_second = 0;  // the same of 12 MB, which the last-level cache holds
  double memory_bytes_per_second = 0;  // the same from DRAM
  // From sizes that L2 holds to sizes that come from DRAM.  Between them a last-level cache that is
  // shared with other programs holds less than its size: of 32 MB, one machine's reached 105 GB/s
  // up to 12 MB, 57 at 20, 36 at 28.
  std::vector<Reading> readings;
};

// The best of several short runs.
absl::StatusOr<Roofline> MeasureRoofline(const target::TargetInfo& target);

}  // namespace tektite::bench

#endif  // TEKTITE_BENCH_KERNELS_ROOFLINE_H_
