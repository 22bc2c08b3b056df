// join_writes: joins loop fusions of a region that compute values of one space, of which some are
// written elsewhere: into rows of lists, or beside each other.
//
//   before  %1:2 = fusion(%x) {kind = loop}                              // tanh(%x), exp(%x)
//           %2 = fusion(%list, %1#1, %i) {in_place = true, kind = loop}  // dynamic_update_slice
//   after   %1:2 = fusion(%x, %list, %i) {in_place = true, kind = loop}  // tanh(%x), the updated
//   list
//
// A turn of a recurrent layer that is trained keeps half a dozen values for the gradient, each in a
// list of its own; its gradient joins those of the gates.  Each was a kernel that copied what
// another had just written.
//
// Two fusions are joined where one reads the other's results place by place or both update lists,
// and where nothing between them depends on the one and leads to the other.
//
// Limits: a fusion whose dimensions have become one (collapse_dims) has another space than the
// rows that its results are written into.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "jit/ir/control.h"
#include "jit/ir/in_place.h"
#include "jit/ir/writes.h"
#include "jit/passes/fusion/fusion_nodes.h"
#include "jit/passes/names.h"
#include "jit/passes/pass.h"

namespace tektite::passes {
namespace {

// A kernel with more takes long to compile and gains nothing, as with more than kMaxNodes.
constexpr int kMaxBuffers = 40;

// Changes nothing but dimensions of size 1.
bool IsView(const Node& node) {
  return node.op() == Op::kReshape && Squeezed(node.shape()) == Squeezed(node.operand_shape(0));
}

// `value` without such reshapes.
Value Behind(Value value) {
  while (IsView(*value.node)) value = value.node->operand(0);
  return value;
}

// What the fusion computes is written from one space, and nothing in it moves elements of another.
bool IsPlain(const Node& fusion) {
  if (!fusion.IsFusion(ir::FusionKind::kLoop)) return false;
  const Graph& region = fusion.region();
  return std::all_of(region.nodes().begin(), region.nodes().end(), [](const auto& node) {
    switch (node->op()) {
      case Op::kParameter:
      case Op::kConstant:
      case Op::kBroadcastInDim:
      case Op::kIota:
      case Op::kSlice:
      case Op::kDynamicSlice:
        return true;
      case Op::kReshape:
        return IsView(*node);
      case Op::kDynamicUpdateSlice:
      case Op::kConcatenate:
        return node->uses().empty();
      default:
        return ir::IsElementwise(node->op());
    }
  });
}

// The space of a fusion that may be joined with others.
std::optional<ir::Dims> FindSpace(const Node& fusion) {
  if (!IsPlain(fusion)) return std::nullopt;
  const Graph& region = fusion.region();
  const Node& last = *region.outputs()[0].node;
  if (region.outputs().size() == 1 && last.op() == Op::kConcatenate) {
    if (!ir::JoinsEqualParts(last)) return std::nullopt;
    return Squeezed(last.operand_shape(0));
  }
  for (const Value output : region.outputs()) {
    const bool updates = output.node->op() == Op::kDynamicUpdateSlice;
    if (updates && !fusion.Bool(Attr::in_place)) return std::nullopt;
  }
  ir::Writes writes = ir::WritesOf(fusion);
  if (writes.list.empty()) return std::nullopt;
  return std::move(writes.space);
}

// Nothing else in the graph reads a list that the fusion updates: a reader would have to come
// first.
bool OwnsLists(const Node& fusion) {
  for (int r = 0; r < fusion.num_results(); ++r) {
    const int updated = ir::UpdatedOperand(fusion, r);
    if (updated < 0) continue;
    const Value list = fusion.operand(updated);
    if (list.node->uses(list.index).size() > 1 || list.node->IsOutput(list.index)) return false;
  }
  return true;
}

// Whether `to` depends on `from` through other nodes than reshapes.
bool LeadsTo(const Node& from, const Node& to) {
  absl::flat_hash_set<const Node*> seen;
  std::vector<std::pair<const Node*, bool>> left = {{&from, false}};  // with: something is between
  while (!left.empty()) {
    const auto [node, between] = left.back();
    left.pop_back();
    for (int r = 0; r < node->num_results(); ++r) {
      for (const ir::Use& use : node->uses(r)) {
        if (use.user == &to) {
          if (between) return true;
          continue;
        }
        const bool is_view = use.user->op() == Op::kReshape && !between;
        if (is_view || seen.insert(use.user).second) left.push_back({use.user, !is_view});
      }
    }
  }
  return false;
}

// `second` reads results of `first` at the index at which it computes, and in no other way.
bool ReadsPlaceByPlace(const Node& first, const Node& second, bool* reads) {
  for (int i = 0; i < second.num_operands(); ++i) {
    const bool direct = Behind(second.operand(i)).node == &first;
    if (!direct) {
      // A view that moves more than dimensions of size 1.
      const Node* node = second.operand(i).node;
      while (node->op() == Op::kReshape) node = node->operand(0).node;
      if (node == &first) return false;
      continue;
    }
    *reads = true;
    std::vector<const Node*> left = {second.region().parameter(i)};
    while (!left.empty()) {
      const Node* node = left.back();
      left.pop_back();
      for (const ir::Use& use : node->uses()) {
        const Op op = use.user->op();
        if (op == Op::kReshape) {
          left.push_back(use.user);
          continue;
        }
        const bool is_update = op == Op::kDynamicUpdateSlice && use.operand == 1;
        if (!ir::IsElementwise(op) && op != Op::kConcatenate && !is_update) return false;
      }
    }
  }
  return true;
}

class Joiner {
 public:
  explicit Joiner(Graph& graph) : graph_(graph) {}

