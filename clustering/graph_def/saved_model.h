// Reads saved_model.pb: the graph of a SavedModel and its signatures.
//
//   TEKTITE_ASSIGN_OR_RETURN(SavedModel model, ReadSavedModel(bytes, TensorStorage::kBorrow));
//   model.signatures[0].outputs[0].tensor  // "StatefulPartitionedCall:0"
//
// Of several graphs the one tagged "serve" is read, else the first. Variables are not: their values
// lie in other files, and nothing here needs them. Any bytes are safe, as in reader.h.
#ifndef TEKTITE_CLUSTERING_GRAPH_DEF_SAVED_MODEL_H_
#define TEKTITE_CLUSTERING_GRAPH_DEF_SAVED_MODEL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clustering/graph_def/reader.h"

namespace tektite::graph_def {

struct SignatureTensor {
  std::string key;     // "images"
  std::string tensor;  // "serving_default_images:0"
  DataType dtype = DataType::kInvalid;
  PartialShape shape;
};

struct Signature {
  std::string name;  // "serving_default"
  std::vector<SignatureTensor> inputs;
  std::vector<SignatureTensor> outputs;
};

struct SavedModel {
  GraphDef graph;
  std::vector<OpDef> ops;             // of all ops in the graph and its functions
  std::vector<Signature> signatures;  // by name
};

absl::StatusOr<SavedModel> ReadSavedModel(absl::string_view bytes, TensorStorage storage);

// Whether the bytes start as a SavedModel and no GraphDef does.
bool LooksLikeSavedModel(absl::string_view bytes);

}  // namespace tektite::graph_def

#endif  // TEKTITE_CLUSTERING_GRAPH_DEF_SAVED_MODEL_H_
