#include <algorithm>
#include <set>
#include <utility>

#include "clustering/graph_def/positions.h"
#include "clustering/importer/contents/contents.h"
#include "clustering/importer/control/list_lengths.h"
#include "clustering/importer/importer.h"
#include "clustering/importer/live_nodes.h"

namespace tektite::importer {
namespace {

using graph_def::GraphIndex;
using graph_def::NodeDef;

// Walks from the inputs whose values are needed back to the arguments, through the ops that
// FoldContents understands and those that hand a value on.
class ValueWalk {
 public:
  explicit ValueWalk(const GraphIndex& index) : index_(index), needed_(index.num_nodes(), false) {}

  void Need(const GraphIndex::Edge& edge) {
    if (edge.is_control() || needed_[edge.node]) return;
    needed_[edge.node] = true;
    pending_.push_back(edge.node);
  }

  std::vector<int> Finish() {
    while (!pending_.empty()) {
      int number = pending_.back();
      pending_.pop_back();
      const NodeDef& node = index_.node(number);
      if (node.op == "_Arg") AddArg(node);
      if (!ContentsComeFromContents(node.op)) continue;
      for (const GraphIndex::Edge& edge : index_.inputs(number)) Need(edge);
    }
    return std::vector<int>(args_.begin(), args_.end());
  }

 private:
  void AddArg(const NodeDef& arg) {
    if (arg.attrs.Type("T") == graph_def::DataType::kResource) return;
    args_.insert(static_cast<int>(arg.attrs.Int("index", 0)));
  }

  const GraphIndex& index_;
  std::vector<bool> needed_;
  std::vector<int> pending_;
  std::set<int> args_;
};

bool IsIntegerScalar(const NodeDef& arg) {
  const graph_def::DataType type = arg.attrs.Type("T");
  if (type != graph_def::DataType::kInt32 && type != graph_def::DataType::kInt64) return false;
  const graph_def::AttrValue* value = arg.attrs.Find("_output_shapes");
  const auto* shapes = value == nullptr ? nullptr : value->AsListOf<graph_def::PartialShape>();
  return shapes != nullptr && shapes->size() == 1 && !shapes->front().unknown_rank &&
         shapes->front().dims.empty();
}

// The arguments that decide how often a loop turns in which a list grows, which needs room.  Only
// scalars: code for each content of a larger tensor would be too much.
std::vector<int> BoundsOfGrowth(const GraphIndex& index, int loop, ListLengths* lengths) {
  ValueWalk walk(index);
  for (const int input : lengths->BoundsOfGrowth(index, loop)) {
    walk.Need(index.inputs(loop)[input]);
  }
  std::vector<int> bounds = walk.Finish();
  for (int i = 0; i < index.num_nodes(); ++i) {
    const NodeDef& node = index.node(i);
    if (node.op != "_Arg" || IsIntegerScalar(node)) continue;
    const int arg = static_cast<int>(node.attrs.Int("index", 0));
    if (std::binary_search(bounds.begin(), bounds.end(), arg)) return {};
  }
  return bounds;
}

// By node, whether its results are known whatever the arguments are.
std::vector<bool> KnownWithoutArgs(const GraphIndex& index) {
  std::vector<bool> known(index.num_nodes(), false);
  for (int number : index.order()) {
    const NodeDef& node = index.node(number);
    const clustering::OpFacts& facts = index.facts(number);
    known[number] = node.op == "Const" || facts.Is(clustering::OpFacts::kMeasures);
    if (known[number] ||
        (!ContentsComeFromContents(node.op) && !facts.Is(clustering::OpFacts::kComputesContents))) {
      continue;
    }
    const auto inputs = index.inputs(number);
    known[number] = std::all_of(inputs.begin(), inputs.end(), [&](const GraphIndex::Edge& in) {
      return in.is_control() || known[in.node];
    });
  }
  return known;
}

}  // namespace

std::vector<int> CompileTimeArgs(const graph_def::GraphDef& graph) {
  absl::StatusOr<GraphIndex> index = GraphIndex::Create(graph);
  if (!index.ok()) return {};
  ValueWalk walk(*index);
  ListLengths lengths(graph);
  std::set<int> bounds;
  const std::vector<bool> known = KnownWithoutArgs(*index);
  const graph_def::Positions positions(
      *index, [&](int from, int) { return known[from]; }, [](int, int) { return true; });
  for (int number : LiveNodes(*index)) {
    const NodeDef& node = index->node(number);
    if (node.attrs.Find("body") != nullptr) {
      const std::vector<int> more = BoundsOfGrowth(*index, number, &lengths);
      bounds.insert(more.begin(), more.end());
    }
    const int data_inputs = node.NumDataInputs();
    for (int i = 0; i < data_inputs; ++i) {
      const clustering::OpFacts& facts = index->facts(number);
      if (!facts.NeedsValue(i, data_inputs)) continue;
      const GraphIndex::Edge& edge = index->inputs(number)[i];
      const bool may_be_data = facts.Is(clustering::OpFacts::kTakesPositions) &&
                               !edge.is_control() && !known[edge.node] &&
                               positions.MayBeData(number, i);
      if (!may_be_data) walk.Need(edge);
    }
  }
  for (const int arg : walk.Finish()) bounds.insert(arg);
  return std::vector<int>(bounds.begin(), bounds.end());
}

}  // namespace tektite::importer
