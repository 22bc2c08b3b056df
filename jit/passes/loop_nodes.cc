#include "jit/passes/loop_nodes.h"

namespace tektite::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::Shape;
using ir::Value;

// A while on these operands with the regions of `loop`, before it.
Node* Rebuilt(Graph& graph, Node* loop, absl::Span<const Value> operands) {
  std::vector<Shape> shapes;
  for (Value v : operands) shapes.push_back(v.shape());
  Node* copy = graph.Append(loop->op(), operands, loop->attrs(), shapes, loop);
  copy->set_name(loop->name());
  for (int r = 0; r < loop->num_regions(); ++r) copy->AddRegion(loop->region(r).Clone());
  return copy;
}

}  // namespace

Value AddInvariant(Node& loop, const Shape& shape) {
  Condition(loop).AddParameter(shape);
  const Value parameter = Body(loop).AddParameter(shape);
  std::vector<Value> outputs(Body(loop).outputs().begin(), Body(loop).outputs().end());
  outputs.push_back(parameter);
  Body(loop).SetOutputs(outputs);
  return parameter;
}

Node* WithOperands(Graph& graph, Node* loop, absl::Span<const Value> added) {
  std::vector<Value> operands(loop->operands().begin(), loop->operands().end());
  operands.insert(operands.end(), added.begin(), added.end());
  Node* const copy = Rebuilt(graph, loop, operands);
  for (int i = 0; i < loop->num_results(); ++i) {
    graph.ReplaceAllUses(loop->result(i), copy->result(i));
  }
  graph.Erase(loop);
  return copy;
}

Node* WithoutCarried(Graph& graph, Node* loop, const std::vector<bool>& keep) {
  std::vector<Value> operands, outputs;
  for (size_t i = 0; i < keep.size(); ++i) {
    if (!keep[i]) continue;
    operands.push_back(loop->operand(static_cast<int>(i)));
    outputs.push_back(Body(*loop).outputs()[i]);
  }
  Body(*loop).SetOutputs(outputs);
  for (int r = 0; r < loop->num_regions(); ++r) {
    Graph& region = loop->region(r);
    region.EraseDead();
    for (int i = static_cast<int>(keep.size()); i-- > 0;) {
      if (!keep[i]) region.EraseParameter(i);
    }
  }
  Node* const copy = Rebuilt(graph, loop, operands);
  int next = 0;
  for (size_t i = 0; i < keep.size(); ++i) {
    if (keep[i]) graph.ReplaceAllUses(loop->result(static_cast<int>(i)), copy->result(next++));
  }
  graph.Erase(loop);
  return copy;
}

}  // namespace tektite::passes
