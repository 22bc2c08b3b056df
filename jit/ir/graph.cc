#include "jit/ir/graph.h"

#include <algorithm>
#include <cassert>
#include <unordered_set>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace tektite::ir {

void Node::SetOperand(int i, Value value) {
  Value old = operands_[i];
  auto& uses = old.node->uses_[old.index].list;
  uses.erase(std::find_if(uses.begin(), uses.end(),
                          [&](const Use& u) { return u.user == this && u.operand == i; }));
  operands_[i] = value;
  value.node->uses_[value.index].list.push_back({this, i});
}

void Node::AddOperand(Value value) {
  value.node->uses_[value.index].list.push_back({this, num_operands()});
  operands_.push_back(value);
}

std::vector<Value> Node::results() {
  std::vector<Value> results;
  for (int i = 0; i < num_results(); ++i) results.push_back(result(i));
  return results;
}

Graph& Node::AddRegion(std::unique_ptr<Graph> region) {
  regions_.push_back(std::move(region));
  return *regions_.back();
}

bool Node::IsOutput() const {
  return std::any_of(graph_->outputs_.begin(), graph_->outputs_.end(),
                     [this](const Value& v) { return v.node == this; });
}

bool Node::IsOutput(int result) const {
  return std::any_of(graph_->outputs_.begin(), graph_->outputs_.end(),
                     [&](const Value& v) { return v.node == this && v.index == result; });
}

bool Node::HasOneUse() const {
  return results_.size() == 1 && uses_[0].list.size() == 1 && !IsOutput();
}

bool Node::IsDead() const {
  return std::all_of(uses_.begin(), uses_.end(), [](const UseList& u) { return u.list.empty(); }) &&
         !IsOutput();
}

std::string Node::Describe() const {
  return name_.empty() ? std::string(OpName(op_)) : absl::StrCat(OpName(op_), " '", name_, "'");
}

Value Graph::AddParameter(Shape shape, absl::string_view name) {
  Attributes attrs{{Attr::index, static_cast<int64_t>(parameters_.size())}};
  Node* before = nullptr;
  if (parameters_.empty()) {
    if (!nodes_.empty()) before = nodes_.front().get();
  } else {
    auto next = std::next(parameters_.back()->position_);
    if (next != nodes_.end()) before = next->get();
  }
  Node* node = Append(Op::kParameter, absl::Span<const Value>(), std::move(attrs),
                      {std::move(shape)}, before);
  node->set_name(name);
  parameters_.push_back(node);
  return node->result(0);
}

Node* Graph::Append(Op op, absl::Span<const Value> operands, Attributes attrs,
                    std::vector<Shape> results, Node* before) {
  std::unique_ptr<Node> owned(new Node);
  Node* node = owned.get();
  node->op_ = op;
  node->graph_ = this;
  node->attrs_ = std::move(attrs);
  node->operands_.assign(operands.begin(), operands.end());
  node->results_.assign(std::make_move_iterator(results.begin()),
                        std::make_move_iterator(results.end()));
  node->uses_.resize(node->results_.size());
  for (int i = 0; i < node->num_operands(); ++i) {
    Value v = node->operands_[i];
    assert(v.node->graph_ == this);
    v.node->uses_[v.index].list.push_back({node, i});
  }
  node->position_ = nodes_.insert(before ? before->position_ : nodes_.end(), std::move(owned));
  return node;
}

Node* Graph::AppendCopy(const Node& node, absl::Span<const Value> operands, Node* before) {
  Node* copy = Append(node.op_, operands, node.attrs_,
                      std::vector<Shape>(node.results_.begin(), node.results_.end()), before);
  copy->name_ = node.name_;
  for (const auto& region : node.regions_) copy->AddRegion(region->Clone());
  return copy;
}

Node* Graph::AppendFusion(absl::Span<const Value> operands, Attributes attrs,
                          std::unique_ptr<Graph> region, Node* before) {
  std::vector<Shape> shapes;
  for (const Value& v : region->outputs()) shapes.push_back(v.shape());
  Node* fusion = Append(Op::kFusion, operands, std::move(attrs), std::move(shapes), before);
  fusion->AddRegion(std::move(region));
  return fusion;
}

std::vector<Node*> Graph::NodeList() const {
  std::vector<Node*> list;
  list.reserve(nodes_.size());
  for (const auto& node : nodes_) list.push_back(node.get());
  return list;
}

void Graph::ReplaceAllUses(Value from, Value to) {
  if (from == to) return;
  std::vector<Use> uses = from.node->uses_[from.index].list;
  for (const Use& use : uses) use.user->SetOperand(use.operand, to);
  for (Value& output : outputs_) {
    if (output == from) output = to;
  }
}

