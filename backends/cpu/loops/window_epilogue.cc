#include "backends/cpu/loops/window_epilogue.h"

#include "backends/cpu/emit/names.h"
#include "jit/base/status.h"

namespace tektite::cpu {

const Node* FindRoot(const ir::Graph& region, Op op) {
  for (const auto& node : region.nodes()) {
    if (node->op() == op) return node.get();
  }
  return nullptr;
}

absl::Status CheckResults(const ir::Graph& region, const Node& root) {
  for (ir::Value v : region.outputs()) {
    if (v.shape().NumElements() != root.shape().NumElements()) {
      return Unimplemented(root.Describe(), ": results of different shapes");
    }
  }
  return absl::OkStatus();
}

void StoreResults(ElementEmitter& e, const ir::Graph& region, const Node& root, Value value,
                  const std::vector<Value>& index) {
  loop::Builder& b = e.builder();
  const ir::Dims& space = root.shape().dims();
  e.Clear();
  e.BindValue(ir::Value{const_cast<Node*>(&root), 0}, value);
  for (const ir::Use& use : root.uses()) {
    if (use.user->op() == Op::kReshape) e.BindValue(use.user->result(), value);
  }
  for (size_t o = 0; o < region.outputs().size(); ++o) {
    const ir::Value v = region.outputs()[o];
    const bool same = v.shape().dims() == space;
    Indices to;
    for (size_t d = 0; d < space.size(); ++d) {
      if (same || space[d] != Dim(1)) {
        to.push_back(At(index[d], d + 1 == space.size() && e.lanes() > 1 ? 1 : 0));
      }
    }
    e.StoreAt(b.Buffer(OutputBuffer(region, o)), v.shape(), to, e.Emit(v, to));
  }
}

}  // namespace tektite::cpu
