// The tensor IR: a graph of nodes in static single assignment form.
// Example:
//   Graph g("f");
//   Value x = g.AddParameter(Shape(DType::kF32, {Dim(4)}), "x");
//   Node* y = g.Append(Op::kNeg, {x}, {}, {x.shape()});
//   g.SetOutputs({y->result(0)});
//   Print(g);  // graph @f(%x: f32[4]) -> (f32[4]) { %1: f32[4] = neg(%x)  return %1 }
//
// A Graph owns its nodes in topological order; Node* and Value borrow, and stay valid until the
// node is erased.  A node has operands, results (usually one), attributes, and regions (graphs of
// its own, for reduce, while, fusion).  Regions see nothing but their parameters.  jit/ops infers
// result shapes: build through ops::FuncBuilder rather than through Append.
#ifndef TEKTITE_JIT_IR_GRAPH_H_
#define TEKTITE_JIT_IR_GRAPH_H_

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "jit/ir/attributes.h"
#include "jit/ir/op.h"
#include "jit/ir/shape.h"

namespace tektite::ir {

class Graph;
class Node;

// One result of a node.
struct Value {
  Node* node = nullptr;
  int index = 0;

  const Shape& shape() const;
  DType dtype() const { return shape().dtype(); }
  explicit operator bool() const { return node != nullptr; }
  friend bool operator==(const Value& a, const Value& b) {
    return a.node == b.node && a.index == b.index;
  }
  friend bool operator!=(const Value& a, const Value& b) { return !(a == b); }
  friend bool operator<(const Value& a, const Value& b) {
    return std::pair(a.node, a.index) < std::pair(b.node, b.index);
  }
  template <typename H>
  friend H AbslHashValue(H h, const Value& v) {
    return H::combine(std::move(h), v.node, v.index);
  }
};

// Operand `operand` of `user`.
struct Use {
  Node* user = nullptr;
  int operand = 0;
};

class Node {
 public:
  Op op() const { return op_; }
  Graph* graph() const { return graph_; }
  // Where it comes from, such as a TensorFlow node's name: for people, never for meaning.
  const std::string& name() const { return name_; }
  void set_name(absl::string_view name) { name_ = std::string(name); }

  absl::Span<const Value> operands() const { return operands_; }
  int num_operands() const { return static_cast<int>(operands_.size()); }
  Value operand(int i) const { return operands_[i]; }
  const Shape& operand_shape(int i) const { return operands_[i].shape(); }
  void SetOperand(int i, Value value);
  void AddOperand(Value value);  // the last one

  int num_results() const { return static_cast<int>(results_.size()); }
  Value result(int i = 0) { return Value{this, i}; }
  std::vector<Value> results();
  const Shape& shape(int i = 0) const { return results_[i]; }
  void set_shape(int i, Shape shape) { results_[i] = std::move(shape); }
  absl::Span<const Shape> shapes() const { return results_; }

  const Attributes& attrs() const { return attrs_; }
  Attributes& attrs() { return attrs_; }
  bool Bool(Attr a, bool otherwise = false) const { return attrs_.Bool(a, otherwise); }
  int64_t Int(Attr a, int64_t otherwise = 0) const { return attrs_.Int(a, otherwise); }
  const std::vector<int64_t>& Ints(Attr a) const { return attrs_.Ints(a); }
  const std::string& String(Attr a) const { return attrs_.String(a); }
  FusionKind fusion_kind() const { return attrs_.GetFusionKind(Attr::kind); }  // of a fusion
  bool IsFusion(FusionKind kind) const { return op_ == Op::kFusion && fusion_kind() == kind; }

  int num_regions() const { return static_cast<int>(regions_.size()); }
  Graph& region(int i = 0) const { return *regions_[i]; }
  Graph& AddRegion(std::unique_ptr<Graph> region);

  // Uses by nodes and by the graph's outputs are counted apart.
  const std::vector<Use>& uses() const { return uses_[0].list; }  // of result 0
  const std::vector<Use>& uses(int result) const { return uses_[result].list; }
  bool IsOutput() const;  // any result is an output of the graph
  bool IsOutput(int result) const;
  bool HasOneUse() const;  // one use by a node, no output, one result
  bool IsDead() const;

  // "add" or "add 'layer/add'": for messages.
  std::string Describe() const;

 private:
  friend class Graph;
  struct UseList {
    std::vector<Use> list;
  };
  Node() = default;

