// All that the graph pass reads of a graph, as one text: equal texts, equal results.
//
// Why: tf.data instantiates its functions anew with each iterator.  An equal function's graph need
// not be marked again, nor its clusters' bodies built (repeat_cache.h).
//
//   const std::string text = GraphText(options, extent);
//   if (!text.empty()) known = cache.Find(text);
//
// In it are the nodes with their names, attributes, debug information and devices, in the order of
// their ids, the edges, the versions, the session's handle and configuration, and the extent.  The
// library of functions is not, but for those that kept loops run: no other member of a cluster
// names one. Limits: empty for graphs that take more than 64 KB; these are large models, which come
// once.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_GRAPH_TEXT_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_GRAPH_TEXT_H_

#include <string>

#include "runtime_hooks/tensorflow/hook/switches.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"

namespace tektite::tf_hook {

std::string GraphText(const tensorflow::GraphOptimizationPassOptions& options, Extent extent);

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_GRAPH_TEXT_H_
