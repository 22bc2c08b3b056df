#include "clustering/importer/control/list_lengths.h"

#include <algorithm>
#include <utility>

namespace tektite::importer {
namespace {

using clustering::OpFacts;
using graph_def::FunctionRef;
using graph_def::GraphIndex;
using graph_def::NodeDef;

constexpr int kMostDepth = 16;  // functions in functions, and nodes of one list in a row

// Where a value comes from when nodes that only pass it on are taken away.
GraphIndex::Edge Origin(const GraphIndex& index, GraphIndex::Edge edge) {
  while (index.node(edge.node).NumDataInputs() == 1 &&
         index.facts(edge.node).Is(OpFacts::kKeepsRows)) {
    edge = index.inputs(edge.node)[0];
  }
  return edge;
}

// The argument that a value is; -1: it is none.
int ArgumentOf(const GraphIndex& index, const GraphIndex::Edge& edge) {
  const NodeDef& node = index.node(Origin(index, edge).node);
  return node.op == "_Arg" ? static_cast<int>(node.attrs.Int("index", -1)) : -1;
}

// The value that a function returns; a node of -1: none.
GraphIndex::Edge ResultOf(const GraphIndex& body, int result) {
  for (int i = 0; i < body.num_nodes(); ++i) {
    if (body.node(i).op == "_Retval" && body.node(i).attrs.Int("index", -1) == result) {
      return Origin(body, body.inputs(i)[0]);
    }
  }
  return {};
}

bool HandsOn(const GraphIndex& body, int arg) {
  const GraphIndex::Edge result = ResultOf(body, arg);
  return result.node >= 0 && ArgumentOf(body, result) == arg;
}

// Whether each turn adds a constant, or what no turn changes, to the argument.
bool Counts(const GraphIndex& body, int arg) {
  const GraphIndex::Edge result = ResultOf(body, arg);
  if (result.node < 0) return false;
  const std::string& op = body.node(result.node).op;
  const auto inputs = body.inputs(result.node);
  if ((op != "AddV2" && op != "Add" && op != "Sub") || inputs.size() < 2) return false;
  const auto is_constant = [&](int i) {
    const int other = ArgumentOf(body, inputs[i]);
    return other < 0 ? body.node(inputs[i].node).op == "Const" : HandsOn(body, other);
  };
  return (ArgumentOf(body, inputs[0]) == arg && is_constant(1)) ||
         (op != "Sub" && ArgumentOf(body, inputs[1]) == arg && is_constant(0));
}

// The argument that a list was before it was written to; -1: it was none.
int Root(const GraphIndex& index, GraphIndex::Edge list) {
  for (int nodes = 0; nodes < index.num_nodes(); ++nodes) {
    list = Origin(index, list);
    const OpFacts& facts = index.facts(list.node);
    if (!facts.Is(OpFacts::kTakesList) || !facts.Is(OpFacts::kReturnsList)) break;
    list = index.inputs(list.node)[0];
  }
  return ArgumentOf(index, list);
}

bool Compares(const std::string& op) {
  return op == "Less" || op == "LessEqual" || op == "Greater" || op == "GreaterEqual";
}

bool StacksList(const std::string& op) {
  return op == "TensorListStack" || op == "TensorListConcatV2";
}

}  // namespace

const GraphIndex* ListLengths::Get(const FunctionRef& function) {
  std::unique_ptr<GraphIndex>& kept = indices_[function.name];
  if (kept == nullptr) {
    const absl::StatusOr<const graph_def::GraphDef*> graph = graphs_.Get(function);
    if (!graph.ok()) return nullptr;
    absl::StatusOr<GraphIndex> index = GraphIndex::Create(**graph);
    if (!index.ok()) return nullptr;
    kept = std::make_unique<GraphIndex>(*std::move(index));
  }
  return kept.get();
}

const GraphIndex* ListLengths::Get(const NodeDef& node, absl::string_view attr) {
  const graph_def::AttrValue* value = node.attrs.Find(attr);
  const auto* function = value == nullptr ? nullptr : value->As<FunctionRef>();
  return function == nullptr ? nullptr : Get(*function);
}

bool ListLengths::Bounds(const NodeDef& loop, std::vector<int>* bounds) {
  const GraphIndex *condition = Get(loop, "cond"), *body = Get(loop, "body");
  if (condition == nullptr || body == nullptr) return false;
  const GraphIndex::Edge result = ResultOf(*condition, 0);
  if (result.node < 0) return false;
  bool is_exact = true;
  std::vector<int> left = {result.node};
  std::vector<bool> seen(condition->num_nodes(), false);
  while (!left.empty()) {
    const int node = left.back();
    left.pop_back();
    if (seen[node]) continue;
    seen[node] = true;
    const auto inputs = condition->inputs(node);
    const std::string& op = condition->node(node).op;
    if (op == "LogicalAnd" && inputs.size() >= 2) {
      left.push_back(Origin(*condition, inputs[0]).node);
      left.push_back(Origin(*condition, inputs[1]).node);
      continue;
    }
    if (condition->facts(node).Is(OpFacts::kRunsFunctions) && !inputs.empty()) {
      left.push_back(Origin(*condition, inputs[0]).node);  // a choice, as a break makes it
      is_exact = false;
      continue;
    }
    bool is_known = false;
    for (const int counter : {0, 1}) {
      if (!Compares(op) || inputs.size() < 2 || is_known) continue;
      const int arg = ArgumentOf(*condition, inputs[counter]);
      if (arg < 0 || !Counts(*body, arg)) continue;
      const int bound = ArgumentOf(*condition, inputs[1 - counter]);
      is_known = bound < 0 || HandsOn(*body, bound);
      if (!is_known) continue;
      bounds->push_back(arg);
      if (bound >= 0) bounds->push_back(bound);
    }
    is_exact = is_exact && is_known;
  }
  return is_exact;
}

ListLengths::Length ListLengths::OfResult(const GraphIndex& body, int result, Place inside) {
  const Edge list = ResultOf(body, result);
  return list.node < 0 ? Length::kFixed : Of(body, list, inside);
}

ListLengths::Length ListLengths::OfLoop(const GraphIndex& index, Edge list, Place place) {
  const NodeDef& loop = index.node(list.node);
  if (list.output >= loop.NumDataInputs()) return Length::kFixed;
  const Length before = Of(index, index.inputs(list.node)[list.output], place.Deeper());
  const GraphIndex* body = Get(loop, "body");
  if (body == nullptr || before == Length::kValue) return before;
  const Length turn = OfResult(*body, list.output, place.Inside());
  if (turn == Length::kFixed) return before;
  std::vector<int> bounds;
  return turn == Length::kGrows && Bounds(loop, &bounds) ? before : Length::kValue;
}

ListLengths::Length ListLengths::OfBranches(const GraphIndex& index, Edge list, Place place) {
  for (const FunctionRef& function : graph_def::FunctionsOf(index.node(list.node))) {
    const GraphIndex* branch = Get(function);
    if (branch != nullptr && OfResult(*branch, list.output, place.Inside()) != Length::kFixed)
      return Length::kValue;
  }
  return Length::kFixed;
}

ListLengths::Length ListLengths::Of(const GraphIndex& index, Edge list, Place place) {
  if (place.depth > kMostDepth) return Length::kFixed;
  list = Origin(index, list);
  const NodeDef& def = index.node(list.node);
  const OpFacts& facts = index.facts(list.node);
  if (facts.Is(OpFacts::kRunsFunctions)) {
    const bool is_loop = def.attrs.Find("body") != nullptr;
    return is_loop ? OfLoop(index, list, place) : OfBranches(index, list, place);
  }
  if (!facts.Is(OpFacts::kTakesList) || !facts.Is(OpFacts::kReturnsList)) return Length::kFixed;
  const auto inputs = index.inputs(list.node);
  if (inputs.empty()) return Length::kFixed;
  const Length before = Of(index, inputs[0], place.Deeper());
  bool changes = place.in_body;
  if (def.op == "TensorListSetItem") {
    changes &= def.attrs.Bool("resize_if_index_out_of_bounds", false) && inputs.size() > 1 &&
               index.node(inputs[1].node).op != "Const";
  } else {
    changes &= Root(index, list) >= 0;  // what is pushed to a list of the turn's own is counted
  }
  return changes ? std::max(before, Length::kGrows) : before;
}

bool ListLengths::MakesRows(const GraphIndex& index, int node, bool in_body) {
  if (!StacksList(index.node(node).op) || index.inputs(node).empty()) return false;
  const Edge list = Origin(index, index.inputs(node)[0]);
  if (Of(index, list, {in_body}) != Length::kFixed) return true;
  const int arg = in_body ? ArgumentOf(index, list) : -1;
  return arg >= 0 && OfResult(index, arg, {true}) != Length::kFixed;
}

bool ListLengths::GrowsWithoutBound(const GraphIndex& index, int loop) {
  const NodeDef& node = index.node(loop);
  const GraphIndex* body = Get(node, "body");
  if (body == nullptr) return false;
  bool grows = false;
  for (int i = 0; i < body->num_nodes() && !grows; ++i) {
    const NodeDef& write = body->node(i);
    const auto inputs = body->inputs(i);
    grows = write.op == "TensorListSetItem" && inputs.size() > 1 &&
            write.attrs.Bool("resize_if_index_out_of_bounds", false) &&
            body->node(inputs[1].node).op != "Const" && Root(*body, inputs[0]) >= 0;
  }
  std::vector<int> bounds;
  if (grows) Bounds(node, &bounds);
  return grows && bounds.empty();
}

std::vector<int> ListLengths::BoundsOfGrowth(const GraphIndex& index, int loop) {
  const NodeDef& node = index.node(loop);
  const GraphIndex* body = Get(node, "body");
  if (body == nullptr) return {};
  bool grows = false;
  for (int i = 0; i < node.NumDataInputs() && !grows; ++i) {
    grows = OfResult(*body, i, {true}) != Length::kFixed;
  }
  std::vector<int> bounds;
  if (grows) Bounds(node, &bounds);
  return bounds;
}

}  // namespace tektite::importer