  bool Run() {
    bool changed = false;
    while (JoinOne()) changed = true;
    return changed;
  }

 private:
  bool JoinOne() {
    std::vector<std::pair<Node*, ir::Dims>> found;
    for (Node* node : graph_.NodeList()) {
      if (std::optional<ir::Dims> space = FindSpace(*node)) {
        found.push_back({node, *std::move(space)});
      }
    }
    for (size_t j = 1; j < found.size(); ++j) {
      for (size_t i = 0; i < j; ++i) {
        if (found[i].second != found[j].second) continue;
        if (MayJoin(*found[i].first, *found[j].first)) {
          Join(found[i].first, found[j].first);
          return true;
        }
      }
    }
    return false;
  }

  static bool MayJoin(const Node& first, const Node& second) {
    const bool concatenates = second.region().outputs()[0].node->op() == Op::kConcatenate;
    if (!second.Bool(Attr::in_place) && !concatenates) return false;
    if (first.region().outputs()[0].node->op() == Op::kConcatenate) return false;
    if (!second.IsFusion(ir::FusionKind::kLoop)) return false;
    // Alone it would be written piece by piece, each of which would compute what they share.
    if (concatenates && !IsReadBeside(first, second)) return false;
    if (first.region().num_nodes() + second.region().num_nodes() > kMaxNodes) return false;
    if (first.num_operands() + second.num_operands() + first.num_results() + second.num_results() >
        kMaxBuffers) {
      return false;
    }
    bool reads = false;
    if (!ReadsPlaceByPlace(first, second, &reads)) return false;
    if (!reads && !(first.Bool(Attr::in_place) && second.Bool(Attr::in_place))) return false;
    return OwnsLists(first) && OwnsLists(second) && !LeadsTo(first, second) &&
           !LeadsTo(second, first);
  }

  // Something else than `second` reads the result, seen through reshapes.
  static bool IsReadBeside(const Node& node, int r, const Node& second) {
    if (node.IsOutput(r)) return true;
    const auto& uses = node.uses(r);
    return std::any_of(uses.begin(), uses.end(), [&](const ir::Use& use) {
      if (use.user == &second) return false;
      const bool is_view = use.user->op() == Op::kReshape && !use.user->IsDead();
      return !is_view || IsReadBeside(*use.user, 0, second);
    });
  }

  static bool IsReadBeside(const Node& node, const Node& second) {
    for (int r = 0; r < node.num_results(); ++r) {
      if (IsReadBeside(node, r, second)) return true;
    }
    return false;
  }

  void Join(Node* first, Node* second) {
    auto region = std::make_unique<Graph>("fused");
    std::vector<Value> operands;
    absl::flat_hash_map<Value, Value> inside;
    const auto seen_as = [&](Value value, const ir::Shape& shape) {
      if (value.shape() == shape) return value;
      return region
          ->Append(Op::kReshape, {value}, {{Attr::shape, shape.dims()}}, {ir::Shape(shape)})
          ->result();
    };
    // An operand, once for all shapes in which it is read.
    const auto read = [&](Value operand) {
      const Value outside = Behind(operand);
      const auto [it, added] = inside.try_emplace(outside);
      if (added) {
        operands.push_back(outside);
        it->second = region->AddParameter(outside.shape(), outside.node->name());
      }
      return seen_as(it->second, operand.shape());
    };
    std::vector<Value> arguments;
    for (const Value operand : first->operands()) arguments.push_back(read(operand));
    const std::vector<Value> computed = region->Inline(first->region(), arguments);
    arguments.clear();
    for (const Value operand : second->operands()) {
      const Value from = Behind(operand);
      if (from.node != first) {
        arguments.push_back(read(operand));
        continue;
      }
      arguments.push_back(seen_as(computed[from.index], operand.shape()));
    }
    const std::vector<Value> written = region->Inline(second->region(), arguments);

    std::vector<Value> outputs, replaced;
    for (int r = 0; r < first->num_results(); ++r) {
      if (!IsReadBeside(*first, r, *second)) continue;
      outputs.push_back(computed[r]);
      replaced.push_back(first->result(r));
    }
    for (int r = 0; r < second->num_results(); ++r) {
      outputs.push_back(written[r]);
      replaced.push_back(second->result(r));
    }
    region->SetOutputs(outputs);
    Node* joined = graph_.AppendFusion(operands, {{Attr::kind, first->fusion_kind()}},
                                       std::move(region), second);
    if (first->Bool(Attr::in_place) || second->Bool(Attr::in_place)) {
      joined->attrs().Set(Attr::in_place, true);
    }
    joined->set_name(first->name());
    for (size_t i = 0; i < replaced.size(); ++i) {
      graph_.ReplaceAllUses(replaced[i], joined->result(static_cast<int>(i)));
    }
    graph_.EraseDead();
    graph_.SortTopologically();
  }

  Graph& graph_;
};

}  // namespace

absl::StatusOr<bool> JoinWrites(Graph& graph, PassContext&) {
  bool changed = false;
  for (const auto& control : graph.nodes()) {
    if (!ir::IsControl(*control)) continue;
    for (int r = 0; r < control->num_regions(); ++r) {
      changed |= Joiner(control->region(r)).Run();
    }
  }
  return changed;
}

}  // namespace tektite::passes
