// The compiler's marking of a graph, asked for with TensorFlow's messages.
//
//   const Marking marking = Mark(library, std::move(graph_def), extent, {.is_function = true});
//   if (marking == nullptr) ...   // and counted: too large for a message, or not to be read
//   for (const tektite_marked_cluster& cluster : ClustersOf(*marking)) ...
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_COMPILER_MARKING_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_COMPILER_MARKING_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "runtime_hooks/tensorflow/hook/compiler_library.h"
#include "runtime_hooks/tensorflow/hook/switches.h"
#include "tensorflow/core/common_runtime/device_set.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tektite::tf_hook {

struct MarkingDeleter {
  const CompilerLibrary* library;
  void operator()(tektite_marking* marking) const { library->marking_destroy(marking); }
};
using Marking = std::unique_ptr<tektite_marking, MarkingDeleter>;

struct MarkingOf {
  bool inlines_calls = false;  // as if the bodies of called functions stood in the calls' places
  bool is_function = false;    // the graph is a function's
  std::string function = {};   // its name, where it is known
  std::vector<std::string> cards = {};  // the devices of CardsOf
};
Marking Mark(const CompilerLibrary& library, tensorflow::GraphDef graph_def, Extent extent,
             const MarkingOf& of);
inline absl::Span<const tektite_marked_cluster> ClustersOf(const tektite_marking& marking) {
  return absl::MakeConstSpan(marking.clusters, marking.num_clusters);
}
inline absl::Span<const tektite_marked_node> MembersOf(const tektite_marked_cluster& cluster) {
  return absl::MakeConstSpan(cluster.nodes, cluster.num_nodes);
}

// Whether TensorFlow may place a node of the graph on a card.
bool HasCards(const tensorflow::GraphOptimizationPassOptions& options);
// The devices of the graph's nodes that are cards of this process with a compiler.
std::vector<std::string> CardsOf(const CompilerLibrary& library,
                                 const tensorflow::GraphOptimizationPassOptions& options);

// Whether a device of this process is a CPU, or a card with a compiler.
enum class Place { kElsewhere, kCpu, kCard };
Place PlaceOf(const CompilerLibrary& library, const std::string& device,
              const tensorflow::DeviceSet* devices);

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_COMPILER_MARKING_H_
