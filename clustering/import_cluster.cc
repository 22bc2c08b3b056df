#include "clustering/import_cluster.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clustering/extract_cluster.h"
#include "jit/base/status.h"

namespace tektite::clustering {
namespace {

using graph_def::NodeDef;
using graph_def::PartialShape;

class ClusterImport {
 public:
  ClusterImport(const graph_def::GraphIndex& index, const CostModel& cost)
      : index_(index), cost_(cost) {}

  absl::Status Run(const MarkedCluster& cluster) {
    TEKTITE_ASSIGN_OR_RETURN(ClosedGraph closed, ExtractCluster(index_, cluster.nodes));
    std::vector<importer::ArgType> args(closed.inputs.size());
    for (const NodeDef& node : closed.graph.nodes) {
      const int64_t i = node.attrs.Int("index", -1);
      if (node.op != "_Arg" || i < 0 || i >= static_cast<int64_t>(args.size())) continue;
      TEKTITE_ASSIGN_OR_RETURN(args[i].shape, TypeOf(closed.inputs[i], node));
      args[i].weight = node.attrs.Type("T") == graph_def::DataType::kResource;
      result_.shapes[closed.inputs[i]] = args[i].shape.ToString();
    }
    TEKTITE_ASSIGN_OR_RETURN(result_.code, importer::ImportGraph(closed.graph, args));
    for (size_t k = 0; k < closed.outputs.size(); ++k) {
      result_.shapes[closed.outputs[k]] = result_.code.graph->outputs()[k].shape().ToString();
    }
    return absl::OkStatus();
  }
  ImportedCluster Take() { return std::move(result_); }

 private:
  // The known shape at the place the argument stands for, with a symbol for each size that is open.
  absl::StatusOr<ir::Shape> TypeOf(const std::string& tensor, const NodeDef& arg) {
    graph_def::DataType type = arg.attrs.Type("T");
    const PartialShape* shape = FirstShape(arg, "_output_shapes");
    if (type == graph_def::DataType::kResource) {
      const graph_def::AttrValue* types = arg.attrs.Find("_handle_dtypes");
      const auto* list = types == nullptr ? nullptr : types->AsListOf<graph_def::DataType>();
      if (list != nullptr && !list->empty()) type = list->front();
      shape = FirstShape(arg, "_handle_shapes");
    }
    const int node = index_.Find(tensor);
    if (shape == nullptr && node >= 0) shape = &cost_.Shape(node);
    const bool is_complex = graph_def::PartType(type).has_value();
    type = graph_def::PartType(type).value_or(type);
    const std::optional<ir::DType> dtype = graph_def::DTypeOf(type);
    if (!dtype) return Unimplemented("'", tensor, "': ", graph_def::DataTypeName(type));
    if (shape == nullptr || shape->unknown_rank) {
      return Unimplemented("the shape of '", tensor, "' is unknown");
    }
    ir::Dims dims;
    for (int64_t size : shape->dims) {
      dims.push_back(size < 0 ? ir::Dim::Symbol(absl::StrCat("n", symbols_++)) : ir::Dim(size));
    }
    if (is_complex) dims.push_back(ir::Dim(2));
    return ir::Shape(*dtype, dims);
  }

  const graph_def::GraphIndex& index_;
  const CostModel& cost_;
  int symbols_ = 0;
  ImportedCluster result_;
};

}  // namespace

ImportedCluster ImportCluster(const graph_def::GraphIndex& index, const CostModel& cost,
                              const MarkedCluster& cluster) {
  ClusterImport import(index, cost);
  const absl::Status status = import.Run(cluster);
  ImportedCluster result = import.Take();
  result.refused = std::string(status.message());
  return result;
}

}  // namespace tektite::clustering
