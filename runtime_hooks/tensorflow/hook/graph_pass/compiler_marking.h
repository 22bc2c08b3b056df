// The compiler's marking of a graph, asked for with TensorFlow's messages.
//
//   const Marking marking = Mark(library, std::move(graph_def), extent, /*inlines_calls=*/false);
//   if (marking == nullptr) ...   // and counted: too large for a message, or not to be read
//   library.marking_num_clusters(marking.get())
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_COMPILER_MARKING_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_COMPILER_MARKING_H_

#include <memory>

#include "runtime_hooks/tensorflow/hook/compiler_library.h"
#include "runtime_hooks/tensorflow/hook/switches.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tektite::tf_hook {

struct MarkingDeleter {
  const CompilerLibrary* library;
  void operator()(tektite_marking* marking) const { library->marking_destroy(marking); }
};
using Marking = std::unique_ptr<tektite_marking, MarkingDeleter>;

// `inlines_calls`: as if the bodies of called functions stood in the places of the calls.
Marking Mark(const CompilerLibrary& library, tensorflow::GraphDef graph_def, Extent extent,
             bool inlines_calls);

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_COMPILER_MARKING_H_
