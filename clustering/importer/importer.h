// From TensorFlow ops to the tensor IR.
//
//   std::vector<ArgType> args(2);
//   args[0].shape = Shape(DType::kF32, {Dim::Symbol("n"), 768});
//   args[1].shape = Shape(DType::kF32, {768, 768});
//   args[1].weight = true;
//   TEKTITE_ASSIGN_OR_RETURN(ImportedGraph imported, ImportGraph(graph_def, args));
//
// The GraphDef is closed: its inputs are _Arg nodes, its results _Retval nodes.  Parameter i of the
// IR graph is _Arg i, output i is _Retval i.  An _Arg of type DT_RESOURCE is a variable: its
// ArgType holds the variable's own type and shape, its parameter carries attribute `weight` (unless
// the _Arg's attr `_tektite_updated` says that the variable changes with every run, or the graph
// itself changes it: jit/ir/updates.h), and ReadVariableOp yields the parameter itself.
//
// Shapes are arithmetic, not data: small integer tensors made from Shape, Size, constants and the
// like are followed as dimension expressions, so a reshape to [tf.shape(x)[0], -1] is a reshape and
// nothing is left to compute at run time.  Fixed argument shapes are the same path with constants.
// Broadcasting is NumPy's, made explicit.
//
// Checks: where a TensorFlow kernel looks at values and may raise an error (an index out of range,
// an integer division by zero), the IR has defined results instead.  Such an op adds a bool scalar
// to the graph's outputs, after the results.  All of them must be true, or else the host discards
// the results and runs TensorFlow's own kernels, which then say what is wrong.
//
// Assignments give a variable's later readers another value, and the last one adds an output: what
// the host has to store.  Which of reads and writes comes first the control edges say.
//
// Rows: where values decide how many rows a result has (tf.where), its IR value has room for as
// many as there can be, and another output says how many count.
//
// Complex tensors are two real ones inside.  An argument or a result of complex numbers is a real
// tensor with one more dimension, of the two parts: f32[n,2] for DT_COMPLEX64 of shape [n], the
// same bytes (docs/design/complex.md).
//
// Functions that the GraphDef's library has are imported with the loops, branches and calls that
// run them (docs/design/control_flow.md).
//
// Limits: only ops of import_list.inc; static ranks.  What cannot be expressed is Unimplemented
// with "OpName 'node': reason"; the nodes of a function are called "function/node".
#ifndef TEKTITE_CLUSTERING_IMPORTER_IMPORTER_H_
#define TEKTITE_CLUSTERING_IMPORTER_IMPORTER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "clustering/graph_def/graph_def.h"
#include "jit/ir/graph.h"

namespace tektite::importer {

// What is known of one argument.
struct ArgType {
  ir::Shape shape;  // dimensions may be symbolic
  bool weight = false;
  // The value where the host knows it; needed for the arguments CompileTimeArgs names.  The code
  // then depends on it.
  std::optional<ir::Literal> value;
  // The elements of a small integer tensor as dimensions, where each call may have others: symbols
  // (never negative) are given their values by the call, constants are always the same.
  std::optional<ir::Dims> elements = {};
};

struct ImportedGraph {
  std::unique_ptr<ir::Graph> graph;
  int num_results = 0;
  // Outputs after the results: s64 scalars, how many rows these results have, the first ones of
  // those there is room for.
  std::vector<int> counted;
  int num_checks = 0;  // outputs after those: bool scalars that must be true
  // Outputs after those: what variables contain in the end, by argument, ascending.
  std::vector<int> updated;
};

// Larger graphs are refused: each node takes about a kilobyte, and time in every pass.
inline constexpr int64_t kMostImported = int64_t{1} << 21;

// `most_nodes`: of the IR, with all its regions and what turns out not to be needed.
absl::StatusOr<ImportedGraph> ImportGraph(const graph_def::GraphDef& graph,
                                          absl::Span<const ArgType> args,
                                          int64_t most_nodes = kMostImported);

// The _Arg indices, ascending, whose values (and not only shapes) decide what code is made: axes,
// shapes and the like that are not derived from constants and shapes alone.
std::vector<int> CompileTimeArgs(const graph_def::GraphDef& graph);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_IMPORTER_H_
