// The graph of a library: a model's, imported, with the names and types of its arguments.
//
//   TEKTITE_ASSIGN_OR_RETURN(AotSource source, LoadAotSource(bytes, options));
//   source.graph, source.roles, source.names
//
// A variable is an argument: one that the graph changes is a state of the caller's.
//
// Limits: an argument of a type or a rank that is not known is refused by name, with what to do
// about it.
#ifndef TEKTITE_RUNTIME_HOOKS_C_API_AOT_SOURCE_H_
#define TEKTITE_RUNTIME_HOOKS_C_API_AOT_SOURCE_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "jit/aot/library.h"
#include "jit/ir/graph.h"

namespace tektite::c_api {

struct AotSource {
  std::unique_ptr<ir::Graph> graph;
  runtime::OutputRoles roles;
  aot::Names names;
  std::map<std::string, int64_t> typical_sizes;  // of the graph's symbols
};

struct AotInputs {
  int32_t form = 0;     // tektite_aot_form
  std::string inputs;   // "x=f32[n,224,224,3];y=s32[4]": types that the model leaves open
  std::string outputs;  // tensors, separated by commas; empty: the graph's sinks
  std::string typical;  // "n=8"
};

absl::StatusOr<AotSource> LoadAotSource(absl::string_view model, const AotInputs& inputs);

}  // namespace tektite::c_api

#endif  // TEKTITE_RUNTIME_HOOKS_C_API_AOT_SOURCE_H_
