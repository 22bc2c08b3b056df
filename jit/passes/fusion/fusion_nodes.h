// The fuse pass's predicates on single nodes, before it looks at groups of them.
//
//   if (IsMovement(node->op()) && !IsExpensive(*node)) ...   // may be index math in its user
//
// Limits: the predicates look at ops and shapes alone; fusion_groups.h looks at a node's users.
#ifndef TEKTITE_JIT_PASSES_FUSION_FUSION_NODES_H_
#define TEKTITE_JIT_PASSES_FUSION_FUSION_NODES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "jit/ir/graph.h"

namespace tektite::passes {

// A kernel with more nodes than this takes long to compile and gains nothing.
inline constexpr size_t kMaxNodes = 160;

// The sizes other than 1, and the dimensions that have them.
ir::Dims Squeezed(const ir::Shape& shape);
std::vector<int> KeptDims(const ir::Shape& shape);
// With a guess for sizes that are not known.
int64_t ElementsOf(const ir::Dims& dims);

// Moves elements and computes nothing.
bool IsMovement(ir::Op op);
// Not to be computed more than once.
bool IsExpensive(const ir::Node& node);
// A reduction by a named reducer, of one operand.
bool IsSimpleReduce(const ir::Node& node);
// Reduces the innermost dimensions, in rows that scratch can hold.  `space` is the shape that it
// reads and `kept` the one that it leaves.
bool FitsRowKernel(const ir::Node& reduce, const ir::Dims& space, const ir::Dims& kept);
// An edge into `user` keeps the index (after squeezing size-1 dimensions).
bool IsDirectUse(const ir::Node& user);
// May be copied to its users: costs nothing per use.
bool IsFreeOp(const ir::Node& node);
// A part, aligned so, of a value that is in memory in any case.  Other slices fuse with their
// operand's producer.
bool IsPartOfMemory(const ir::Node& node, int64_t alignment);
// A row of what is in memory, such as a recurrent layer's input that was multiplied before its
// loop: an epilogue reads it where it lies.  (LSTM: a kernel less a turn.)
bool IsRowOfTurn(const ir::Node& node);
// How often a call runs what reads the value, if a loop takes some turns.
int64_t RunsOfReaders(ir::Value value, bool in_loop);
// Wants its operands in memory, row-major.
bool ReadsMemory(const ir::Node& node);

}  // namespace tektite::passes

#endif  // TEKTITE_JIT_PASSES_FUSION_FUSION_NODES_H_
