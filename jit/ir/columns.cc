#include "jit/ir/columns.h"

#include <algorithm>

namespace tektite::ir {

bool TakesColumn(const Node& node) {
  if (node.op() != Op::kSlice) return false;
  const Dims &whole = node.operand_shape(0).dims(), &taken = node.shape().dims();
  return taken.size() > 1 && taken.back() == Dim(1) && whole.back() != Dim(1) &&
         std::equal(taken.begin(), taken.end() - 1, whole.begin());
}

bool JoinsColumns(const Node& node) {
  if (node.op() != Op::kConcatenate || node.num_operands() < 2 ||
      node.num_operands() > kMaxColumns) {
    return false;
  }
  const int last = node.shape().rank() - 1;
  if (last < 1 || node.Int(Attr::dimension) != last) return false;
  const auto operands = node.operands();
  return std::all_of(operands.begin(), operands.end(),
                     [last](Value v) { return v.shape().dim(last) == Dim(1); });
}

}  // namespace tektite::ir
