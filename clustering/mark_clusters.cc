#include "clustering/mark_clusters.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "clustering/cluster_names.h"
#include "clustering/compile_time.h"
#include "clustering/cost.h"
#include "clustering/deadness.h"
#include "clustering/function_bodies.h"
#include "clustering/graph_def/output_type.h"
#include "clustering/importer/control/list_lengths.h"
#include "clustering/importer/movement/row_counts.h"
#include "clustering/whole_graph.h"

namespace tektite::clustering {
namespace {

using graph_def::GraphIndex;
using graph_def::NodeDef;

constexpr int kLatest = std::numeric_limits<int>::max() / 2;
// What a direct call spares in scalar operations: 40 us, the least of it.
constexpr int64_t kDirectCallSpares = 40000;
constexpr int kNotCompiled = 0;  // the kind of all nodes that cannot be compiled

bool IsAnnotated(const NodeDef& node) { return node.attrs.Bool("_XlaCompile", false); }

class Marker {
 public:
  Marker(const GraphIndex& index, const MarkOptions& options)
      : index_(index), options_(options), n_(index.num_nodes()) {}

  Marking Run() {
    FindCandidates();
    FindCuts();
    FindKinds();
    // Leaving a node out can split a cluster and with it shape arithmetic: look again.
    do {
      Level();
      Connect();
    } while (LeaveOutUnknownValues([this](int a, int b) { return part_[a] == part_[b]; }) ||
             LeaveOutLeavingLists());
    DropCheapOutputs();
    return Collect();
  }

 private:
  bool IsCandidate(int node) const { return out_.reason[node] == Reason::kNone; }
  // Constants that can be compiled are no part of the order: each cluster gets its own copy.
  bool IsFreeConst(int node) const { return free_const_[node]; }
  bool IsMember(int node) const { return IsCandidate(node) && !IsFreeConst(node); }

  void LeaveOut(int node, Reason reason, std::string detail) {
    out_.reason[node] = reason;
    out_.detail[node] = std::move(detail);
  }

  void FindCandidates() {
    out_.cluster_of.assign(n_, -1);
    out_.reason.assign(n_, Reason::kNone);
    out_.detail.assign(n_, "");
    free_const_.assign(n_, false);
    for (int i = 0; i < n_; ++i) {
      Refusal refusal = Compilability(index_, i, options_);
      LeaveOut(i, refusal.reason, std::move(refusal.detail));
      free_const_[i] = refusal.reason == Reason::kNone && index_.node(i).op == "Const";
    }
    // Leaves out ops whose values are unknown even if all candidates were one cluster. One node
    // less may be one value less.
    while (LeaveOutUnknownValues([](int, int) { return true; })) {
    }
    LeaveOutBodies();
    FindPredecessors();
  }

  // Loops, branches and calls whose functions cannot be compiled.
  void LeaveOutBodies() {
    const auto is_open = [&](int node) {
      return IsCandidate(node) && index_.facts(node).Is(OpFacts::kRunsFunctions);
    };
    std::vector<int> open;
    for (int i = 0; i < n_; ++i) {
      if (is_open(i)) open.push_back(i);
    }
    if (open.empty()) return;
    const CompileTime values(index_,
                             [&](int from, int to) { return IsMember(from) && IsCandidate(to); });
    FunctionBodies bodies(index_, options_);
    for (int node : open) {
      Refusal refusal = bodies.Check(
          node, [&](int input) { return values.Knows(index_.inputs(node)[input].node); });
      LeaveOut(node, refusal.reason, std::move(refusal.detail));
    }
  }

  // Leaves out members that take or make a list of tensors, or a variable out of a loop, across the
  // border of their part; whether there were any. The host has another form of these.
  bool LeaveOutLeavingLists() {
    if (!options_.keep_loops && !options_.take_over_xla) return false;
    std::vector<int> out;
    for (int node = 0; node < n_; ++node) {
      for (const GraphIndex::Edge& in : index_.inputs(node)) {
        if (in.is_control() || (!IsMember(node) && !IsMember(in.node))) continue;
        if (part_[node] == part_[in.node] && IsMember(node) && IsMember(in.node)) continue;
        if (IsOfArray(in, node, static_cast<int>(&in - index_.inputs(node).data()))) {
          if (IsMember(node)) out.push_back(node);
          if (IsMember(in.node)) out.push_back(in.node);
          continue;
        }
        const graph_def::DataType type = graph_def::OutputType(index_.node(in.node), in.output);
        const bool is_list = type == graph_def::DataType::kVariant;
        if (IsMember(node) && is_list) out.push_back(node);
        if (IsMember(in.node) && (is_list || type == graph_def::DataType::kResource)) {
          out.push_back(in.node);
        }
      }
    }
    for (int node : out) LeaveOut(node, Reason::kLIST_LEAVES, "");
    return !out.empty();
  }

