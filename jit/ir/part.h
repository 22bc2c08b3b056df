// Slices that need no work: those whose elements lie together, a known distance into the operand.
//
//   %1: f32[1,1024] = slice(%0: f32[64,1024]) {starts = (3, 0), ...}   // 3 * 1024 elements into %0
//
// Such a node may stay outside of fusions: the runtime takes it for another name of a part of the
// operand's buffer, as it takes a reshape for another name of all of it. Why: the steps of an
// unrolled recurrent layer read a row each; a copy per step would be a kernel per step, each with
// another offset and so compiled by itself.
//
// GPUs read vectors at multiples of 16 bytes alone: for them a slice that begins elsewhere is work.
//
// Limits: a result of the graph is no part, since it has memory of its own.
#ifndef TEKTITE_JIT_IR_PART_H_
#define TEKTITE_JIT_IR_PART_H_

#include <cstdint>
#include <optional>

#include "jit/ir/graph.h"

namespace tektite::ir {

// Elements between the operand's first and the slice's; nothing when the slice's elements do not
// lie together, or the distance depends on sizes.
std::optional<int64_t> PartOffset(const Node& slice);

// A slice that may stand for a part of its operand's memory, which begins at a multiple of so many
// bytes in that (TargetInfo::operand_alignment).
bool IsPart(const Node& node, int64_t alignment = 1);

}  // namespace tektite::ir

#endif  // TEKTITE_JIT_IR_PART_H_
