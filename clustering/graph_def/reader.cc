#include "clustering/graph_def/reader.h"

#include "clustering/graph_def/wire_messages.h"

namespace tektite::graph_def {

absl::StatusOr<GraphDef> ReadGraphDef(absl::string_view bytes, TensorStorage storage) {
  GraphDef graph;
  const wire::Source source{/*borrow=*/storage == TensorStorage::kBorrow};
  absl::Status status = wire::Guard("not a GraphDef", [&] {
    graph = wire::ReadGraph(protozero::pbf_reader(bytes.data(), bytes.size()), source);
  });
  if (!status.ok()) return status;
  return graph;
}

}  // namespace tektite::graph_def
