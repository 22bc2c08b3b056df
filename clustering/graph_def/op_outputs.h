// Output numbers of named output arguments.
//
// In the body of a function an input says "node:y:1": the second tensor of output argument `y`. In
// a graph it says "node:3". Going from one to the other takes the op's definition.
//
//   OpOutputs outputs(ops, functions);
//   outputs.FlatIndex(node, "batch_mean", 0)  // 1, for FusedBatchNormV3
#ifndef TEKTITE_CLUSTERING_GRAPH_DEF_OP_OUTPUTS_H_
#define TEKTITE_CLUSTERING_GRAPH_DEF_OP_OUTPUTS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "clustering/graph_def/graph_def.h"

namespace tektite::graph_def {

class OpOutputs {
 public:
  // Borrows both. `ops` may be empty: common ops with several outputs are known, and an op that is
  // not is taken to have one output argument.
  OpOutputs(absl::Span<const OpDef> ops, absl::Span<const FunctionDef> functions);

  // -1 when the op has no such output.
  int FlatIndex(const NodeDef& node, absl::string_view output, int index) const;

 private:
  absl::flat_hash_map<absl::string_view, const OpDef*> ops_;
};

// How many tensors an argument stands for, with the attributes of this node.
int64_t ArgLength(const ArgDef& arg, const AttrMap& attrs);

}  // namespace tektite::graph_def

#endif  // TEKTITE_CLUSTERING_GRAPH_DEF_OP_OUTPUTS_H_
