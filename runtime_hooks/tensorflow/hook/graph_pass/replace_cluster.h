// The surgery on a TensorFlow graph: a set of nodes goes, one TektiteCluster node comes.
//
// Before:  x ─► MatMul ─► BiasAdd ─► Relu ─► y        after:  x ─► TektiteCluster ─► y
//               w ┘         b ┘                               w ┘      b ┘
//
// The cluster node carries its body twice: as GraphDef bytes (_Arg, the nodes, _Retval) for the
// compiler, and as a function in the graph's library, so that TensorFlow itself can run it when the
// compiler has no answer.  External inputs are unique; control edges in and out stay; small
// constants outside are copied in (the compiler folds them); large constants inside stay outside,
// as inputs known to be constant, so that their bytes are in memory once.
//
// Limits: the compiler's marking is trusted to respect deadness, frames and scopes; cycles,
// devices, reference types and control flow are checked here, since a mistake would hang or crash
// the host.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_REPLACE_CLUSTER_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_REPLACE_CLUSTER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "runtime_hooks/tensorflow/hook/reason.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/graph/graph.h"

namespace tektite::tf_hook {

// A cluster's computation, in the two forms in which its node carries it.
struct ClusterBody {
  std::string bytes;                 // GraphDef
  tensorflow::FunctionDef fallback;  // without a name of its own yet
  bool holds_xla_calls = false;      // in its functions, too
};

class ClusterReplacer {
 public:
  // Of the pass that replaces: its graph is changed, its library receives the fallback functions,
  // its devices are those of this process.  `options` must outlive this.
  explicit ClusterReplacer(const tensorflow::GraphOptimizationPassOptions& options)
      : options_(options), graph_(options.graph->get()) {}

  // Replaces `nodes` by one TektiteCluster node.  Returns Reason::NONE when done,
  // otherwise why not; the graph is then as it was.  No other node is removed before Finish.
  // `body`: that of the same cluster of an equal graph; where it is null it is made, and set.
  Reason Replace(const std::string& name, std::vector<tensorflow::Node*> nodes,
                 std::shared_ptr<const ClusterBody>* body);

  // Removes constants that nothing reads any more and repairs what spoke of the nodes that are
  // gone.
  void Finish();

 private:
  const tensorflow::GraphOptimizationPassOptions& options_;
  tensorflow::Graph* const graph_;
  absl::flat_hash_set<std::string> gone_;  // as "loc:@name", the form of colocations
  absl::flat_hash_set<tensorflow::Node*> copied_;
};

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_REPLACE_CLUSTER_H_
