#include "runtime_hooks/tensorflow/hook/graph_pass/cluster_attributes.h"

#include <random>

#include "absl/strings/str_cat.h"
#include "runtime_hooks/c_api/tektite.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.h"

namespace tektite::tf_hook {
namespace {

using tensorflow::DataType;
using tensorflow::OpKernelConstruction;

// As TensorFlow names functions and nodes; a cluster's name goes into files and messages.
constexpr size_t kMostNameBytes = 4096;

template <typename... Args>
absl::Status Wrong(const char* attribute, const Args&... args) {
  return absl::InvalidArgumentError(absl::StrCat(attribute, ": ", args...));
}

absl::Status CheckTypes(const char* attribute, const tensorflow::DataTypeVector& types) {
  for (const DataType type : types) {
    if (tensorflow::IsRefType(type)) {
      return Wrong(attribute, "no reference types, got ", tensorflow::DataTypeString(type));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckVariableTypes(const ClusterAttributes& read) {
  if (read.variable_types.size() != read.input_types.size()) {
    return Wrong("variable_types", read.variable_types.size(), " types for ",
                 read.input_types.size(), " inputs");
  }
  for (size_t i = 0; i < read.variable_types.size(); ++i) {
    const DataType type = read.variable_types[i];
    const bool is_variable = read.input_types[i] == tensorflow::DT_RESOURCE;
    if (type == tensorflow::DT_RESOURCE ||
        (is_variable && tensorflow::DataTypeCanUseMemcpy(type))) {
      continue;
    }
    return Wrong("variable_types", "input ", i, " of type ",
                 tensorflow::DataTypeString(read.input_types[i]), " holds no ",
                 tensorflow::DataTypeString(type));
  }
  return absl::OkStatus();
}

absl::Status CheckInputList(const char* attribute, const std::vector<int>& inputs, bool variables,
                            const ClusterAttributes& read) {
  const int count = static_cast<int>(read.input_types.size());
  int last = -1;
  for (const int input : inputs) {
    if (input < 0 || input >= count) {
      return Wrong(attribute, input, " is none of its ", count, " inputs");
    }
    if (input <= last) return Wrong(attribute, "must ascend, got ", input, " after ", last);
    last = input;
    if ((read.input_types[input] == tensorflow::DT_RESOURCE) != variables) {
      return Wrong(attribute, "input ", input, " is ", variables ? "no" : "a", " variable");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckName(const std::string& name) {
  if (name.empty() || name.size() > kMostNameBytes || name.find('\0') != std::string::npos) {
    return Wrong("cluster_name", "must have 1 to ", kMostNameBytes, " characters and no zero");
  }
  return absl::OkStatus();
}

// Types that depend on attributes of the function are left to TensorFlow, which checks what it
// runs.
absl::Status CheckArguments(
    const char* what,
    const tensorflow::protobuf::RepeatedPtrField<tensorflow::OpDef::ArgDef>& arguments,
    const tensorflow::DataTypeVector& types, const std::string& function) {
  if (arguments.size() != static_cast<int>(types.size())) {
    return Wrong("fallback", "function '", function, "' has ", arguments.size(), " ", what,
                 ", the node ", types.size());
  }
  for (int i = 0; i < arguments.size(); ++i) {
    const DataType type = arguments.Get(i).type();
    if (type != tensorflow::DT_INVALID && type != types[i]) {
      return Wrong("fallback", what, " ", i, " of function '", function, "' is ",
                   tensorflow::DataTypeString(type), ", the node's is ",
                   tensorflow::DataTypeString(types[i]));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckFallback(OpKernelConstruction* construction, const ClusterAttributes& read) {
  if (construction->function_library() == nullptr) return absl::OkStatus();  // it cannot run
  const tensorflow::FunctionDef* const function =
      construction->function_library()->GetFunctionLibraryDefinition()->Find(read.fallback);
  if (function == nullptr) return Wrong("fallback", "there is no function '", read.fallback, "'");
  const tensorflow::OpDef& signature = function->signature();
  TF_RETURN_IF_ERROR(
      CheckArguments("inputs", signature.input_arg(), read.input_types, read.fallback));
  return CheckArguments("outputs", signature.output_arg(), read.output_types, read.fallback);
}

std::vector<int32_t> SpacesOf(const tensorflow::MemoryTypeSlice& memory_types) {
  std::vector<int32_t> spaces;
  for (const tensorflow::MemoryType type : memory_types) {
    spaces.push_back(type == tensorflow::HOST_MEMORY ? TEKTITE_HOST : TEKTITE_DEVICE);
  }
  return spaces;
}

absl::Status ReadAll(OpKernelConstruction* construction, ClusterAttributes* read) {
  std::string maker;
  TF_RETURN_IF_ERROR(construction->GetAttr("maker", &maker));
  if (maker != MakersMark()) {
    return Wrong("maker",
                 "such nodes are made by Tektite's graph pass in the process that runs "
                 "them, and nowhere else");
  }
  const auto inputs = construction->input_types(), outputs = construction->output_types();
  read->input_types.assign(inputs.begin(), inputs.end());
  read->output_types.assign(outputs.begin(), outputs.end());
  read->on_card = construction->device_type() == tensorflow::DEVICE_GPU;
  if (read->on_card) {
    read->input_spaces = SpacesOf(construction->input_memory_types());
    read->output_spaces = SpacesOf(construction->output_memory_types());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == tensorflow::DT_RESOURCE) read->input_spaces[i] = TEKTITE_DEVICE;
    }
  }
  TF_RETURN_IF_ERROR(CheckTypes("Tin", read->input_types));
  TF_RETURN_IF_ERROR(CheckTypes("Tout", read->output_types));
  TF_RETURN_IF_ERROR(construction->GetAttr("variable_types", &read->variable_types));
  TF_RETURN_IF_ERROR(CheckVariableTypes(*read));
  TF_RETURN_IF_ERROR(construction->GetAttr("constant_inputs", &read->constant_inputs));
  TF_RETURN_IF_ERROR(
      CheckInputList("constant_inputs", read->constant_inputs, /*variables=*/false, *read));
  TF_RETURN_IF_ERROR(construction->GetAttr("updated_inputs", &read->updated_inputs));
  TF_RETURN_IF_ERROR(
      CheckInputList("updated_inputs", read->updated_inputs, /*variables=*/true, *read));
  TF_RETURN_IF_ERROR(construction->GetAttr("cluster_name", &read->cluster_name));
  TF_RETURN_IF_ERROR(CheckName(read->cluster_name));
  tensorflow::NameAttrList function;
  TF_RETURN_IF_ERROR(construction->GetAttr("fallback", &function));
  read->fallback = function.name();
  TF_RETURN_IF_ERROR(CheckFallback(construction, *read));
  read->holds_xla_calls = construction->def().attr().contains("_tektite_xla_calls");
  TF_ASSIGN_OR_RETURN(read->whole_function, WholeFunction::Of(construction));
  return absl::OkStatus();
}

std::string RandomMark() {
  std::random_device random;
  std::string mark;
  for (int i = 0; i < 4; ++i) absl::StrAppend(&mark, absl::Hex(random(), absl::kZeroPad8));
  return mark;
}

}  // namespace

absl::StatusOr<ClusterAttributes> ClusterAttributes::Read(OpKernelConstruction* construction) {
  ClusterAttributes read;
  const absl::Status status = ReadAll(construction, &read);
  if (status.ok()) return read;
  return absl::InvalidArgumentError(
      absl::StrCat("TektiteCluster '", construction->def().name(), "': ", status.message()));
}

const std::string& MakersMark() {
  static const auto* const mark = new std::string(RandomMark());
  return *mark;
}

}  // namespace tektite::tf_hook

// For tests, which make nodes with attributes that no pass writes.
extern "C" __attribute__((visibility("default"))) const char* tektite_hook_makers_mark() {
  return tektite::tf_hook::MakersMark().c_str();
}
