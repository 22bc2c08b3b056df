#include "clustering/restore_add_n.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "clustering/graph_def/graph_index.h"
#include "clustering/graph_def/tensor.h"
#include "jit/base/status.h"

namespace tektite::clustering {
namespace {

using graph_def::AttrValue;
using graph_def::DataType;
using graph_def::GraphDef;
using graph_def::GraphIndex;
using graph_def::NodeDef;
using graph_def::NodeInput;
using graph_def::TensorProto;

bool IsDestroy(const NodeDef& node) { return node.op == "DestroyTemporaryVariable"; }

struct Chain {
  int destroy = -1;
  std::vector<int> accumulates;  // in the order of the sum
  std::vector<int> removed;
};

class ChainFinder {
 public:
  explicit ChainFinder(const GraphIndex& index) : index_(index) {}

  // Whether `destroy` ends a chain of the form above.
  bool Find(int destroy, Chain* chain) const {
    const int assign = Operand(destroy, 0, "Assign");
    if (assign < 0) return false;
    const int variable = Operand(assign, 0, "TemporaryVariable");
    if (variable < 0 || !SameVariable(variable, assign, destroy)) return false;
    const int zero = index_.inputs(assign)[1].node;
    if (!IsZero(zero)) return false;

    chain->destroy = destroy;
    for (const GraphIndex::Use& use : index_.uses(assign)) {
      if (use.node == destroy && use.input == 0) continue;
      if (!IsAccumulate(use, assign, destroy)) return false;
      chain->accumulates.push_back(use.node);
    }
    if (chain->accumulates.empty()) return false;
    // Grappler numbers them: ..._accum_2 comes before ..._accum_10.
    std::sort(chain->accumulates.begin(), chain->accumulates.end(), [&](int a, int b) {
      const std::string &x = index_.node(a).name, &y = index_.node(b).name;
      return std::make_pair(x.size(), x) < std::make_pair(y.size(), y);
    });
    chain->removed = chain->accumulates;
    chain->removed.push_back(assign);
    chain->removed.push_back(variable);
    if (index_.uses(zero).size() == 1) chain->removed.push_back(zero);
    return true;
  }

 private:
  // The node of kind `op` whose result is data input `i`; -1 when it is another, or none.
  int Operand(int node, int i, absl::string_view op) const {
    if (index_.node(node).NumDataInputs() <= i) return -1;
    const GraphIndex::Edge in = index_.inputs(node)[i];
    return index_.node(in.node).op == op ? in.node : -1;
  }

  // Each has two data inputs where it should, all speak of one variable that nothing else reads.
  bool SameVariable(int variable, int assign, int destroy) const {
    const NodeDef& v = index_.node(variable);
    const NodeDef& d = index_.node(destroy);
    const absl::string_view name = d.attrs.String("var_name");
    const DataType type = d.attrs.Type("T");
    return !name.empty() && v.attrs.String("var_name") == name && type != DataType::kInvalid &&
           v.attrs.Type("dtype") == type && index_.node(assign).attrs.Type("T") == type &&
           d.NumDataInputs() == 1 && index_.node(assign).NumDataInputs() == 2 &&
           index_.uses(variable).size() == 1;
  }

  bool IsZero(int node) const {
    const NodeDef& def = index_.node(node);
    if (def.op != "Const") return false;
    const AttrValue* attr = def.attrs.Find("value");
    const TensorProto* proto = attr == nullptr ? nullptr : attr->As<TensorProto>();
    if (proto == nullptr) return false;
    const absl::StatusOr<graph_def::TensorValue> value = graph_def::MaterializeTensor(*proto);
    if (!value.ok() || !value->strings.empty()) return false;
    const absl::string_view bytes = value->bytes.view();
    return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0; });
  }

  // Adds to the value of `assign`, and ends before `destroy` reads; no other node reads it.
  bool IsAccumulate(const GraphIndex::Use& use, int assign, int destroy) const {
    const NodeDef& node = index_.node(use.node);
    if (node.op != "AssignAdd" || use.input != 0 || node.NumDataInputs() != 2 ||
        node.attrs.Type("T") != index_.node(assign).attrs.Type("T")) {
      return false;
    }
    const auto uses = index_.uses(use.node);
    return uses.size() == 1 && uses[0].node == destroy && uses[0].output == NodeInput::kControl;
  }

  const GraphIndex& index_;
};

// The sum waits for the control inputs of its chain.
void AddControlInputs(const NodeDef& from, const std::vector<bool>& removed,
                      const GraphIndex& index, NodeDef* to) {
  for (const NodeInput& in : from.inputs) {
    if (!in.is_control() || removed[index.Find(in.node)]) continue;
    if (std::find(to->inputs.begin(), to->inputs.end(), in) == to->inputs.end()) {
      to->inputs.push_back(in);
    }
  }
}

NodeDef Sum(const Chain& chain, const std::vector<bool>& removed, const GraphIndex& index) {
  NodeDef sum = index.node(chain.destroy);
  sum.op = "AddN";
  sum.attrs.Erase("var_name");
  sum.attrs.Set("N", AttrValue::Of(static_cast<int64_t>(chain.accumulates.size())));
  sum.inputs.clear();
  for (int node : chain.accumulates) sum.inputs.push_back(index.node(node).inputs[1]);
  AddControlInputs(index.node(chain.destroy), removed, index, &sum);
  for (int node : chain.removed) AddControlInputs(index.node(node), removed, index, &sum);
  return sum;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> RestoreAddN(GraphDef* graph) {
  // Nearly all graphs have none: no need to index them for that.
  std::vector<std::string> names;
  if (std::none_of(graph->nodes.begin(), graph->nodes.end(), IsDestroy)) return names;
  TEKTITE_ASSIGN_OR_RETURN(const GraphIndex index, GraphIndex::Create(*graph));
  std::vector<Chain> chains;
  std::vector<bool> removed(graph->nodes.size(), false);
  for (int i = 0; i < index.num_nodes(); ++i) {
    Chain chain;
    if (!IsDestroy(index.node(i)) || !ChainFinder(index).Find(i, &chain)) continue;
    for (int node : chain.removed) removed[node] = true;
    chains.push_back(std::move(chain));
  }
  std::vector<NodeDef> sums;
  for (const Chain& chain : chains) sums.push_back(Sum(chain, removed, index));

  // The index points into the graph's names: from here on it is not asked any more.
  for (size_t i = 0; i < chains.size(); ++i) {
    names.push_back(sums[i].name);
    graph->nodes[chains[i].destroy] = std::move(sums[i]);
  }
  size_t kept = 0;
  for (size_t i = 0; i < removed.size(); ++i) {
    if (removed[i]) continue;
    if (kept != i) graph->nodes[kept] = std::move(graph->nodes[i]);
    ++kept;
  }
  graph->nodes.resize(kept);
  return names;
}

}  // namespace tektite::clustering
