// What a launch of a kernel's code needs to know beside the code: no process, clock or cache.
//
//   const LaunchConfig config = facts.Configure(sizes);     // chunks, scratch, cost
//   facts.Write(&writer);                          // beside the code, in an object or an image
//
// Programs compute the facts from the sizes of a call, so that one object serves every size.
// Limits: of kernels whose work is cut into chunks on a host; those of cards have grids.
#ifndef TEKTITE_JIT_BACKEND_LAUNCH_FACTS_H_
#define TEKTITE_JIT_BACKEND_LAUNCH_FACTS_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/fixed_array.h"
#include "jit/backend/kernel.h"
#include "jit/base/bytes.h"
#include "jit/ir/dim_program.h"

namespace tektite::backend {

// The entries of a launch's table of sizes; usual kernels have a few dozen.
inline constexpr size_t kTableOnStack = 128;
using SizeTable = absl::FixedArray<int64_t, kTableOnStack>;

// Programs over the kernel's symbols, in the order of a step's.
struct LaunchFacts {
  // Of the cost in the table, a nanosecond.
  static constexpr double kCostPerNs = 1e6;

  ir::DimProgram sizes;   // the table that the code reads
  ir::DimProgram launch;  // what a launch needs, at these places of its table:
  int num_chunks = 0, scratch_bytes = 0, cost = 0;
  std::vector<std::pair<int, int>> in_place;  // operand, result that may share a buffer

  bool IsStatic() const { return launch.num_symbols() == 0; }
  LaunchConfig Configure(const int64_t* values) const {
    SizeTable table(std::max(launch.table_size(), sizes.table_size()));
    bool fits = sizes.Run(values, table.data());
    fits = launch.Run(values, table.data()) && fits;
    return {table[num_chunks], table[scratch_bytes], static_cast<double>(table[cost]) / kCostPerNs,
            fits};
  }
  bool CanRunInPlace(int operand, int result) const {
    return std::find(in_place.begin(), in_place.end(), std::pair(operand, result)) !=
           in_place.end();
  }

  void Write(ByteWriter* w) const {
    sizes.Write(w);
    launch.Write(w);
    for (int place : {num_chunks, scratch_bytes, cost}) w->I64(place);
    w->U64(in_place.size());
    for (auto [operand, result] : in_place) {
      w->I64(operand);
      w->I64(result);
    }
  }
  // False for bytes that are no facts.
  bool Read(ByteReader* r) {
    if (!sizes.Read(r) || !launch.Read(r) || sizes.num_symbols() != launch.num_symbols()) {
      return false;
    }
    for (int* place : {&num_chunks, &scratch_bytes, &cost}) {
      const int64_t at = r->I64();
      if (at < 0 || at >= launch.table_size()) return false;
      *place = static_cast<int>(at);
    }
    in_place.resize(r->Count(2 * sizeof(int64_t)));
    for (auto& [operand, result] : in_place) {
      operand = static_cast<int>(r->I64());
      result = static_cast<int>(r->I64());
    }
    return r->ok();
  }
};

}  // namespace tektite::backend

#endif  // TEKTITE_JIT_BACKEND_LAUNCH_FACTS_H_
