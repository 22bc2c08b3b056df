// Threads that share a row: a warp for short rows, a block for long ones.
//
//   const ThreadGroup group = ChooseGroup(region, plan.inner);
//   ForEachGroup(b, group, rows, [&](Value row, Value member) { ... });   // sets the launch
//
// A row is [sizes], row-major.  Member m of a group takes vectors m, m + threads, ... of it.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_REDUCTION_THREAD_GROUP_H_
#define TEKTITE_BACKENDS_GPU_EMIT_REDUCTION_THREAD_GROUP_H_

#include <functional>

#include "jit/ir/graph.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::gpu {

struct ThreadGroup {
  int threads = loop::kWarpThreads;  // of a warp, or of a block
  int vector = 1;                    // elements that a thread takes at once: a row is whole vectors
  bool is_block() const { return threads > loop::kWarpThreads; }
};

ThreadGroup ChooseGroup(const ir::Graph& region, const ir::Dims& sizes);

// Emits the body for row `row` and thread `member` of its group.  A block may hold several warps:
// then some of them may have no row, and skip the body together.
void ForEachGroup(loop::Builder& b, const ThreadGroup& group, const ir::Dim& rows,
                  const std::function<void(loop::Value row, loop::Value member)>& body);

// For threads that need few registers, and wait for memory: a multiprocessor holds 1024 of them,
// or 16 blocks.
void HoldManyThreads(loop::Launch* launch);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_REDUCTION_THREAD_GROUP_H_
