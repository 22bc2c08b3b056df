// The plan of a row kernel: the values that it computes in each sweep over a row.
//
// The space is [outer..., inner...]: reductions run over the inner dimensions.  Work falls into
// stages, where stage s may use the results of reductions made in stages before it.  A value that a
// later stage needs again is read again, computed again when that is trivial, or kept: where a
// result of that type will lie, otherwise in scratch, which stays in L1.
//
//   softmax:  stage 0  m = max(x)
//             stage 1  e = exp(x - m) -> y, s = sum(e)
//             stage 2  y = e / s
//
// With two or three stages one sweep can take all of them along, each on a row of its own: the
// anchor on row r, the stage before it on row r + 1, the one after it on row r - 1.
#ifndef TEKTITE_JIT_LLVM_EMIT_ROW_STAGES_H_
#define TEKTITE_JIT_LLVM_EMIT_ROW_STAGES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "jit/ir/graph.h"

namespace tektite::loop {

class RowStages {
 public:
  // A full value of one stage that a later stage reads.
  struct Kept {
    const ir::Node* node;
    int stage;
    int last_read;  // the last stage that reads it
    // Where it is kept: in the row of this result, which stage `written` writes (its own stage: it
    // is the result).  -1: in scratch.
    int output = -1;
    int written = -1;
  };
  struct Stage {
    std::vector<const ir::Node*> reduces;
    std::vector<std::pair<size_t, ir::Value>> outputs;  // full results
    int cost = 0;                                       // in cheap vector operations
  };

  // Unimplemented for any other kernel.
  static absl::StatusOr<RowStages> Create(const ir::Graph& region);

  bool IsFull(const ir::Node* n) const { return n->shape().dims() == space; }
  bool IsRow(const ir::Node* n) const { return n->shape().dims() == outer; }
  int StageOf(const ir::Node* n) const { return stage_of.at(n); }
  int num_stages() const { return static_cast<int>(stages.size()); }

  ir::Dims space, outer, inner;
  std::vector<Stage> stages;
  int anchor = -1;  // -1: stages run one after the other
  std::vector<Kept> kept;
  absl::flat_hash_map<const ir::Node*, int> stage_of;

 private:
  absl::Status CheckNodes(const ir::Graph& region);
  void FindStages(const ir::Graph& region);
  void FindAnchor();
  void KeepInOutputs(const ir::Graph& region);
};

}  // namespace tektite::loop

#endif  // TEKTITE_JIT_LLVM_EMIT_ROW_STAGES_H_
