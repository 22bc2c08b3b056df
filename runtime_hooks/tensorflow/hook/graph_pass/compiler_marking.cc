#include "runtime_hooks/tensorflow/hook/graph_pass/compiler_marking.h"

#include <string>

#include "runtime_hooks/tensorflow/hook/run/counters.h"

namespace tektite::tf_hook {

Marking Mark(const CompilerLibrary& library, tensorflow::GraphDef graph_def, Extent extent,
             bool inlines_calls) {
  std::string bytes;
  if (!graph_def.SerializeToString(&bytes)) {
    CountNotPlaced(TEKTITE_FALLBACK_HOST_GRAPH_TOO_LARGE);
    return Marking(nullptr, MarkingDeleter{&library});
  }
  graph_def.Clear();
  tektite_mark_options options = {};
  options.struct_size = sizeof(options);
  options.mode = extent == Extent::kEverything ? TEKTITE_MARK_ALL : TEKTITE_MARK_SCOPED;
  options.inline_calls = inlines_calls ? 1 : 0;
  tektite_status status = {};
  Marking marking(library.mark(library.compiler, bytes.data(), bytes.size(), &options, &status),
                  MarkingDeleter{&library});
  if (marking == nullptr) CountNotPlaced(TEKTITE_FALLBACK_HOST_MARKING_FAILED);
  return marking;
}

}  // namespace tektite::tf_hook
