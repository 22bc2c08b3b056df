#include "runtime_hooks/tensorflow/hook/graph_pass/cluster_boundary.h"

#include <algorithm>

#include "runtime_hooks/tensorflow/hook/graph_pass/variable_types.h"

namespace tektite::tf_hook {
namespace {

using tensorflow::DataType;
using tensorflow::Edge;
using tensorflow::Node;

bool IsAssignedInside(const Endpoint& variable, const NodeSet& inside,
                      const tensorflow::FunctionLibraryDefinition& functions) {
  if (TypeOf(variable) != tensorflow::DT_RESOURCE) return false;
  for (const Edge* edge : variable.first->out_edges()) {
    if (edge->src_output() == variable.second && inside.count(edge->dst()) != 0 &&
        IsAssigned(*edge->dst(), edge->dst_input(), functions)) {
      return true;
    }
  }
  return false;
}

// Returns, by index as it was, the index as it is then.
std::vector<int> SortByMemory(std::vector<Endpoint>* endpoints,
                              absl::flat_hash_map<Endpoint, int>* index_of) {
  const std::vector<Endpoint> before = *endpoints;
  std::stable_partition(endpoints->begin(), endpoints->end(),
                        [](const Endpoint& endpoint) { return !IsOnHost(endpoint); });
  for (size_t i = 0; i < endpoints->size(); ++i) {
    (*index_of)[(*endpoints)[i]] = static_cast<int>(i);
  }
  std::vector<int> moved;
  for (const Endpoint& endpoint : before) moved.push_back(index_of->at(endpoint));
  return moved;
}

}  // namespace

DataType TypeOf(const Endpoint& endpoint) {
  return tensorflow::BaseType(endpoint.first->output_type(endpoint.second));
}

bool IsOnHost(const Endpoint& endpoint) {
  const DataType type = TypeOf(endpoint);
  return type == tensorflow::DT_INT32 || tensorflow::DataTypeAlwaysOnHost(type);
}

Boundary FindBoundary(const std::vector<Node*>& nodes, const NodeSet& inside,
                      const tensorflow::FunctionLibraryDefinition& functions) {
  Boundary boundary;
  NodeSet copied, waits, waiters;
  const auto wait_as = [&](const Node& reader) {
    for (Node* node : Waits(reader, inside)) {
      if (inside.count(node) == 0 && waits.insert(node).second) {
        boundary.control_inputs.push_back(node);
      }
    }
  };
  for (Node* node : nodes) {
    wait_as(*node);
    std::vector<const Edge*> data;
    for (const Edge* edge : node->in_edges()) {
      if (!edge->IsControlEdge() && inside.count(edge->src()) == 0) data.push_back(edge);
    }
    // in_edges() is a set of pointers: without this the inputs' order would change from run to run.
    std::sort(data.begin(), data.end(),
              [](const Edge* a, const Edge* b) { return a->dst_input() < b->dst_input(); });
    for (const Edge* edge : data) {
      Node* const source = edge->src();
      if (IsCopiedConstant(*source)) {
        if (!copied.insert(source).second) continue;
        boundary.copied_constants.push_back(source);
        // The constant's control inputs (a branch not taken) must also hold its readers back.
        wait_as(*source);
        continue;
      }
      const Endpoint endpoint{source, edge->src_output()};
      const int index = static_cast<int>(boundary.inputs.size());
      if (boundary.input_index.emplace(endpoint, index).second) {
        boundary.inputs.push_back(endpoint);
        if (source->IsConstant()) boundary.constant_inputs.push_back(index);
      }
    }
    std::vector<int> leaving;
    for (const Edge* edge : node->out_edges()) {
      if (inside.count(edge->dst()) != 0) continue;
      if (!edge->IsControlEdge()) {
        leaving.push_back(edge->src_output());
      } else if (!edge->dst()->IsSink() && waiters.insert(edge->dst()).second) {
        boundary.control_outputs.push_back(edge->dst());
      }
    }
    std::sort(leaving.begin(), leaving.end());
    for (const int output : leaving) {
      const Endpoint endpoint{node, output};
      if (boundary.output_index.emplace(endpoint, boundary.outputs.size()).second) {
        boundary.outputs.push_back(endpoint);
      }
    }
  }
  for (size_t i = 0; i < boundary.inputs.size(); ++i) {
    if (IsAssignedInside(boundary.inputs[i], inside, functions)) {
      boundary.updated_inputs.push_back(static_cast<int>(i));
    }
  }
  const auto by_id = [](const Node* a, const Node* b) { return a->id() < b->id(); };
  std::sort(boundary.control_inputs.begin(), boundary.control_inputs.end(), by_id);
  std::sort(boundary.control_outputs.begin(), boundary.control_outputs.end(), by_id);
  return boundary;
}

void SortByMemory(Boundary* boundary) {
  const std::vector<int> moved = SortByMemory(&boundary->inputs, &boundary->input_index);
  for (std::vector<int>* list : {&boundary->constant_inputs, &boundary->updated_inputs}) {
    for (int& input : *list) input = moved[input];
    std::sort(list->begin(), list->end());
  }
  SortByMemory(&boundary->outputs, &boundary->output_index);
}

}  // namespace tektite::tf_hook
