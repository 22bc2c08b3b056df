// A fused graph as the runtime sees it: buffers, and steps that read and write them.
//
//   TEKTITE_ASSIGN_OR_RETURN(StepGraph steps, StepGraph::Create(graph, kernels));
//
// Every parameter, constant and fusion result is a buffer; a reshape is another name of its
// operand's buffer.  Nothing here borrows from the graph, which may be dropped afterwards. Also
// found here: the weight groups.  A step that depends on nothing but constants and weights need not
// run in every call.  Such steps fall into groups, the connected parts of their data flow, so that
// a weight that changes costs the recomputation of what hangs on it and no more.
#ifndef TEKTITE_JIT_RUNTIME_STEP_GRAPH_H_
#define TEKTITE_JIT_RUNTIME_STEP_GRAPH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "jit/backend/backend.h"
#include "jit/ir/graph.h"

namespace tektite::runtime {

using KernelMap = absl::flat_hash_map<const ir::Node*, std::shared_ptr<const backend::Kernel>>;

struct Buffer {
  enum class Kind : uint8_t { kParameter, kConstant, kComputed };
  Kind kind = Kind::kComputed;
  int index = 0;  // of the parameter, the constant, or the step that computes it
  int64_t bytes = 0;
};

struct Step {
  std::string name;
  std::shared_ptr<const backend::Kernel> kernel;
  absl::InlinedVector<int, 6> operands;  // buffers
  absl::InlinedVector<int, 2> results;
  int group = -1;  // weight group, -1: none
};

struct TensorType {
  ir::DType dtype = ir::DType::kF32;
  std::vector<int64_t> dims;
  friend bool operator==(const TensorType& a, const TensorType& b) {
    return a.dtype == b.dtype && a.dims == b.dims;
  }
};

struct GraphOutput {
  int buffer = 0;
  TensorType type;
};

struct WeightGroup {
  std::vector<int> steps;       // in order
  std::vector<int> parameters;  // the weights it reads, ascending
  std::vector<int> kept;        // buffers that are read outside the group
  // Equal for groups that compute the same from the same parameters and constants, as long as the
  // kernels and constants it was made from exist.
  std::vector<uint64_t> signature;
};

struct StepGraph {
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
  std::vector<TensorType> parameters;
  std::vector<ir::Literal> constants;  // aligned to kAlignment
  std::vector<GraphOutput> outputs;
  std::vector<WeightGroup> groups;

  // InvalidArgument for a graph with symbolic shapes, or with a node that is none of parameter,
  // constant, reshape and fusion; Internal for a fusion without kernel.
  static absl::StatusOr<StepGraph> Create(const ir::Graph& graph, const KernelMap& kernels);
};

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_STEP_GRAPH_H_
