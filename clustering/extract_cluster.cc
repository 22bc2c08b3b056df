#include "clustering/extract_cluster.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "clustering/graph_def/assignments.h"
#include "clustering/graph_def/function_graphs.h"
#include "clustering/graph_def/output_type.h"

namespace tektite::clustering {
namespace {

using graph_def::AttrValue;
using graph_def::DataType;
using graph_def::GraphDef;
using graph_def::GraphIndex;
using graph_def::NodeDef;
using graph_def::NodeInput;

std::string TensorName(const NodeDef& node, int output) {
  return NodeInput{node.name, output, ""}.ToString();
}

// Whether an op of the graph assigns to this variable, as a training step does, so that nothing
// computed from its value alone is worth keeping.
bool IsUpdated(const GraphIndex& index, int variable, int output) {
  const auto uses = index.uses(variable);
  return std::any_of(uses.begin(), uses.end(), [&](const GraphIndex::Use& use) {
    return use.output == output && (graph_def::MayAssign(index, use.node) ||
                                    index.facts(use.node).Is(OpFacts::kUpdatesVariable));
  });
}

// Builds the closed graph around copies of nodes.
class Closer {
 public:
  explicit Closer(const GraphIndex& index) : index_(index) {
    out_.graph.producer = index.graph().producer;
    out_.graph.min_consumer = index.graph().min_consumer;
    for (const NodeDef& node : index.graph().nodes) names_.insert(node.name);
  }

  // Makes output `output` of `node` an argument.
  absl::Status AddArg(int node, int output) {
    const NodeDef& producer = index_.node(node);
    const DataType type = graph_def::OutputType(producer, output);
    if (type == DataType::kInvalid) return UnknownType(producer, output);
    NodeDef arg = Boundary("_Arg", type, static_cast<int>(out_.inputs.size()));
    // Known shapes help the importer and people who read the graph.
    for (absl::string_view attr : {"shape", "_output_shapes", "_handle_shapes", "_handle_dtypes"}) {
      const AttrValue* value = producer.attrs.Find(attr);
      if (value != nullptr && output == 0) {
        arg.attrs.Set(attr == "shape" ? "_output_shapes" : attr, AsShapes(*value));
      }
    }
    if (producer.op == "VarHandleOp") DescribeVariable(producer, &arg);
    if (type == DataType::kResource && IsUpdated(index_, node, output)) {
      arg.attrs.Set("_tektite_updated", AttrValue::Of(true));
    }
    args_[{node, output}] = arg.name;
    out_.inputs.push_back(TensorName(producer, output));
    arguments_.push_back(std::move(arg));
    return absl::OkStatus();
  }

  bool HasArg(int node, int output) const { return args_.count({node, output}) > 0; }

  // `waits`: the copied nodes that it comes after, whatever data it takes.
  void AddNode(int node, const std::set<int>& waits) {
    NodeDef copy = index_.node(node);
    copy.inputs.clear();
    for (const GraphIndex::Edge& in : index_.inputs(node)) {
      if (!in.is_control()) copy.inputs.push_back(Reference(in.node, in.output));
    }
    for (int wait : waits) copy.inputs.push_back(Reference(wait, NodeInput::kControl));
    body_.push_back(std::move(copy));
  }

  absl::Status AddRetval(int node, int output) {
    const NodeDef& producer = index_.node(node);
    const DataType type = graph_def::OutputType(producer, output);
    if (type == DataType::kInvalid) return UnknownType(producer, output);
    NodeDef retval = Boundary("_Retval", type, static_cast<int>(out_.outputs.size()));
    retval.inputs.push_back(Reference(node, output));
    out_.outputs.push_back(TensorName(producer, output));
    results_.push_back(std::move(retval));
    return absl::OkStatus();
  }

  ClosedGraph Finish() {
    for (auto* part : {&arguments_, &body_, &results_}) {
      std::move(part->begin(), part->end(), std::back_inserter(out_.graph.nodes));
    }
    return std::move(out_);
  }

 private:
  static absl::Status UnknownType(const NodeDef& node, int output) {
    return absl::UnimplementedError(absl::StrCat("the element type of '", TensorName(node, output),
                                                 "' (", node.op, ") is not known"));
  }

