#include "runtime_hooks/tensorflow/hook/graph_pass/variable_types.h"

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "runtime_hooks/tensorflow/hook/compiler_library.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace tektite::tf_hook {
namespace {

using tensorflow::AttrSlice;
using tensorflow::AttrValue;
using tensorflow::DataType;
using tensorflow::DT_RESOURCE;
using tensorflow::FunctionLibraryDefinition;

constexpr int kMostFunctionDepth = 32;  // of functions in functions

std::vector<std::string> FunctionsOf(const std::string& op, AttrSlice attributes,
                                     const FunctionLibraryDefinition& functions) {
  std::vector<std::string> names;
  if (functions.Contains(op)) names.push_back(op);
  for (const auto& [name, value] : attributes) {
    if (value.value_case() == AttrValue::kFunc) names.push_back(value.func().name());
    for (const auto& function : value.list().func()) names.push_back(function.name());
  }
  return names;
}

// The first input of a branch chooses, and is no argument.
bool IsBranch(AttrSlice attributes) {
  return attributes.Find("Tcond") != nullptr || attributes.Find("branches") != nullptr;
}

// Of a variable that is input `input` of a node.
DataType TypeAt(const std::string& op, AttrSlice attributes, int input,
                const FunctionLibraryDefinition& functions, int depth) {
  if (const AttrValue* type = attributes.Find("dtype"); type != nullptr) return type->type();
  if (depth >= kMostFunctionDepth) return DT_RESOURCE;
  const int argument = IsBranch(attributes) ? input - 1 : input;
  for (const std::string& name : FunctionsOf(op, attributes, functions)) {
    const tensorflow::FunctionDef* const function = functions.Find(name);
    if (function == nullptr || argument < 0 || argument >= function->signature().input_arg_size()) {
      continue;
    }
    const std::string& variable = function->signature().input_arg(argument).name();
    for (const tensorflow::NodeDef& node : function->node_def()) {
      for (int i = 0; i < node.input_size(); ++i) {
        if (node.input(i) != variable) continue;
        const DataType type = TypeAt(node.op(), AttrSlice(node), i, functions, depth + 1);
        if (type != DT_RESOURCE) return type;
      }
    }
  }
  return DT_RESOURCE;
}

bool IsAssignedAt(const std::string& op, AttrSlice attributes, int input,
                  const FunctionLibraryDefinition& functions, int depth);

bool IsAssignedIn(const tensorflow::FunctionDef& function, int argument,
                  const FunctionLibraryDefinition& functions, int depth) {
  // The variable's names: its own, and those of nodes that pass it on.
  absl::flat_hash_set<std::string> names = {function.signature().input_arg(argument).name()};
  for (size_t known = 0; known != names.size();) {
    known = names.size();
    for (const tensorflow::NodeDef& node : function.node_def()) {
      for (int i = 0; i < node.input_size(); ++i) {
        if (names.count(node.input(i)) == 0) continue;
        if (node.op() == "Identity") {
          names.insert(node.name() + ":output:0");
        } else if (IsAssignedAt(node.op(), AttrSlice(node), i, functions, depth)) {
          return true;
        }
      }
    }
  }
  return false;
}

bool IsAssignedAt(const std::string& op, AttrSlice attributes, int input,
                  const FunctionLibraryDefinition& functions, int depth) {
  const CompilerLibrary* const library = CompilerLibrary::IfOpen();
  if (library != nullptr && library->op_assigns(op.c_str()) != 0) return true;
  if (depth >= kMostFunctionDepth) return false;
  const int argument = IsBranch(attributes) ? input - 1 : input;
  for (const std::string& name : FunctionsOf(op, attributes, functions)) {
    const tensorflow::FunctionDef* const function = functions.Find(name);
    if (function != nullptr && argument >= 0 && argument < function->signature().input_arg_size() &&
        IsAssignedIn(*function, argument, functions, depth + 1)) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool IsAssigned(const tensorflow::Node& node, int input,
                const FunctionLibraryDefinition& functions) {
  return IsAssignedAt(node.type_string(), node.attrs(), input, functions, 0);
}

DataType VariableType(const tensorflow::Node& variable, int output, const NodeSet& inside,
                      const FunctionLibraryDefinition& functions) {
  for (const tensorflow::Edge* edge : variable.out_edges()) {
    const tensorflow::Node& reader = *edge->dst();
    if (edge->src_output() != output || inside.count(&reader) == 0) continue;
    const DataType type =
        TypeAt(reader.type_string(), reader.attrs(), edge->dst_input(), functions, 0);
    if (type != DT_RESOURCE) return type;
  }
  return DT_RESOURCE;
}

}  // namespace tektite::tf_hook
