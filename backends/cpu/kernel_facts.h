// The facts about an emitted kernel that running it needs beside its code.
//
//   const KernelFacts facts = FactsOf(emitted);
//   const backend::LaunchPlan plan = facts.Plan(sizes);
#ifndef TEKTITE_BACKENDS_CPU_KERNEL_FACTS_H_
#define TEKTITE_BACKENDS_CPU_KERNEL_FACTS_H_

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/fixed_array.h"
#include "backends/cpu/emit/emitter.h"
#include "jit/backend/kernel.h"
#include "jit/ir/dim_program.h"

namespace tektite::cpu {

// The entries of a launch's table of sizes; usual kernels have a few dozen.
constexpr size_t kTableOnStack = 128;
using SizeTable = absl::FixedArray<int64_t, kTableOnStack>;

struct KernelFacts {
  ir::DimProgram sizes;   // the table that the code reads
  ir::DimProgram launch;  // what a launch needs, at these places of its table:
  int num_chunks = 0, scratch_bytes = 0, cost = 0;
  std::vector<std::pair<int, int>> in_place;

  bool IsStatic() const { return launch.num_symbols() == 0; }
  backend::LaunchPlan Plan(const int64_t* values) const {
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
};

KernelFacts FactsOf(const EmittedKernel& emitted);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_KERNEL_FACTS_H_
