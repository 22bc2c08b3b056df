// The attributes of a TektiteCluster node, read and checked once, when its kernel is made.
//
// Why: attributes tell which inputs are variables and how many results there are.  A graph from
// elsewhere, or one that was edited, may hold such a node with any attributes, and code that took
// them for granted would read and write beside its arrays.  Such a node is an ordinary error that
// names it and the attribute:
//   TektiteCluster 'c': constant_inputs: 7 is none of its 2 inputs
//
//   absl::StatusOr<ClusterAttributes> read = ClusterAttributes::Read(construction);
//
// First of all `maker` must be this process's own mark: the graph pass writes it, no other process
// knows it, and no file has a use for such a node.  Limits: the compiler checks `body` later, when
// it receives it (prepared_cluster.h).
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_CLUSTER_ATTRIBUTES_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_CLUSTER_ATTRIBUTES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/whole_function.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/types.h"

namespace tektite::tf_hook {

struct ClusterAttributes {
  // Those of the lists in the host's memory come last.
  tensorflow::DataTypeVector input_types, output_types;
  bool on_card = false;
  // tektite_space of each, the values of variables among them; empty: all in the host's memory.
  std::vector<int32_t> input_spaces, output_spaces;
  std::vector<tensorflow::DataType> variable_types;  // one for each input, see held_inputs.h
  // Inputs in ascending order: the former are no resources, the latter are.
  std::vector<int> constant_inputs, updated_inputs;
  std::string cluster_name;
  std::string fallback;  // a function of these inputs and outputs
  std::optional<WholeFunction> whole_function;
  bool holds_xla_calls = false;

  static absl::StatusOr<ClusterAttributes> Read(tensorflow::OpKernelConstruction* construction);
};

// The mark of this process: random, and never written anywhere.
const std::string& MakersMark();

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_CLUSTER_ATTRIBUTES_H_
