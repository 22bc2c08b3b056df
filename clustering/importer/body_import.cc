#include "clustering/importer/body_import.h"

#include <utility>

#include "clustering/importer/contents/contents.h"
#include "clustering/importer/import_table.h"
#include "clustering/importer/live_nodes.h"
#include "clustering/importer/math/complex.h"
#include "clustering/importer/movement/row_counts.h"

namespace tektite::importer {
namespace {

using clustering::OpFacts;
using graph_def::DataType;
using graph_def::GraphIndex;
using graph_def::NodeDef;

constexpr size_t kMaxResults = 1 << 20;  // no graph has more; a damaged one may say so

absl::Status NoSuchOp(const NodeDef& node) {
  return Unimplemented(node.op, " '", node.name, "': no such op here");
}

class BodyImport {
 public:
  BodyImport(const GraphIndex& index, std::vector<TensorInfo>* args, const Scope& scope)
      : index_(index), args_(*args), scope_(scope), tensors_(index.num_nodes()) {}

  absl::StatusOr<std::vector<TensorInfo>> Run() {
    std::vector<int> variables;
    for (int node : LiveNodes(index_)) {
      TEKTITE_RETURN_IF_ERROR(ImportNode(node));
      if (index_.node(node).op == "_Arg" && tensors_[node][0].is_resource) {
        variables.push_back(node);
      }
    }
    for (int node : variables) {
      args_[index_.node(node).attrs.Int("index", 0)] = tensors_[node][0];
    }
    for (size_t i = 0; i < results_.size(); ++i) {
      if (!has_result_[i]) return InvalidArgument("the graph has no _Retval with index ", i);
    }
    return std::move(results_);
  }

 private:
  absl::Status ImportNode(int number) {
    const NodeDef& node = index_.node(number);
    scope_.builder.set_name(node.name);
    if (node.op == "_Arg") {
      TEKTITE_ASSIGN_OR_RETURN(TensorInfo info, ImportArg(node));
      tensors_[number].push_back(std::move(info));
      return absl::OkStatus();
    }
    TEKTITE_ASSIGN_OR_RETURN(std::vector<TensorInfo*> inputs, InputsOf(number));
    if (node.op == "_Retval") return ImportRetval(node, inputs);
    const bool is_complex = IsComplex(node, inputs);
    const OpFacts& facts = index_.facts(number);
    const ImportFunction import =
        is_complex ? ComplexImportFunctionOf(facts) : ImportFunctionOf(facts);
    if (import == nullptr) {
      return is_complex ? Unimplemented(node.op, " '", node.name, "': complex numbers")
                        : NoSuchOp(node);
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i]->rows || TakesRowCount(index_, number, static_cast<int>(i))) continue;
      return Unimplemented(node.op, " '", node.name, "': only values tell how many rows input ", i,
                           " has");
    }
    NodeImport op(node, std::move(inputs), scope_);
    if (!FoldContents(op)) {
      TEKTITE_RETURN_IF_ERROR(import(op));
      if (!scope_.builder.status().ok()) return op.Refuse(scope_.builder.status().message());
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

  absl::StatusOr<size_t> IndexOf(const NodeDef& node) const {
    const int64_t index = node.attrs.Int("index", -1);
    if (index < 0) return InvalidArgument(node.op, " '", node.name, "': no index");
    return static_cast<size_t>(index);
  }

  absl::StatusOr<TensorInfo> ImportArg(const NodeDef& node) {
    TEKTITE_ASSIGN_OR_RETURN(const size_t index, IndexOf(node));
    if (index >= args_.size()) {
      return InvalidArgument("_Arg '", node.name, "': index ", index, " of ", args_.size());
    }
    const TensorInfo& info = args_[index];
    DataType type = node.attrs.Type("T");
    const bool is_tensor = !info.is_resource && info.unusable.empty();
    if (info.is_complex) type = graph_def::PartType(type).value_or(DataType::kInvalid);
    if (is_tensor && graph_def::DTypeOf(type) != info.shape.dtype()) {
      return InvalidArgument("_Arg '", node.name, "': type ", graph_def::DataTypeName(type),
                             ", but the argument is ", info.shape.ToString());
    }
    return info;
  }

  absl::Status ImportRetval(const NodeDef& node, const std::vector<TensorInfo*>& inputs) {
    TEKTITE_ASSIGN_OR_RETURN(const size_t index, IndexOf(node));
    if (inputs.size() != 1 || index >= kMaxResults) {
      return InvalidArgument("_Retval '", node.name, "': ", inputs.size(), " inputs, index ",
                             index);
    }
    TensorInfo complex;
    const TensorInfo* result = inputs[0];
    if (scope_.depth == 0) {  // a cluster's results leave as values
      NodeImport op(node, inputs, scope_);
      if (result->is_complex) {
        complex.value = JoinParts(op);
        result = &complex;
      } else {
        op.Input(0);
      }
      if (!scope_.builder.status().ok()) return scope_.builder.status();
    }
    if (results_.size() <= index) {
      results_.resize(index + 1);
      has_result_.resize(index + 1, false);
    }
    results_[index] = *result;
    has_result_[index] = true;
    return absl::OkStatus();
  }

  const GraphIndex& index_;
  std::vector<TensorInfo>& args_;
  const Scope& scope_;
  std::vector<std::vector<TensorInfo>> tensors_;  // results by node
  std::vector<TensorInfo> results_;
  std::vector<bool> has_result_;
};

}  // namespace

absl::StatusOr<const GraphIndex*> FunctionLibrary::Get(const graph_def::FunctionRef& function) {
  auto [it, is_new] = indices_.emplace(function.name, nullptr);
  if (!is_new && it->second != nullptr) return it->second.get();
  TEKTITE_ASSIGN_OR_RETURN(const graph_def::GraphDef* graph, graphs_.Get(function));
  TEKTITE_ASSIGN_OR_RETURN(GraphIndex index, GraphIndex::Create(*graph));
  it->second = std::make_unique<GraphIndex>(std::move(index));
  return it->second.get();
}

absl::Status FunctionLibrary::Spend(int nodes) {
  nodes_ += nodes;
  if (nodes_ <= kMostNodes) return absl::OkStatus();
  return Unimplemented("loops and branches of more than ", kMostNodes, " nodes");
}

absl::Status CheckBody(const GraphIndex& body) {
  std::vector<bool> is_live(body.num_nodes(), false);
  for (const int i : LiveNodes(body)) is_live[i] = true;
  for (int i = 0; i < body.num_nodes(); ++i) {
    const NodeDef& node = body.node(i);
    const OpFacts& facts = body.facts(i);
    if (node.op == "_Arg" || node.op == "_Retval" || facts.kind == OpFacts::Kind::kOrdering) {
      continue;
    }
    if (ImportFunctionOf(facts) == nullptr) return NoSuchOp(node);
    if (!is_live[i] && facts.Is(OpFacts::kRunsFunctions)) {
      return Unimplemented(node.op, " '", node.name, "': it runs for its effects");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TensorInfo>> ImportBody(const GraphIndex& body,
                                                   std::vector<TensorInfo>* args,
                                                   const Scope& scope) {
  if (scope.depth > 0) TEKTITE_RETURN_IF_ERROR(scope.functions.Spend(body.num_nodes()));
  return BodyImport(body, args, scope).Run();
}

}  // namespace tektite::importer
