// The graph of a library that is compiled ahead of time: a model's, imported, with the names and
// types of its arguments.
//
//   TEKTITE_ASSIGN_OR_RETURN(LibrarySource source, LoadLibrarySource(bytes, options));
//   source.graph, source.roles, source.names
//
// A variable is an argument: one that the graph changes is a state of the caller's, and one that it
// does not change has a value, where the model brings it along.
//
// Limits: an argument of a type or a rank that is not known is refused by name, with what to do
// about it.
#ifndef TEKTITE_CLUSTERING_SOURCE_LIBRARY_SOURCE_H_
#define TEKTITE_CLUSTERING_SOURCE_LIBRARY_SOURCE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "jit/aot/library.h"
#include "jit/ir/graph.h"
#include "jit/ir/literal.h"

namespace tektite::clustering {

struct LibrarySource {
  std::unique_ptr<ir::Graph> graph;
  runtime::OutputRoles roles;
  aot::Names names;
  std::map<int, ir::Literal> values;             // by parameter, which BindValues makes a constant
  std::map<std::string, int64_t> typical_sizes;  // of the graph's symbols
};

enum class ModelForm : int32_t { kModel, kIr, kCluster };  // tektite_aot_form
struct LibraryOptions {
  ModelForm form = ModelForm::kModel;
  absl::string_view inputs;   // "x=f32[n,224,224,3];y=s32[4]": types that the model leaves open
  absl::string_view outputs;  // tensors, separated by commas; empty: the graph's sinks
  absl::string_view typical;  // "n=8"
};

absl::StatusOr<LibrarySource> LoadLibrarySource(absl::string_view model,
                                                const LibraryOptions& options);

}  // namespace tektite::clustering

#endif  // TEKTITE_CLUSTERING_SOURCE_LIBRARY_SOURCE_H_