  // Whether input `i` of the node is the handle or the flow of an array.
  bool IsOfArray(const GraphIndex::Edge& in, int node, int i) const {
    const OpFacts &from = index_.facts(in.node), &to = index_.facts(node);
    if (from.Is(OpFacts::kReturnsArray) || from.Is(OpFacts::kWritesArray)) return true;
    return to.Is(OpFacts::kTakesArray) && (i == 0 || i == index_.node(node).NumDataInputs() - 1);
  }

  // Leaves out candidates that need a value that is not known; whether there were any.
  // `same_cluster` is asked about candidates only.
  template <typename SameCluster>
  bool LeaveOutUnknownValues(SameCluster&& same_cluster) {
    CompileTime values(index_, [&](int from, int to) {
      return IsMember(from) && IsCandidate(to) && same_cluster(from, to);
    });
    bool any = false;
    for (int i = 0; i < n_; ++i) {
      if (!IsMember(i)) continue;
      const int input = values.UnknownInput(i);
      if (input < 0) continue;
      LeaveOut(i, Reason::kNOT_COMPILE_TIME,
               absl::StrCat("input ", input, " from '",
                            index_.node(index_.inputs(i)[input].node).name, "'"));
      any = true;
    }
    return any;
  }

  // Edges of the order: the graph's without back edges, with free constants taken out (what a
  // constant waits for, its users wait for), and from where a loop is entered to where it is left,
  // a way that may only be there through back edges.
  void FindPredecessors() {
    predecessors_.assign(n_, {});
    successors_.assign(n_, {});
    for (int node : index_.order()) {
      std::vector<int>& predecessors = predecessors_[node];
      for (const GraphIndex::Edge& in : index_.inputs(node)) {
        if (index_.IsBackEdge(in.node, node)) continue;
        if (IsFreeConst(in.node)) {
          predecessors.insert(predecessors.end(), predecessors_[in.node].begin(),
                              predecessors_[in.node].end());
        } else {
          predecessors.push_back(in.node);
        }
      }
      const absl::Span<const int> entries = index_.Entries(node);
      predecessors.insert(predecessors.end(), entries.begin(), entries.end());
      std::sort(predecessors.begin(), predecessors.end());
      predecessors.erase(std::unique(predecessors.begin(), predecessors.end()), predecessors.end());
      if (IsFreeConst(node)) continue;
      for (int p : predecessors) successors_[p].push_back(node);
    }
  }

  // Edges that no cluster may contain: values decide how many rows go along them, and who reads
  // them must know it.
  void FindCuts() {
    std::vector<bool> takes(n_);
    const CompileTime values(index_,
                             [&](int from, int to) { return IsMember(from) && IsCandidate(to); });
    importer::ListLengths lengths(index_.graph());
    std::vector<bool> stacks(n_);
    for (int node = 0; node < n_; ++node) {
      stacks[node] = IsMember(node) && lengths.MakesRows(index_, node, false);
    }
    for (int node : index_.order()) {
      if (!IsMember(node)) continue;
      const auto inputs = index_.inputs(node);
      for (size_t i = 0; i < inputs.size(); ++i) {
        const GraphIndex::Edge& in = inputs[i];
        if (in.is_control() || !IsMember(in.node)) continue;
        if (values.Knows(in.node) && !takes[in.node]) continue;
        if (!takes[in.node] && !stacks[in.node] &&
            !importer::MakesRowCount(index_, in.node, in.output)) {
          continue;
        }
        if (importer::TakesRowCount(index_, node, static_cast<int>(i))) {
          takes[node] = true;
        } else {
          cuts_.emplace(in.node, node);
        }
      }
    }
  }

