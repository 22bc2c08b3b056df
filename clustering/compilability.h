// Can this node be compiled at all, looked at by itself? The answer is a reason when not.
//
//   Refusal r = Compilability(index, node, options);
//   if (r.reason != Reason::kNone) ... r.detail says which type, device or input
//
// Looks at: the importer's table, the element types among the attributes, the device, annotations
// (_XlaCompile, _XlaMustCompile), reference inputs. mark_clusters.h and compile_time.h decide on
// facts that depend on other nodes (values needed at compile time, cycles, size), function_bodies.h
// on the bodies of functions.
#ifndef TEKTITE_CLUSTERING_COMPILABILITY_H_
#define TEKTITE_CLUSTERING_COMPILABILITY_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "clustering/graph_def/graph_index.h"
#include "clustering/reason.h"

namespace tektite::clustering {

enum class MarkMode {
  kAll,    // every node that can be compiled and is worth it
  kScoped  // only nodes with _XlaCompile=true
};

struct MarkOptions {
  MarkMode mode = MarkMode::kAll;
  // Nodes that the caller must find again under their names.
  absl::flat_hash_set<std::string> fetches;
  // Whether functional loops and branches may be members of clusters.
  bool keep_loops = false;
  // In the body of a function with jit_compile=True: its loops bear no mark.
  bool in_xla_body = false;
  // Whether calls of functions with jit_compile=True may be.
  bool take_over_xla = false;
  // Device types that code is made for; a node without a device is on one of them.
  std::vector<std::string> device_types = {"CPU"};
  // Other devices that code is made for, by the names that nodes have of them.
  absl::flat_hash_set<std::string> card_devices;
  // A cluster has at least this many ops and this estimated work (cost.h), unless it is annotated.
  int64_t min_cluster_ops = 2;
  int64_t min_cluster_cost = 20000;
  // A cluster of fewer ops is one all the same if it has an op that gains alone (cost.h) and this
  // much work.
  int64_t min_lone_cost = 200000;
  // The graph is a function's. Where one cluster is all it does, the host calls that past its own
  // function runtime.
  bool has_direct_calls = false;
  // TensorFlow's name of that function, after which clusters are named.
  std::string function;
};

struct Refusal {  // kNone: it can
  Reason reason = Reason::kNone;
  std::string detail;
};

Refusal Compilability(const graph_def::GraphIndex& index, int node, const MarkOptions& options);

// Whether the op is a functional loop or branch that TensorFlow would take apart into Switch and
// Merge nodes, or would have if the graph pass had not kept it whole.  Others, such as those of
// tf.nn.ctc_loss, are whole in any case.
bool IsKeptWhole(const graph_def::NodeDef& node);

// Whether the op is a call of a function with jit_compile=True, which XLA compiles as a whole.
bool IsXlaCall(const graph_def::NodeDef& node);

// Whether code can be made that works on elements of this type.
bool IsCompiledType(graph_def::DataType type);

// Nodes that are no work and do not count as ops: Const, Identity, NoOp, _Arg, _Retval,
// Placeholder.
bool CountsAsOp(const graph_def::NodeDef& node);

}  // namespace tektite::clustering

#endif  // TEKTITE_CLUSTERING_COMPILABILITY_H_