  // Its shape and type are those of its value.
  static void DescribeVariable(const NodeDef& variable, NodeDef* arg) {
    arg->attrs.Erase("_output_shapes");
    const AttrValue* shape = variable.attrs.Find("shape");
    if (shape != nullptr) arg->attrs.Set("_handle_shapes", AsShapes(*shape));
    arg->attrs.Set("_handle_dtypes", AttrValue::Of<graph_def::AttrList>(
                                         std::vector<DataType>{variable.attrs.Type("dtype")}));
  }

  // A single shape as the list that _output_shapes is; lists as they are.
  static AttrValue AsShapes(const AttrValue& value) {
    const auto* shape = value.As<graph_def::PartialShape>();
    if (shape == nullptr) return value;
    return AttrValue::Of<graph_def::AttrList>(std::vector<graph_def::PartialShape>{*shape});
  }

  NodeInput Reference(int node, int output) const {
    auto it = args_.find({node, output});
    if (it != args_.end()) return {it->second, 0, ""};
    return {index_.node(node).name, output, ""};
  }

  NodeDef Boundary(absl::string_view op, DataType type, int number) {
    NodeDef node;
    node.op = std::string(op);
    const std::string base = absl::StrCat(op == "_Arg" ? "arg_" : "retval_", number);
    node.name = base;
    for (int i = 0; !names_.insert(node.name).second; ++i) node.name = absl::StrCat(base, "_", i);
    node.attrs.Set("T", AttrValue::Of(type));
    node.attrs.Set("index", AttrValue::Of<int64_t>(number));
    return node;
  }

