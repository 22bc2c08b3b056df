// Columns of a product that are read in equal groups, such as the gates of a recurrent cell or the
// two halves of a gated layer.
//
//   %z: f32[1,1024] = dot_general(%h, %w)
//   %y: f32[1,1024] = add(%z, %x)                                         // elementwise
//   %i: f32[1,256] = slice(%y) {starts = (0, 0), limits = (1, 256)}       // group 0 of 4
//   %f: f32[1,256] = slice(%y) {starts = (0, 256), limits = (1, 512)}     // group 1
//
// Why: a kernel that computes the same columns of all groups holds in registers what the nodes
// behind the slices read.
//
// Limits: few groups, since a register tile holds a vector of each.
#ifndef TEKTITE_JIT_IR_COLUMN_GROUPS_H_
#define TEKTITE_JIT_IR_COLUMN_GROUPS_H_

#include <cstdint>
#include <vector>

#include "jit/ir/graph.h"

namespace tektite::ir {

inline constexpr int64_t kMaxColumnGroups = 4;

struct ColumnGroups {
  int64_t count = 1;          // 1: the columns are not read in groups
  int64_t columns = 0;        // of a group
  std::vector<Node*> slices;  // all that read a group

  int64_t GroupOf(const Node& slice) const;
};

// One group unless the node is a dot_general, and all that read it do so in groups, through
// elementwise ops of its shape.
ColumnGroups ColumnGroupsOf(const Node& product);

}  // namespace tektite::ir

#endif  // TEKTITE_JIT_IR_COLUMN_GROUPS_H_