  void FindKinds() {
    const Deadness deadness(index_);
    std::map<std::tuple<absl::string_view, absl::string_view, absl::string_view, int>, int> kinds;
    kind_of_candidate_.assign(n_, kNotCompiled);
    for (int i = 0; i < n_; ++i) {
      const NodeDef& node = index_.node(i);
      const auto key =
          std::make_tuple(absl::string_view(node.device), node.attrs.String("_XlaScope"),
                          node.attrs.String("_XlaInternalScope"), deadness.ClassOf(i));
      kind_of_candidate_[i] = kinds.emplace(key, static_cast<int>(kinds.size()) + 1).first->second;
    }
  }

  int Kind(int node) const { return IsMember(node) ? kind_of_candidate_[node] : kNotCompiled; }
  int Step(int from, int to) const {
    if (Kind(from) != Kind(to)) return 1;
    return !cuts_.empty() && cuts_.contains({from, to}) ? 1 : 0;
  }

  void Level() {
    level_.assign(n_, 0);
    for (int node : index_.order()) {
      for (int p : predecessors_[node]) {
        level_[node] = std::max(level_[node], level_[p] + Step(p, node));
      }
    }
    // Later, towards the users. All that matters is that no edge goes back to a lower level.
    for (auto it = index_.order().rbegin(); it != index_.order().rend(); ++it) {
      const int node = *it;
      if (IsFreeConst(node)) continue;
      int latest = kLatest;
      int join = kLatest;  // the first level at which its own kind uses it
      for (int s : successors_[node]) {
        latest = std::min(latest, level_[s] - Step(node, s));
        if (Step(node, s) == 0) join = std::min(join, level_[s]);
      }
      // A node that is not compiled constrains no cluster: as late as can be.
      if (Kind(node) == kNotCompiled || (join == latest && join != kLatest)) level_[node] = latest;
      // A candidate whose own kind does not use it, or not first, stays with its operands.
    }
  }

  int Find(int node) {
    while (part_[node] != node) node = part_[node] = part_[part_[node]];
    return node;
  }

  // Parts: connected nodes of one kind and level.
  void Connect() {
    part_.resize(n_);
    std::iota(part_.begin(), part_.end(), 0);
    for (int node = 0; node < n_; ++node) {
      if (!IsMember(node)) continue;
      for (int p : predecessors_[node]) {
        if (!IsMember(p) || Step(p, node) != 0 || level_[p] != level_[node]) continue;
        const int a = Find(p), b = Find(node);
        part_[std::max(a, b)] = std::min(a, b);
      }
    }
    for (int node = 0; node < n_; ++node) part_[node] = Find(node);
  }

  bool IsInPart(int node, int part) const { return IsMember(node) && part_[node] == part; }

  bool IsUsedOutside(int node, int part, int except) const {
    for (const GraphIndex::Use& use : index_.uses(node)) {
      if (use.node != except && !IsInPart(use.node, part)) return true;
    }
    return false;
  }

  // A cheap node that nothing inside uses, over a value that is outside anyway, only adds an
  // output.
  void DropCheapOutputs() {
    for (auto it = index_.order().rbegin(); it != index_.order().rend(); ++it) {
      const int node = *it;
      if (!IsMember(node) || !index_.facts(node).Is(OpFacts::kCheapOutput) ||
          IsAnnotated(index_.node(node))) {
        continue;
      }
      const int part = part_[node];
      const auto uses = index_.uses(node);
      const bool used_inside = std::any_of(
          uses.begin(), uses.end(), [&](const auto& use) { return IsInPart(use.node, part); });
      const auto inputs = index_.inputs(node);
      const bool all_outside = std::all_of(inputs.begin(), inputs.end(), [&](const auto& in) {
        return in.is_control() || !IsInPart(in.node, part) || IsUsedOutside(in.node, part, node);
      });
      if (used_inside || !all_outside) continue;
      LeaveOut(node, Reason::kCHEAP_OUTPUT, "");
    }
  }

