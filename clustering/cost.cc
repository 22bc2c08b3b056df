#include "clustering/cost.h"

#include <algorithm>

#include "absl/strings/match.h"

namespace tektite::clustering {
namespace {

using graph_def::GraphIndex;
using graph_def::NodeDef;
using graph_def::PartialShape;

constexpr int64_t kUnknownDim = 32;
constexpr int64_t kUnknownRankElements = 1024;
// What a tensor with a dimension that the graph leaves open counts as, at least: enough for a
// cluster, and for an op that gains alone.
constexpr int64_t kOpenElements = int64_t{1} << 18;
// No tensor is taken to be larger, so that sums of costs stay far from overflow.
constexpr int64_t kMaxElements = int64_t{1} << 40;
// An op of the host costs about 2 us to launch, whatever it does.
constexpr int64_t kLaunch = 2000;
// Work that only moves a pointer or a few integers.
constexpr int64_t kBookkeeping = 500;

template <size_t N>
bool IsOneOf(absl::string_view op, const absl::string_view (&list)[N]) {
  return std::find(std::begin(list), std::end(list), op) != std::end(list);
}

constexpr absl::string_view kFree[] = {"Const", "Identity", "NoOp", "ReadVariableOp"};
constexpr absl::string_view kCheap[] = {"BroadcastArgs", "BroadcastGradientArgs",
                                        "ExpandDims",    "PreventGradient",
                                        "Rank",          "Reshape",
                                        "Shape",         "ShapeN",
                                        "Size",          "Snapshot",
                                        "Squeeze",       "StopGradient",
                                        "VariableShape"};
constexpr absl::string_view kTranscendental[] = {"Acos",
                                                 "Acosh",
                                                 "AdjustHue",
                                                 "AdjustSaturation",
                                                 "Asin",
                                                 "Asinh",
                                                 "Atan",
                                                 "Atan2",
                                                 "Atanh",
                                                 "Cos",
                                                 "Cosh",
                                                 "Elu",
                                                 "Erf",
                                                 "Erfc",
                                                 "Erfinv",
                                                 "Exp",
                                                 "Expm1",
                                                 "Log",
                                                 "Log1p",
                                                 "LogSoftmax",
                                                 "Pow",
                                                 "Selu",
                                                 "Sigmoid",
                                                 "Sin",
                                                 "Sinh",
                                                 "Softmax",
                                                 "Softplus",
                                                 "Tan",
                                                 "Tanh",
                                                 "Xlogy",
                                                 "_MklSwish",
                                                 "Digamma",
                                                 "Lgamma",
                                                 "Xlog1py",
                                                 "SoftmaxCrossEntropyWithLogits",
                                                 "SparseSoftmaxCrossEntropyWithLogits"};
constexpr absl::string_view kContractions[] = {"BatchMatMul", "BatchMatMulV2", "BatchMatMulV3",
                                               "Einsum",      "MatMul",        "_FusedMatMul"};
// Compiled by itself on [512,1024], one thread, each of these ran at least 1.4 times as fast as
// TensorFlow's kernel (softmax 2.1, cumsum 7, sparse cross entropy 7.8; reductions 1.0 to 2.1 by
// their axes; where 1.8 to 8; suppression of 10,000 boxes 2.5; on [1,256,256,3] contrast 3, hue and
// saturation 25, bicubic 1.7, nearest 5).  Left out: plain arithmetic, products, transposes, tanh,
// whatever only moves data (0.2 to 1.1), unique values (0.9 to 4) and top k (0.5 to 7, by rows and
// k).
constexpr absl::string_view kGainsAlone[] = {"AdjustContrastv2",
                                             "AdjustHue",
                                             "AdjustSaturation",
                                             "ArgMax",
                                             "ArgMin",
                                             "Cos",
                                             "Cumprod",
                                             "Cumsum",
                                             "Elu",
                                             "Erf",
                                             "Erfc",
                                             "Exp",
                                             "Expm1",
                                             "FusedBatchNorm",
                                             "FusedBatchNormV2",
                                             "FusedBatchNormV3",
                                             "L2Loss",
                                             "Log",
                                             "Log1p",
                                             "LogSoftmax",
                                             "Max",
                                             "Mean",
                                             "Min",
                                             "NonMaxSuppression",
                                             "NonMaxSuppressionV2",
                                             "NonMaxSuppressionV3",
                                             "NonMaxSuppressionV4",
                                             "NonMaxSuppressionV5",
                                             "Pow",
                                             "Prod",
                                             "ResizeBicubic",
                                             "ResizeNearestNeighbor",
                                             "Selu",
                                             "Sigmoid",
                                             "Sin",
                                             "Softmax",
                                             "SoftmaxCrossEntropyWithLogits",
                                             "Softplus",
                                             "SparseSoftmaxCrossEntropyWithLogits",
                                             "Sum",
                                             "Where"};
// The host's kernels do as well, whatever the size.
constexpr absl::string_view kMoves[] = {
    "BroadcastTo",  "Cast",     "Concat",    "ConcatV2",       "Fill",  "Gather",
    "GatherNd",     "GatherV2", "OnesLike",  "Pack",           "Pad",   "PadV2",
    "Range",        "Reverse",  "ReverseV2", "ResourceGather", "Slice", "SpaceToDepth",
    "DepthToSpace", "Split",    "SplitV",    "StridedSlice",   "Tile",  "Transpose",
    "Unpack",       "ZerosLike"};
// The result of an open operand is small, or likely to be.
constexpr absl::string_view kShrinks[] = {
    "All",           "Any",    "ArgMax", "ArgMin", "BroadcastArgs", "BroadcastGradientArgs",
    "EuclideanNorm", "L2Loss", "Max",    "Mean",   "Min",           "Prod",
    "Rank",          "Shape",  "ShapeN", "Size",   "Sum",           "VariableShape"};
// The output has the shape of the broadcast inputs.
constexpr absl::string_view kKeepsShape[] = {"Abs",
                                             "Add",
                                             "AddN",
                                             "AddV2",
                                             "AdjustContrastv2",
                                             "AdjustHue",
                                             "AdjustSaturation",
                                             "BiasAdd",
                                             "Cast",
                                             "Div",
                                             "DivNoNan",
                                             "Elu",
                                             "Erf",
                                             "Erfc",
                                             "Exp",
                                             "Expm1",
                                             "Identity",
                                             "Log",
                                             "Log1p",
                                             "Maximum",
                                             "Minimum",
                                             "Mul",
                                             "Neg",
                                             "OnesLike",
                                             "Pow",
                                             "RealDiv",
                                             "Relu",
                                             "Relu6",
                                             "ReluGrad",
                                             "Rsqrt",
                                             "Select",
                                             "SelectV2",
                                             "Sigmoid",
                                             "Softmax",
                                             "Sqrt",
                                             "Square",
                                             "SquaredDifference",
                                             "StopGradient",
                                             "Sub",
                                             "Tanh",
                                             "ZerosLike",
                                             "_MklSwish"};

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

const PartialShape* FirstShape(const NodeDef& node, absl::string_view attr) {
  const graph_def::AttrValue* value = node.attrs.Find(attr);
  const auto* shapes = value == nullptr ? nullptr : value->AsListOf<PartialShape>();
  return shapes == nullptr || shapes->empty() ? nullptr : &shapes->front();
}

}  // namespace

bool GainsAlone(const NodeDef& node) {
  if (!IsOneOf(node.op, kGainsAlone)) return false;
  // With statistics of the batch to compute it is 0.9.
  return !absl::StartsWith(node.op, "FusedBatchNorm") || !node.attrs.Bool("is_training", true);
}

CostModel::CostModel(const GraphIndex& index)
    : index_(index),
      shape_(index.num_nodes(), UnknownShape()),
      is_open_(index.num_nodes(), false),
      cost_(index.num_nodes(), 0) {
  for (int node : index.order()) {
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
  if (const PartialShape* shape = FirstShape(node, "_output_shapes")) return *shape;
  if (node.op == "Const") {
    const graph_def::AttrValue* value = node.attrs.Find("value");
    const auto* tensor = value == nullptr ? nullptr : value->As<graph_def::TensorProto>();
    return tensor == nullptr ? UnknownShape() : tensor->shape;
  }
  if (node.op == "Placeholder" || node.op == "_Arg") {
    const graph_def::AttrValue* value = node.attrs.Find("shape");
    const auto* shape = value == nullptr ? nullptr : value->As<PartialShape>();
    return shape == nullptr ? UnknownShape() : *shape;
  }
  const int inputs = node.NumDataInputs();
  if (node.op == "ReadVariableOp" && inputs == 1) {
    const NodeDef& handle = index_.node(index_.inputs(i)[0].node);
    const PartialShape* shape = FirstShape(handle, "_handle_shapes");
    if (shape != nullptr) return *shape;
    const graph_def::AttrValue* value = handle.attrs.Find("shape");  // a VarHandleOp
    shape = value == nullptr ? nullptr : value->As<PartialShape>();
    return shape == nullptr ? UnknownShape() : *shape;
  }
  if (inputs == 0 || !IsOneOf(node.op, kKeepsShape)) return UnknownShape();
  PartialShape shape = InputShape(i, 0);
  for (int k = 1; k < inputs; ++k) shape = Broadcast(shape, InputShape(i, k));
  return shape;
}

bool CostModel::InferOpen(int i) const {
  const PartialShape& shape = shape_[i];
  if (!shape.unknown_rank) {
    return std::any_of(shape.dims.begin(), shape.dims.end(), [](int64_t d) { return d < 0; });
  }
  return !IsOneOf(index_.node(i).op, kShrinks) && ReadsOpen(i);
}

bool CostModel::ReadsOpen(int i) const {
  const auto inputs = index_.inputs(i);
  return std::any_of(inputs.begin(), inputs.end(), [&](const GraphIndex::Edge& in) {
    return !in.is_control() && is_open_[in.node];
  });
}

int64_t CostModel::InferCost(int i) const {
  const NodeDef& node = index_.node(i);
  if (IsOneOf(node.op, kFree)) return 0;
  if (IsOneOf(node.op, kCheap)) return kBookkeeping;
  // Reductions and most others read more than they write.
  int64_t elements = AssumedElements(shape_[i]);
  const int inputs = node.NumDataInputs();
  for (int k = 0; k < inputs; ++k) {
    elements = std::max(elements, AssumedElements(InputShape(i, k)));
  }
  if (!IsOneOf(node.op, kMoves) && (is_open_[i] || ReadsOpen(i))) {
    elements = std::max(elements, kOpenElements);
  }
  int64_t each = 1;
  if (IsOneOf(node.op, kContractions)) {
    const PartialShape& left = InputShape(i, 0);
    const PartialShape& right = InputShape(i, 1);
    const int64_t columns =
        right.unknown_rank || right.dims.size() < 2
            ? kUnknownDim
            : AssumedDim(right.dims[node.attrs.Bool("transpose_b", false) ? right.dims.size() - 2
                                                                          : right.dims.size() - 1]);
    elements = AssumedElements(left);
    each = 2 * std::min(columns, kMaxElements / 2);
  } else if (absl::StrContains(node.op, "Conv2D") || absl::StrContains(node.op, "Conv2d") ||
             absl::StrContains(node.op, "Conv3D")) {
    // The whole filter is applied at each position; positions are unknown more often than not.
    elements = kUnknownDim * kUnknownDim;
    each = 2 * std::min(AssumedElements(InputShape(i, 1)), kMaxElements / elements);
  } else if (IsOneOf(node.op, kTranscendental)) {
    each = 10;
  } else if (absl::StartsWith(node.op, "NonMaxSuppression")) {
    each = 50;
  }
  each = std::max<int64_t>(each, 1);  // none where a matrix has no columns
  return kLaunch + std::min(elements, kMaxElements / each) * each;
}

}  // namespace tektite::clustering
