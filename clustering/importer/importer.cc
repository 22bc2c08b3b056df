#include "clustering/importer/importer.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clustering/importer/body_import.h"
#include "clustering/importer/live_nodes.h"
#include "clustering/importer/math/complex.h"
#include "jit/base/status.h"
#include "jit/ir/updates.h"
#include "jit/ops/node_limit.h"

namespace tektite::importer {
namespace {

using graph_def::DataType;
using graph_def::GraphIndex;
using graph_def::NodeDef;

class GraphImport {
 public:
  GraphImport(const GraphIndex& index, absl::Span<const ArgType> args)
      : index_(index), args_(args), builder_("main"), functions_(index.graph()) {}

  absl::StatusOr<ImportedGraph> Run() {
    AddParameters();
    ReadArgs();
    TEKTITE_RETURN_IF_ERROR(builder_.status());  // an argument without its parts
    const absl::StatusOr<std::vector<TensorInfo>> results =
        ImportBody(index_, &infos_, {builder_, checks_, doubts_, functions_});
    if (!doubts_.empty()) return doubts_.front();  // it comes before what it led to
    if (!results.ok()) return results.status();
    return Finish(*results);
  }

 private:
  void AddParameters() {
    for (size_t i = 0; i < args_.size(); ++i) {
      Value parameter = builder_.Parameter(args_[i].shape, absl::StrCat("arg", i));
      if (args_[i].weight) parameter.node->attrs().Set(ir::Attr::weight, true);
      parameters_.push_back(parameter);
    }
  }

  // What is known of the arguments, some of which only their nodes say.
  void ReadArgs() {
    infos_.resize(args_.size());
    for (size_t i = 0; i < args_.size(); ++i) {
      infos_[i].shape = args_[i].shape;
      infos_[i].value = parameters_[i];
    }
    for (int number : LiveNodes(index_)) {
      const NodeDef& node = index_.node(number);
      const int64_t i = node.attrs.Int("index", -1);
      if (node.op != "_Arg" || i < 0 || i >= static_cast<int64_t>(args_.size())) continue;
      ReadArg(node, args_[i], &parameters_[i].node->attrs(), &infos_[i]);
      if (infos_[i].is_resource) variables_.insert(static_cast<int>(i));
      if (graph_def::PartType(node.attrs.Type("T")))
        infos_[i] = SplitParts(parameters_[i], &builder_);
    }
  }

  static void ReadArg(const NodeDef& node, const ArgType& arg, ir::Attributes* attrs,
                      TensorInfo* info) {
    info->is_resource = node.attrs.Type("T") == DataType::kResource;
    if (info->is_resource) {
      attrs->Set(ir::Attr::weight, true);
      if (node.attrs.Bool("_tektite_updated", false)) attrs->Erase(ir::Attr::weight);
    } else if (arg.elements) {
      info->contents = arg.elements;
      attrs->Set(ir::Attr::sizes, *info->contents);
    } else if (arg.value) {
      info->literal = arg.value;
      info->contents = ContentsOf(*info->literal);
      info->value = Value();
    }
  }

  absl::StatusOr<ImportedGraph> Finish(const std::vector<TensorInfo>& results) {
    ImportedGraph imported;
    imported.num_results = static_cast<int>(results.size());
    imported.num_checks = static_cast<int>(checks_.size());
    std::vector<Value> outputs;
    for (const TensorInfo& result : results) outputs.push_back(result.value);
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].rows) continue;
      imported.counted.push_back(static_cast<int>(i));
      outputs.push_back(results[i].rows);
    }
    outputs.insert(outputs.end(), checks_.begin(), checks_.end());
    for (const int arg : variables_) {
      Value parameter = parameters_[arg];
      if (infos_[arg].value == parameter) continue;
      parameter.node->attrs().Erase(ir::Attr::weight);
      ir::MarkUpdated(parameter.node);
      imported.updated.push_back(arg);
      outputs.push_back(infos_[arg].value);
    }
    builder_.Return(std::move(outputs));
    TEKTITE_ASSIGN_OR_RETURN(imported.graph, builder_.Build());
    imported.graph->EraseDead();
    return imported;
  }

  const GraphIndex& index_;
  absl::Span<const ArgType> args_;
  FuncBuilder builder_;
  FunctionLibrary functions_;
  std::vector<Value> parameters_, checks_;
  std::vector<absl::Status> doubts_;
  std::vector<TensorInfo> infos_;  // of the arguments
  std::set<int> variables_;        // resource arguments
};

}  // namespace

absl::StatusOr<ImportedGraph> ImportGraph(const graph_def::GraphDef& graph,
                                          absl::Span<const ArgType> args, int64_t most_nodes) {
  TEKTITE_ASSIGN_OR_RETURN(GraphIndex index, GraphIndex::Create(graph));
  const ops::NodeLimit limit(most_nodes);
  return GraphImport(index, args).Run();
}

}  // namespace tektite::importer