  Marking Collect() {
    const CostModel cost(index_);
    std::map<int, MarkedCluster> parts;  // by the part's first node: in the order of the graph
    for (int node : index_.order()) {
      if (!IsMember(node)) continue;
      MarkedCluster& cluster = parts[part_[node]];
      cluster.nodes.push_back(node);
      cluster.ops += CountsAsOp(index_.node(node)) ? 1 : 0;
      cluster.cost += cost.Of(node);
    }
    std::vector<int> position(n_, 0);
    for (int i = 0; i < n_; ++i) position[index_.order()[i]] = i;
    ClusterNames names(index_.graph(), options_.function);
    for (auto& [part, cluster] : parts) {
      if (!IsWorthIt(cluster)) {
        for (int node : cluster.nodes) {
          LeaveOut(node, Reason::kTOO_SMALL,
                   absl::StrCat(cluster.ops, " ops of cost ", cluster.cost));
        }
        continue;
      }
      AddConstants(&cluster.nodes);
      std::sort(cluster.nodes.begin(), cluster.nodes.end(),
                [&](int a, int b) { return position[a] < position[b]; });
      const int number = static_cast<int>(out_.clusters.size());
      cluster.name = names.NameOf(cluster.nodes);
      for (int node : cluster.nodes) {
        if (out_.cluster_of[node] < 0) out_.cluster_of[node] = number;
      }
      out_.clusters.push_back(std::move(cluster));
    }
    for (int i = 0; i < n_; ++i) {
      if (IsFreeConst(i) && out_.cluster_of[i] < 0) LeaveOut(i, Reason::kTOO_SMALL, "");
    }
    return std::move(out_);
  }

  bool IsWorthIt(const MarkedCluster& cluster) const {
    // Reading or assigning to a variable is no work of its own.
    int64_t work = 0;
    bool annotated = false, gains_alone = false, walks_rows = false;
    for (int node : cluster.nodes) {
      const NodeDef& def = index_.node(node);
      const OpFacts& facts = index_.facts(node);
      const bool moves = facts.Is(OpFacts::kReadsVariable) ||
                         (facts.Is(OpFacts::kWritesVariable) && def.NumDataInputs() <= 2);
      work += CountsAsOp(def) && !moves ? 1 : 0;
      annotated = annotated || IsAnnotated(def) || IsXlaCall(def);
      gains_alone = gains_alone || GainsAlone(index_, node);
      walks_rows = walks_rows || facts.work == OpFacts::Work::kRows;
    }
    if (annotated) return work > 0;
    if (IsDirectStep(cluster)) return cluster.cost + kDirectCallSpares >= options_.min_cluster_cost;
    if (cluster.cost < options_.min_cluster_cost) return false;
    // The host's kernels of rows take several times what compiled code takes, whatever is beside.
    return work >= std::max<int64_t>(options_.min_cluster_ops, 1) || walks_rows ||
           (gains_alone && cluster.cost >= options_.min_lone_cost);
  }

  // A function that changes rows of a variable and does nothing else, such as a step that trains a
  // table, is what Python calls, and so is one that says so. Others may be called by loops and input
  // pipelines, which have no direct calls.
  bool IsDirectStep(const MarkedCluster& cluster) const {
    return options_.has_direct_calls &&
           std::any_of(cluster.nodes.begin(), cluster.nodes.end(),
                       [&](int node) {
                         return index_.facts(node).Is(OpFacts::kWritesRows) ||
                                index_.node(node).attrs.Bool("_tektite_from_python", false);
                       }) &&
           IsWholeGraph(index_, cluster.nodes);
  }

  void AddConstants(std::vector<int>* nodes) const {
    std::vector<int> constants;
    for (int node : *nodes) {
      for (const GraphIndex::Edge& in : index_.inputs(node)) {
        if (!in.is_control() && IsFreeConst(in.node)) constants.push_back(in.node);
      }
    }
    std::sort(constants.begin(), constants.end());
    constants.erase(std::unique(constants.begin(), constants.end()), constants.end());
    nodes->insert(nodes->end(), constants.begin(), constants.end());
  }

  const GraphIndex& index_;
  const MarkOptions& options_;
  const int n_;
  Marking out_;
  std::vector<bool> free_const_;
  std::vector<std::vector<int>> predecessors_;
  std::vector<std::vector<int>> successors_;
  std::vector<int> kind_of_candidate_;
  absl::flat_hash_set<std::pair<int, int>> cuts_;
  std::vector<int> level_;
  std::vector<int> part_;
};

}  // namespace

absl::StatusOr<Marking> MarkClusters(const GraphIndex& index, const MarkOptions& options) {
  return Marker(index, options).Run();
}

absl::StatusOr<Marking> MarkClusters(const graph_def::GraphDef& graph, const MarkOptions& options) {
  absl::StatusOr<GraphIndex> index = GraphIndex::Create(graph);
  if (!index.ok()) return index.status();
  return MarkClusters(*index, options);
}

}  // namespace tektite::clustering
