#include "clustering/cost.h"

#include <algorithm>
#include <utility>

#include "clustering/compilability.h"
#include "clustering/function_bodies.h"
#include "clustering/graph_def/output_type.h"

namespace tektite::clustering {
namespace {

using graph_def::GraphIndex;
using graph_def::NodeDef;
using Work = OpFacts::Work;
using graph_def::PartialShape;

constexpr int64_t kUnknownDim = 32;
constexpr int64_t kUnknownRankElements = 1024;
constexpr int64_t kUnknownTurns = 32;
// The least elements that a tensor with a dimension that the graph leaves open counts as: enough
// for a cluster, and for an op that gains alone.
constexpr int64_t kOpenElements = int64_t{1} << 18;
// No tensor is taken to be larger, so that sums of costs stay far from overflow.
constexpr int64_t kMaxElements = int64_t{1} << 40;
// An op of the host costs about 2 us to launch, whatever it does.
constexpr int64_t kLaunch = 2000;
// Work that only moves a pointer or a few integers.
constexpr int64_t kBookkeeping = 500;
// What a kernel of the host spends on finding the next row of a variable.
constexpr int64_t kNextRow = 25;

PartialShape UnknownShape() {
  PartialShape shape;
  shape.unknown_rank = true;
  return shape;
}

int64_t AssumedDim(int64_t dim) { return dim < 0 ? kUnknownDim : dim; }

int64_t AssumedElements(const PartialShape& shape) {
  if (shape.unknown_rank) return kUnknownRankElements;
  int64_t elements = 1;
  for (int64_t d : shape.dims) {
    if (__builtin_mul_overflow(elements, AssumedDim(d), &elements) || elements > kMaxElements) {
      elements = kMaxElements;
    }
  }
  return elements;
}

PartialShape Broadcast(const PartialShape& a, const PartialShape& b) {
  if (a.unknown_rank || b.unknown_rank) return a.unknown_rank ? a : b;
  const PartialShape& longer = a.dims.size() >= b.dims.size() ? a : b;
  const PartialShape& shorter = a.dims.size() >= b.dims.size() ? b : a;
  PartialShape out = longer;
  const size_t skip = longer.dims.size() - shorter.dims.size();
  for (size_t i = 0; i < shorter.dims.size(); ++i) {
    int64_t& dim = out.dims[skip + i];
    if (dim == 1 || (dim < 0 && shorter.dims[i] > 1)) dim = shorter.dims[i];
  }
  return out;
}

// Of the variable that a node hands on.
PartialShape VariableShape(const NodeDef& handle) {
  if (const PartialShape* shape = graph_def::FirstShape(handle, "_handle_shapes")) return *shape;
  const graph_def::AttrValue* value = handle.attrs.Find("shape");  // a VarHandleOp
  const auto* shape = value == nullptr ? nullptr : value->As<PartialShape>();
  return shape == nullptr ? UnknownShape() : *shape;
}

int64_t RowElements(PartialShape variable) {
  if (variable.unknown_rank) return kUnknownDim;
  if (!variable.dims.empty()) variable.dims.erase(variable.dims.begin());
  return std::max<int64_t>(AssumedElements(variable), 1);
}

}  // namespace

bool GainsAlone(const GraphIndex& index, int node) {
  const OpFacts& facts = index.facts(node);
  return facts.Is(OpFacts::kGainsAlone) || facts.Is(OpFacts::kRunsFunctions) ||
         (facts.Is(OpFacts::kGainsInInference) &&
          !index.node(node).attrs.Bool("is_training", true));
}

const PartialShape* FirstShape(const NodeDef& node, absl::string_view attr) {
  const graph_def::AttrValue* value = node.attrs.Find(attr);
  const auto* shapes = value == nullptr ? nullptr : value->AsListOf<PartialShape>();
  return shapes == nullptr || shapes->empty() ? nullptr : &shapes->front();
}

CostModel::CostModel(const GraphIndex& index) : index_(index) { Infer(); }

CostModel::CostModel(const GraphIndex& index, Shapes arguments,
                     std::shared_ptr<graph_def::FunctionGraphs> functions, int depth)
    : index_(index),
      arguments_(std::move(arguments)),
      functions_(std::move(functions)),
      depth_(depth) {
  Infer();
}

void CostModel::Infer() {
  shape_.assign(index_.num_nodes(), UnknownShape());
  is_open_.assign(index_.num_nodes(), false);
  cost_.assign(index_.num_nodes(), 0);
  for (int node : index_.order()) {
    shape_[node] = InferShape(node);
    is_open_[node] = InferOpen(node);
    cost_[node] = InferCost(node);
  }
}

const PartialShape& CostModel::InputShape(int node, int input) const {
  static const PartialShape* const kUnknown = new PartialShape(UnknownShape());
  const auto inputs = index_.inputs(node);
  if (input >= static_cast<int>(inputs.size()) || inputs[input].output != 0) return *kUnknown;
  return shape_[inputs[input].node];
}

PartialShape CostModel::InferShape(int i) const {
  const NodeDef& node = index_.node(i);
  if (const PartialShape* shape = graph_def::FirstShape(node, "_output_shapes")) return *shape;
  if (node.op == "Const") {
    const graph_def::AttrValue* value = node.attrs.Find("value");
    const auto* tensor = value == nullptr ? nullptr : value->As<graph_def::TensorProto>();
    return tensor == nullptr ? UnknownShape() : tensor->shape;
  }
  if (node.op == "Placeholder" || node.op == "_Arg") {
    const graph_def::AttrValue* value = node.attrs.Find("shape");
    const auto* shape = value == nullptr ? nullptr : value->As<PartialShape>();
    if (shape != nullptr) return *shape;
    const int64_t argument = node.op == "_Arg" ? node.attrs.Int("index", -1) : -1;
    const bool is_given = argument >= 0 && argument < static_cast<int64_t>(arguments_.size());
    return is_given ? arguments_[argument] : UnknownShape();
  }
  const int inputs = node.NumDataInputs();
  if (index_.facts(i).Is(OpFacts::kReadsVariable) && inputs == 1) {
    return VariableShape(index_.node(index_.inputs(i)[0].node));
  }
  // At most as many as there are.
  if (index_.facts(i).Is(OpFacts::kFindsUnique)) return InputShape(i, 0);
  if (inputs == 0 || !index_.facts(i).Is(OpFacts::kLikeInputs)) return UnknownShape();
  PartialShape shape = InputShape(i, 0);
  for (int k = 1; k < inputs; ++k) shape = Broadcast(shape, InputShape(i, k));
  return shape;
}

bool CostModel::InferOpen(int i) const {
  const PartialShape& shape = shape_[i];
  if (!shape.unknown_rank) {
    return std::any_of(shape.dims.begin(), shape.dims.end(), [](int64_t d) { return d < 0; });
  }
  return !index_.facts(i).Is(OpFacts::kShrinks) && ReadsOpen(i);
}

bool CostModel::ReadsOpen(int i) const {
  const auto inputs = index_.inputs(i);
  return std::any_of(inputs.begin(), inputs.end(), [&](const GraphIndex::Edge& in) {
    return !in.is_control() && is_open_[in.node];
  });
}

int64_t CostModel::CostOfFunctions(int i) {
  const NodeDef& node = index_.node(i);
  if (depth_ >= FunctionBodies::kMostDepth) return 0;
  if (functions_ == nullptr) {
    functions_ = std::make_shared<graph_def::FunctionGraphs>(index_.graph());
  }
  const bool is_loop = node.attrs.Find("body") != nullptr;
  Shapes arguments;
  for (int k = FirstArgument(node); k < node.NumDataInputs(); ++k) {
    arguments.push_back(InputShape(i, k));
  }
  int64_t all = 0, dearest = 0;
  for (const graph_def::FunctionRef& function : graph_def::FunctionsOf(node)) {
    const auto graph = functions_->Get(function);
    if (!graph.ok()) continue;
    const auto inside = GraphIndex::Create(**graph);
    if (!inside.ok()) continue;
    const CostModel body(*inside, arguments, functions_, depth_ + 1);
    int64_t cost = 0;
    for (int k = 0; k < inside->num_nodes(); ++k) cost += body.Of(k);
    cost = std::min(cost, kMaxElements);
    all += cost;
    dearest = std::max(dearest, cost);
  }
  return is_loop ? std::min(all, kMaxElements / kUnknownTurns) * kUnknownTurns : dearest;
}

// Of a kernel that applies a rule to rows of variables. Its variables come first, then updates with
// a row for each index, indices and scalars in some order. Where the graph does not tell how large
// the updates are, the indices do.
int64_t CostModel::CostOfRows(int i) const {
  const auto inputs = index_.inputs(i);
  if (index_.node(i).NumDataInputs() == 0) return kLaunch;  // not TensorFlow's
  const int64_t width = RowElements(VariableShape(index_.node(inputs[0].node)));
  int64_t variables = 0, indices = 0, elements = 0;
  for (int k = 0; k < index_.node(i).NumDataInputs(); ++k) {
    const PartialShape& shape = InputShape(i, k);
    const NodeDef& from = index_.node(inputs[k].node);
    if (graph_def::OutputType(from, inputs[k].output) == graph_def::DataType::kResource) {
      ++variables;
    } else if (!shape.unknown_rank && shape.dims.size() > 1) {
      elements = std::max(elements, AssumedElements(shape));
    } else if (!shape.unknown_rank && shape.dims.size() == 1) {
      indices = std::max(indices, AssumedElements(shape));
    }
  }
  if (elements == 0) {
    elements =
        indices == 0 ? kUnknownRankElements : std::min(indices, kMaxElements / width) * width;
  }
  if (ReadsOpen(i)) elements = std::max(elements, kOpenElements);
  const int64_t rows = elements / width + 1;
  return kLaunch + std::max<int64_t>(variables, 1) * (elements + rows * kNextRow);
}

int64_t CostModel::InferCost(int i) {
  const NodeDef& node = index_.node(i);
  if (index_.facts(i).Is(OpFacts::kRunsFunctions)) return CostOfFunctions(i);
  const Work work = index_.facts(i).work;
  if (work == Work::kNone) return 0;
  if (work == Work::kBookkeeping) return kBookkeeping;
  if (work == Work::kRows) return CostOfRows(i);
  // Reductions and most other ops read more than they write.
  int64_t elements = AssumedElements(shape_[i]);
  const int inputs = node.NumDataInputs();
  for (int k = 0; k < inputs; ++k) {
    elements = std::max(elements, AssumedElements(InputShape(i, k)));
  }
  if (work != Work::kMove && (is_open_[i] || ReadsOpen(i))) {
    elements = std::max(elements, kOpenElements);
  }
  int64_t each = 1;
  if (work == Work::kContraction) {
    const PartialShape& left = InputShape(i, 0);
    const PartialShape& right = InputShape(i, 1);
    const int64_t columns =
        right.unknown_rank || right.dims.size() < 2
            ? kUnknownDim
            : AssumedDim(right.dims[node.attrs.Bool("transpose_b", false) ? right.dims.size() - 2
                                                                          : right.dims.size() - 1]);
    elements = AssumedElements(left);
    each = 2 * std::min(columns, kMaxElements / 2);
  } else if (work == Work::kConvolution) {
    // The whole filter is applied at each position; positions are unknown more often than not.
    elements = kUnknownDim * kUnknownDim;
    each = 2 * std::min(AssumedElements(InputShape(i, 1)), kMaxElements / elements);
  } else if (work == Work::kTranscendental) {
    each = 10;
  } else if (work == Work::kSuppression) {
    each = 50;
  }
  each = std::max<int64_t>(each, 1);  // none where a matrix has no columns
  return kLaunch + std::min(elements, kMaxElements / each) * each;
}

}  // namespace tektite::clustering
