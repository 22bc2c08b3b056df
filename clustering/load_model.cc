#include "clustering/load_model.h"

#include "clustering/graph_def/reader.h"
#include "clustering/graph_def/text_reader.h"

namespace tektite::clustering {

absl::StatusOr<graph_def::GraphDef> LoadModel(absl::string_view bytes) {
  if (graph_def::LooksLikeText(bytes)) return graph_def::ReadTextGraphDef(bytes);
  return graph_def::ReadGraphDef(bytes, graph_def::TensorStorage::kBorrow);
}

}  // namespace tektite::clustering