  const GraphIndex& index_;
  ClosedGraph out_;
  absl::flat_hash_set<std::string> names_;
  std::map<std::pair<int, int>, std::string> args_;
  std::vector<NodeDef> arguments_, body_, results_;
};

bool IsPlaceholder(const GraphIndex& index, int node) {
  return index.facts(node).Is(OpFacts::kPlaceholder) || index.node(node).op == "_Arg";
}

bool HasResults(const GraphIndex& index, int node) {
  const OpFacts& facts = index.facts(node);
  return facts.kind != OpFacts::Kind::kOrdering && !facts.Is(OpFacts::kNoResults);
}

// Nodes that nothing takes a result from, and that have one.
std::vector<GraphIndex::Edge> Sinks(const GraphIndex& index) {
  std::vector<GraphIndex::Edge> sinks;
  for (int node = 0; node < index.num_nodes(); ++node) {
    const auto uses = index.uses(node);
    const bool used = std::any_of(uses.begin(), uses.end(), [](const GraphIndex::Use& use) {
      return use.output != NodeInput::kControl;
    });
    const NodeDef& def = index.node(node);
    if (used || def.op == "Const" || !HasResults(index, node) || IsPlaceholder(index, node)) {
      continue;
    }
    if (graph_def::OutputType(def, 0) != DataType::kInvalid) sinks.push_back({node, 0});
  }
  return sinks;
}

// The members that `node` waits for by control edges. Constants outside pass a wait on: marking
// lets no other node lie between two members, and each cluster has copies of those it reads.
std::set<int> Waits(const GraphIndex& index, int node, const std::set<int>& members) {
  std::set<int> waits, seen;
  std::vector<int> readers = {node};
  while (!readers.empty()) {
    const int reader = readers.back();
    readers.pop_back();
    for (const GraphIndex::Edge& in : index.inputs(reader)) {
      if (!in.is_control() || !seen.insert(in.node).second) continue;
      if (members.count(in.node) > 0) {
        waits.insert(in.node);
      } else if (index.node(in.node).op == "Const") {
        readers.push_back(in.node);
      }
    }
  }
  return waits;
}

}  // namespace

absl::StatusOr<ClosedGraph> ExtractCluster(const GraphIndex& index, absl::Span<const int> nodes) {
  const std::set<int> members(nodes.begin(), nodes.end());
  Closer closer(index);
  for (int node : nodes) {
    for (const GraphIndex::Edge& in : index.inputs(node)) {
      if (in.is_control() || members.count(in.node) > 0 || closer.HasArg(in.node, in.output)) {
        continue;
      }
      absl::Status status = closer.AddArg(in.node, in.output);
      if (!status.ok()) return status;
    }
  }
  for (int node : nodes) closer.AddNode(node, Waits(index, node, members));
  for (int node : nodes) {
    const NodeDef& def = index.node(node);
    if (!HasResults(index, node) || def.op == "Const") continue;  // other clusters copy a Const
    std::set<int> outputs;
    for (const GraphIndex::Use& use : index.uses(node)) {
      if (use.output != NodeInput::kControl && members.count(use.node) == 0) {
        outputs.insert(use.output);
      }
    }
    if (index.uses(node).empty()) outputs.insert(0);
    for (int output : outputs) {
      absl::Status status = closer.AddRetval(node, output);
      if (!status.ok()) return status;
    }
  }
  ClosedGraph closed = closer.Finish();
  closed.graph.functions = graph_def::ReachableFunctions(closed.graph.nodes, index.graph());
  return closed;
}

absl::StatusOr<ClosedGraph> CloseGraph(const GraphDef& graph,
                                       const std::vector<std::string>& outputs) {
  absl::StatusOr<GraphIndex> index = GraphIndex::Create(graph);
  if (!index.ok()) return index.status();
  std::vector<GraphIndex::Edge> results;
  for (const std::string& output : outputs) {
    const NodeInput tensor = NodeInput::Parse(output);
    const int node = index->Find(tensor.node);
    if (node < 0 || tensor.is_control()) {
      return absl::NotFoundError(absl::StrCat("the graph has no tensor '", output, "'"));
    }
    results.push_back({node, tensor.index});
  }
  if (outputs.empty()) results = Sinks(*index);
  if (results.empty()) return absl::InvalidArgumentError("the graph has no outputs");
  // The graph of a signature (load_model.h) has ends already, and variables among its arguments.
  for (GraphIndex::Edge& result : results) {
    if (index->node(result.node).op == "_Retval") result = index->inputs(result.node)[0];
  }

  std::vector<bool> needed(index->num_nodes(), false);
  std::vector<int> work;
  for (const GraphIndex::Edge& result : results) work.push_back(result.node);
  while (!work.empty()) {
    const int node = work.back();
    work.pop_back();
    if (needed[node]) continue;
    needed[node] = true;
    if (IsPlaceholder(*index, node)) continue;
    for (const GraphIndex::Edge& in : index->inputs(node)) {
      if (!in.is_control()) work.push_back(in.node);
    }
  }
  Closer closer(*index);
  // In the order of the file: that is the order in which the caller knows them.
  for (int node = 0; node < index->num_nodes(); ++node) {
    if (!needed[node] || !IsPlaceholder(*index, node)) continue;
    absl::Status status = closer.AddArg(node, 0);
    if (!status.ok()) return status;
  }
  for (int node : index->order()) {
    if (needed[node] && !IsPlaceholder(*index, node)) closer.AddNode(node, {});
  }
  for (const GraphIndex::Edge& result : results) {
    absl::Status status = closer.AddRetval(result.node, result.output);
    if (!status.ok()) return status;
  }
  ClosedGraph closed = closer.Finish();
  closed.graph.functions = graph.functions;
  return closed;
}

std::string SignatureText(const ClosedGraph& closed) {
  std::vector<std::string> inputs = closed.inputs;
  for (const NodeDef& node : closed.graph.nodes) {
    const int64_t index = node.op == "_Arg" ? node.attrs.Int("index", -1) : -1;
    if (index < 0 || index >= static_cast<int64_t>(inputs.size())) continue;
    const graph_def::KnownType known = graph_def::ArgType(node);
    const auto dtype = graph_def::DTypeOf(known.type);
    if (!dtype || known.shape == nullptr || known.shape->unknown_rank) continue;
    absl::StrAppend(&inputs[index], "=", ir::DTypeName(*dtype), known.shape->ToString());
  }
  return absl::StrCat(absl::StrJoin(inputs, ";"), "->", absl::StrJoin(closed.outputs, ";"));
}

}  // namespace tektite::clustering