  Op op_ = Op::kParameter;
  Graph* graph_ = nullptr;
  std::string name_;
  absl::InlinedVector<Value, 3> operands_;
  absl::InlinedVector<Shape, 1> results_;
  absl::InlinedVector<UseList, 1> uses_;
  Attributes attrs_;
  std::vector<std::unique_ptr<Graph>> regions_;
  std::list<std::unique_ptr<Node>>::iterator position_;
};

// A null value has an empty shape, so that a chain of builder calls may go on after an error.
inline const Shape& Value::shape() const {
  static const Shape& none = *new Shape;
  return node != nullptr ? node->shape(index) : none;
}

// Facts a compiled graph relies on and the runtime checks once per call: lhs == rhs.
struct Guard {
  Dim lhs, rhs;
};

class Graph {
 public:
  explicit Graph(absl::string_view name = "main") : name_(name) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  const std::string& name() const { return name_; }
  void set_name(absl::string_view name) { name_ = std::string(name); }

  Value AddParameter(Shape shape, absl::string_view name = "");
  // Appends after every other node, or before `before` when that is given.
  Node* Append(Op op, absl::Span<const Value> operands, Attributes attrs,
               std::vector<Shape> results, Node* before = nullptr);
  // A node like `node`, of any graph, on these operands: with its name, and copies of its regions.
  Node* AppendCopy(const Node& node, absl::Span<const Value> operands, Node* before = nullptr);
  // A fusion whose results are what `region` returns.
  Node* AppendFusion(absl::Span<const Value> operands, Attributes attrs,
                     std::unique_ptr<Graph> region, Node* before = nullptr);

  int num_parameters() const { return static_cast<int>(parameters_.size()); }
  Node* parameter(int i) const { return parameters_[i]; }
  absl::Span<Node* const> parameters() const { return parameters_; }
  absl::Span<const Value> outputs() const { return outputs_; }
  void SetOutputs(std::vector<Value> outputs) { outputs_ = std::move(outputs); }
  void SetOutput(int i, Value value) { outputs_[i] = value; }

  std::vector<Guard>& guards() { return guards_; }
  const std::vector<Guard>& guards() const { return guards_; }

  // In topological order, parameters included.  Safe against erasing the visited node when taken
  // through NodeList().
  const std::list<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  std::vector<Node*> NodeList() const;
  size_t num_nodes() const { return nodes_.size(); }

  // Every use and output of `from` becomes `to`, which must be defined before all of them.
  void ReplaceAllUses(Value from, Value to);
  // Result i of the node becomes values[i] everywhere; the node is erased.
  void Replace(Node* node, absl::Span<const Value> values);
  // The node must be dead.
  void Erase(Node* node);
  // Erases dead nodes (never parameters); true if there were any.
  bool EraseDead();
  // Removes parameter `index`, which must be dead.
  void EraseParameter(int index);
  // Restores topological order after rewiring; stable.
  void SortTopologically();

  std::unique_ptr<Graph> Clone() const;
  // Copies the nodes of `source` before `before`, with its parameters replaced by `arguments`;
  // returns what its outputs became.
  std::vector<Value> Inline(const Graph& source, absl::Span<const Value> arguments,
                            Node* before = nullptr);
  // Replaces symbols in every shape, dimension attribute and guard, also in regions.
  void Substitute(const SymbolMap& symbols);

 private:
  friend class Node;
  std::string name_;
  std::list<std::unique_ptr<Node>> nodes_;
  std::vector<Node*> parameters_;
  std::vector<Value> outputs_;
  std::vector<Guard> guards_;
};

// A graph of the node alone, on parameters of its own; its name is left out.
std::unique_ptr<Graph> Isolated(const Node& node, absl::string_view name);

// The text form; Parse(Print(g)) prints the same.  Values are numbered in order; a node's name
// follows as a comment-like string: %3: f32[4] = add(%1, %2) "layer/add".
std::string Print(const Graph& graph);
// For cache keys: values numbered in order, names and weights' contents left out, symbols kept.
std::string PrintCanonical(const Graph& graph);

// InvalidArgument with line and column for text that is no graph.  Types are read, not inferred.
absl::StatusOr<std::unique_ptr<Graph>> Parse(absl::string_view text);
// Several graphs in one text.
absl::StatusOr<std::vector<std::unique_ptr<Graph>>> ParseAll(absl::string_view text);

}  // namespace tektite::ir

#endif  // TEKTITE_JIT_IR_GRAPH_H_
