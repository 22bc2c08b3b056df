// From a fusion's region to the kernel that an emitter fills, for every back end.
//
//   std::unique_ptr<Kernel> kernel = MakeKernel(fusion, "k3_loop", InPlacePairs(fusion, writes));
//   Builder b(kernel.get());
//   ElementEmitter e(&b, lanes);
//   BindParameters(e, fusion.region());
#ifndef TEKTITE_JIT_LLVM_EMIT_REGION_KERNEL_H_
#define TEKTITE_JIT_LLVM_EMIT_REGION_KERNEL_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "jit/ir/graph.h"
#include "jit/ir/writes.h"
#include "jit/llvm/emit/element_emitter.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::loop {

// A kernel whose buffers are the region's parameters and outputs.
std::unique_ptr<Kernel> MakeKernel(const ir::Node& fusion, const std::string& name,
                                   const std::vector<std::pair<int, int>>& in_place = {});
// Binds the region's parameters to the kernel's buffers.
void BindParameters(ElementEmitter& e, const ir::Graph& region);
// The number of the kernel's buffer that holds such an output of the region.
inline int OutputBuffer(const ir::Graph& region, size_t output) {
  return region.num_parameters() + static_cast<int>(output);
}
// Operands and results that may share a buffer: those that are updated, or, where all results have
// one shape, those that are read at the index that is written.
std::vector<std::pair<int, int>> InPlacePairs(const ir::Node& fusion, const ir::Writes& writes);
// The index in a value of `shape` that stands for `at`, an index in it without dimensions of size
// 1.  `zero` is the index in those: one for all values, so that they share what they compute.
Indices WithOnes(const ir::Shape& shape, const Indices& at, const LaneIndex& zero);
// Where the element at `at` of the written value goes in the result.
Indices WrittenAt(ElementEmitter& e, const ir::Write& write, const Indices& at);
// Unimplemented for a broadcast of a dimension that is stretched or not, depending on the sizes of
// a call: code is made for one of the two.
absl::Status CheckBroadcasts(const ir::Graph& region);

}  // namespace tektite::loop

#endif  // TEKTITE_JIT_LLVM_EMIT_REGION_KERNEL_H_