void Graph::Replace(Node* node, absl::Span<const Value> values) {
  for (int i = 0; i < node->num_results(); ++i) ReplaceAllUses(node->result(i), values[i]);
  Erase(node);
}

void Graph::Erase(Node* node) {
  assert(node->IsDead());
  for (int i = 0; i < node->num_operands(); ++i) {
    Value v = node->operands_[i];
    auto& uses = v.node->uses_[v.index].list;
    uses.erase(std::find_if(uses.begin(), uses.end(),
                            [&](const Use& u) { return u.user == node && u.operand == i; }));
  }
  nodes_.erase(node->position_);
}

bool Graph::EraseDead() {
  std::unordered_set<const Node*> outputs;
  for (const Value& v : outputs_) outputs.insert(v.node);
  bool changed = false;
  // Users come after their operands, so one backward sweep reaches everything.
  for (auto it = nodes_.end(); it != nodes_.begin();) {
    --it;
    Node* node = it->get();
    bool used = std::any_of(node->uses_.begin(), node->uses_.end(),
                            [](const Node::UseList& u) { return !u.list.empty(); });
    if (node->op_ == Op::kParameter || used || outputs.count(node) > 0) continue;
    ++it;
    Erase(node);
    changed = true;
  }
  return changed;
}

void Graph::EraseParameter(int index) {
  Node* node = parameters_[index];
  parameters_.erase(parameters_.begin() + index);
  for (size_t i = index; i < parameters_.size(); ++i) {
    parameters_[i]->attrs_.Set(Attr::index, static_cast<int64_t>(i));
  }
  Erase(node);
}

void Graph::SortTopologically() {
  std::vector<Node*> order;
  std::vector<Node*> old = NodeList();
  order.reserve(old.size());
  // Depth-first from each node in the old order keeps the old order wherever it was right.
  std::unordered_set<const Node*> done;
  for (Node* root : old) {
    if (done.count(root) > 0) continue;
    std::vector<std::pair<Node*, int>> stack = {{root, 0}};
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next < node->num_operands()) {
        Node* operand = node->operands_[next++].node;
        if (done.count(operand) == 0) stack.push_back({operand, 0});
      } else {
        if (done.insert(node).second) order.push_back(node);
        stack.pop_back();
      }
    }
  }
  for (Node* node : order) nodes_.splice(nodes_.end(), nodes_, node->position_);
}

std::unique_ptr<Graph> Graph::Clone() const {
  auto copy = std::make_unique<Graph>(name_);
  std::vector<Value> parameters;
  for (const Node* p : parameters_) {
    Value v = copy->AddParameter(p->shape(), p->name());
    v.node->attrs_ = p->attrs_;
    parameters.push_back(v);
  }
  copy->SetOutputs(copy->Inline(*this, parameters));
  copy->guards_ = guards_;
  return copy;
}

std::vector<Value> Graph::Inline(const Graph& source, absl::Span<const Value> arguments,
                                 Node* before) {
  absl::flat_hash_map<const Node*, Node*> copies;
  absl::flat_hash_map<const Node*, Value> replaced;
  for (int i = 0; i < source.num_parameters(); ++i) replaced[source.parameter(i)] = arguments[i];
  auto map = [&](Value v) {
    auto it = replaced.find(v.node);
    return it != replaced.end() ? it->second : Value{copies.at(v.node), v.index};
  };
  for (const auto& node : source.nodes_) {
    if (node->op_ == Op::kParameter) continue;
    std::vector<Value> operands;
    for (Value v : node->operands_) operands.push_back(map(v));
    copies[node.get()] = AppendCopy(*node, operands, before);
  }
  std::vector<Value> outputs;
  for (Value v : source.outputs_) outputs.push_back(map(v));
  return outputs;
}

std::unique_ptr<Graph> Isolated(const Node& node, absl::string_view name) {
  auto graph = std::make_unique<Graph>(name);
  std::vector<Value> operands;
  for (const Value& v : node.operands()) operands.push_back(graph->AddParameter(v.shape()));
  Node* copy = graph->AppendCopy(node, operands);
  copy->set_name("");
  graph->SetOutputs(copy->results());
  return graph;
}

void Graph::Substitute(const SymbolMap& symbols) {
  for (auto& node : nodes_) {
    for (Shape& shape : node->results_) shape = shape.Substitute(symbols);
    for (auto& [attr, value] : node->attrs_.mutable_values()) {
      if (Dims* dims = std::get_if<Dims>(&value)) {
        for (Dim& d : *dims) d = d.Substitute(symbols);
      }
    }
    for (auto& region : node->regions_) region->Substitute(symbols);
  }
  for (Guard& guard : guards_) {
    guard.lhs = guard.lhs.Substitute(symbols);
    guard.rhs = guard.rhs.Substitute(symbols);
  }
}

}  // namespace tektite::ir
