// The types that the kernel emitters of the CPU back end share: the kernel they return, and parts
// of it.
//
// An emitter turns a fusion of one kind into loop IR:
//
//   absl::StatusOr<EmittedKernel> EmitRow(const ir::Node& fusion, const Target& target,
//                                         const std::string& name);
//
// It refuses a fusion that it has no code for with Unimplemented and a reason.  Sizes are dimension
// expressions throughout.  A static shape is the case in which they all fold to constants; where a
// decision is made here and not in the code (a tile, a number of accumulators), an unknown size
// counts as a large one.  Chunks depend on sizes alone.
#ifndef TEKTITE_BACKENDS_CPU_EMIT_EMITTER_H_
#define TEKTITE_BACKENDS_CPU_EMIT_EMITTER_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/emit/chunking.h"
#include "backends/cpu/emit/elements.h"
#include "jit/ir/graph.h"
#include "jit/llvm/loop_ir.h"
#include "jit/target/target_info.h"

namespace tektite::cpu {

struct EmittedKernel {
  std::unique_ptr<loop::Kernel> kernel;
  ir::Dim num_chunks = 1;
  ir::Dim cost;                               // see Cost
  std::vector<std::pair<int, int>> in_place;  // operand, result that may share a buffer
};

using Target = target::TargetInfo;

// Lanes for work on this region's element types: a full vector of the widest type.
int RegionLanes(const ir::Graph& region, const Target& target);
// The time one core takes for the elementwise part of the region, by a crude model.
ir::Dim ElementwiseCost(const ir::Graph& region, const Target& target);
// Vector steps over [0, size): body(at, mask) with a mask only in the tail, which is a block of
// code of its own.
void ForEachVector(loop::Builder& b, const ir::Dim& size, int lanes,
                   const std::function<void(loop::Value at, loop::Value mask)>& body);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_EMIT_EMITTER_H_
