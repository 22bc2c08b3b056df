#include "runtime_hooks/tensorflow/hook/graph_pass/variable_types.h"

#include <string>
#include <vector>

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

constexpr int kMostDepth = 32;  // of functions in functions

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

// Of a variable that is input `input` of a node.
DataType TypeAt(const std::string& op, AttrSlice attributes, int input,
                const FunctionLibraryDefinition& functions, int depth) {
  if (const AttrValue* type = attributes.Find("dtype"); type != nullptr) return type->type();
  if (depth >= kMostDepth) return DT_RESOURCE;
  // The first input of a branch chooses, and is no argument.
  const bool is_branch =
      attributes.Find("Tcond") != nullptr || attributes.Find("branches") != nullptr;
  const int argument = is_branch ? input - 1 : input;
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

}  // namespace

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
