#include "clustering/importer/importer.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clustering/importer/contents/contents.h"
#include "clustering/importer/import_table.h"
#include "clustering/importer/live_nodes.h"
#include "clustering/importer/row_counts.h"
#include "jit/ir/updates.h"

namespace tektite::importer {
namespace {

using graph_def::DataType;
using graph_def::GraphIndex;
using graph_def::NodeDef;

constexpr size_t kMaxResults = 1 << 20;  // no graph has more; a damaged one may say so

class GraphImport {
 public:
  GraphImport(const GraphIndex& index, absl::Span<const ArgType> args)
      : index_(index), args_(args), builder_("main"), tensors_(index.num_nodes()) {}

  absl::StatusOr<ImportedGraph> Run() {
    AddParameters();
    for (int node : LiveNodes(index_)) TEKTITE_RETURN_IF_ERROR(ImportNode(node));
    return Finish();
  }

 private:
  void AddParameters() {
    for (size_t i = 0; i < args_.size(); ++i) {
      Value parameter = builder_.Parameter(args_[i].shape, absl::StrCat("arg", i));
      if (args_[i].weight) parameter.node->attrs().Set(ir::Attr::weight, true);
      parameters_.push_back(parameter);
    }
  }

  absl::Status ImportNode(int number) {
    const NodeDef& node = index_.node(number);
    builder_.set_name(node.name);
    if (node.op == "_Arg") {
      TEKTITE_ASSIGN_OR_RETURN(TensorInfo info, ImportArg(node));
      if (info.is_resource) variables_[static_cast<int>(node.attrs.Int("index", 0))] = number;
      tensors_[number].push_back(std::move(info));
      return absl::OkStatus();
    }
    TEKTITE_ASSIGN_OR_RETURN(std::vector<TensorInfo*> inputs, InputsOf(number));
    if (node.op == "_Retval") return ImportRetval(node, inputs);
    const ImportFunction import = ImportFunctionOf(index_.facts(number));
    if (import == nullptr) return Unimplemented(node.op, " '", node.name, "': no such op here");
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i]->rows || TakesRowCount(index_, number, static_cast<int>(i))) continue;
      return Unimplemented(node.op, " '", node.name, "': only values tell how many rows input ", i,
                           " has");
    }
    NodeImport op(node, std::move(inputs), &builder_, &checks_);
    if (!FoldContents(op)) {
      TEKTITE_RETURN_IF_ERROR(import(op));
      if (!builder_.status().ok()) return op.Refuse(builder_.status().message());
    }
    tensors_[number] = std::move(op.results());
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<TensorInfo*>> InputsOf(int number) {
    std::vector<TensorInfo*> inputs;
    for (const GraphIndex::Edge& edge : index_.inputs(number)) {
      if (edge.is_control()) continue;
      std::vector<TensorInfo>& outputs = tensors_[edge.node];
      if (edge.output < 0 || edge.output >= static_cast<int>(outputs.size())) {
        return InvalidArgument("node '", index_.node(number).name, "': '",
                               index_.node(edge.node).name, "' has no output ", edge.output);
      }
      inputs.push_back(&outputs[edge.output]);
    }
    return inputs;
  }

  absl::StatusOr<int> IndexOf(const NodeDef& node) const {
    int64_t index = node.attrs.Int("index", -1);
    if (index < 0) return InvalidArgument(node.op, " '", node.name, "': no index");
    return static_cast<int>(index);
  }

  absl::StatusOr<TensorInfo> ImportArg(const NodeDef& node) {
    TEKTITE_ASSIGN_OR_RETURN(size_t index, IndexOf(node));
    if (index >= args_.size()) {
      return InvalidArgument("_Arg '", node.name, "': index ", index, " of ", args_.size());
    }
    TensorInfo info;
    info.shape = args_[index].shape;
    info.value = parameters_[index];
    DataType type = node.attrs.Type("T");
    info.is_resource = type == DataType::kResource;
    if (info.is_resource) {
      ir::Attributes& attrs = info.value.node->attrs();
      attrs.Set(ir::Attr::weight, true);
      if (node.attrs.Bool("_tektite_updated", false)) attrs.Erase(ir::Attr::weight);
    } else if (static_cast<int>(type) != ir::DTypeToTensorFlow(info.shape.dtype())) {
      return InvalidArgument("_Arg '", node.name, "': type ", graph_def::DataTypeName(type),
                             ", but the argument is ", info.shape.ToString());
    }
    if (args_[index].elements && !info.is_resource) {
      info.contents = args_[index].elements;
      parameters_[index].node->attrs().Set(ir::Attr::sizes, *info.contents);
    } else if (args_[index].value && !info.is_resource) {
      info.literal = args_[index].value;
      info.contents = ContentsOf(*info.literal);
      info.value = Value();
    }
    return info;
  }

  absl::Status ImportRetval(const NodeDef& node, const std::vector<TensorInfo*>& inputs) {
    TEKTITE_ASSIGN_OR_RETURN(size_t index, IndexOf(node));
    if (inputs.size() != 1 || index >= kMaxResults) {
      return InvalidArgument("_Retval '", node.name, "': ", inputs.size(), " inputs, index ",
                             index);
    }
    NodeImport op(node, inputs, &builder_, &checks_);
    Value value = op.Input(0);
    if (!builder_.status().ok()) return builder_.status();
    if (results_.size() <= index) results_.resize(index + 1);
    results_[index] = value;
    if (op.Rows(0)) rows_[static_cast<int>(index)] = op.Rows(0);
    return absl::OkStatus();
  }

  absl::StatusOr<ImportedGraph> Finish() {
    for (size_t i = 0; i < results_.size(); ++i) {
      if (!results_[i]) return InvalidArgument("the graph has no _Retval with index ", i);
    }
    ImportedGraph imported;
    imported.num_results = static_cast<int>(results_.size());
    imported.num_checks = static_cast<int>(checks_.size());
    for (const auto& [result, rows] : rows_) {
      imported.counted.push_back(result);
      results_.push_back(rows);
    }
    results_.insert(results_.end(), checks_.begin(), checks_.end());
    for (const auto& [arg, info] : variables_) {
      Value parameter = parameters_[arg];
      if (tensors_[info][0].value == parameter) continue;
      parameter.node->attrs().Erase(ir::Attr::weight);
      ir::MarkUpdated(parameter.node);
      imported.updated.push_back(arg);
      results_.push_back(tensors_[info][0].value);
    }
    builder_.Return(results_);
    TEKTITE_ASSIGN_OR_RETURN(imported.graph, builder_.Build());
    imported.graph->EraseDead();
    return imported;
  }

  const GraphIndex& index_;
  absl::Span<const ArgType> args_;
  FuncBuilder builder_;
  std::vector<Value> parameters_, results_, checks_;
  std::map<int, Value> rows_;                     // how many count, by result
  std::map<int, int> variables_;                  // nodes of resource arguments, by argument
  std::vector<std::vector<TensorInfo>> tensors_;  // results by node
};

}  // namespace

absl::StatusOr<ImportedGraph> ImportGraph(const graph_def::GraphDef& graph,
                                          absl::Span<const ArgType> args) {
  TEKTITE_ASSIGN_OR_RETURN(GraphIndex index, GraphIndex::Create(graph));
  return GraphImport(index, args).Run();
}

}  // namespace tektite::importer
