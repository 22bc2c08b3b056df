// The graph of a model file: GraphDef (binary or text) or saved_model.pb, calls taken apart.
//
//   TEKTITE_ASSIGN_OR_RETURN(GraphDef graph, LoadModel(bytes));
//
// Of a SavedModel, the graph tagged "serve" (else the first) and of that what its default signature
// (else the first) needs; its variables are arguments, as in a loaded model. A call that cannot be
// taken apart stays a call.
#ifndef TEKTITE_CLUSTERING_LOAD_MODEL_H_
#define TEKTITE_CLUSTERING_LOAD_MODEL_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clustering/graph_def/graph_def.h"

namespace tektite::clustering {

// The treatment of calls of functions with jit_compile=True.
enum class XlaCalls {
  kApart,  // as any other call: for hosts that run the graph
  kWhole,  // they stay calls, as TensorFlow leaves them
};

// The tensors of the graph borrow the bytes where they can.
absl::StatusOr<graph_def::GraphDef> LoadModel(absl::string_view bytes,
                                              XlaCalls xla_calls = XlaCalls::kApart);

}  // namespace tektite::clustering

#endif  // TEKTITE_CLUSTERING_LOAD_MODEL_H_
