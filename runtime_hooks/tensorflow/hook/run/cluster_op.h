// The op TektiteCluster (cluster_op.cc describes it).
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_CLUSTER_OP_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_CLUSTER_OP_H_

namespace tektite::tf_hook {

// Makes the op known to TensorFlow; to be called before a node of it is put into a graph.
// Thread-safe, does nothing the second time.
void RegisterClusterOp();
// The same for its kernel on cards, which no other process needs.
void RegisterClusterOpForCards();

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_CLUSTER_OP_H_
