#include "clustering/graph_def/positions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "clustering/graph_def/tensor.h"
#include "jit/base/wrapping.h"

namespace tektite::graph_def {
namespace {

using Edge = GraphIndex::Edge;

constexpr Edge kNone = {};        // what stands for an input that a node lacks; its `node` is -1
constexpr int kMostSteps = 64;    // of one walk; programs take a few
constexpr int kMostEntries = 64;  // no tensor has so many dimensions
constexpr int kRankUnknown = -1;

// Beside a known part: (node, output, element) -> factor. No factor is 0.
using Unknowns = std::map<std::tuple<int, int, int64_t>, int64_t>;

// Factors wrap as the integers of a graph do.
void AddTo(Unknowns* sum, const Unknowns& other, int64_t factor) {
  for (const auto& [unknown, times] : other) {
    const auto [it, is_new] = sum->emplace(unknown, 0);
    it->second = WrappingAdd(it->second, WrappingMul(factor, times));
    if (it->second == 0) sum->erase(it);
  }
}

// The elements of a constant of integers; nothing of another node.
std::optional<std::vector<int64_t>> ConstantOf(const NodeDef& node) {
  if (node.op != "Const") return std::nullopt;
  const AttrValue* value = node.attrs.Find("value");
  const auto* proto = value == nullptr ? nullptr : value->As<TensorProto>();
  if (proto == nullptr) return std::nullopt;
  absl::StatusOr<std::vector<int64_t>> elements = MaterializeIntegers(*proto);
  if (!elements.ok()) return std::nullopt;
  return *std::move(elements);
}

bool Bit(const NodeDef& node, absl::string_view mask, int64_t i) {
  return i < 63 && ((node.attrs.Int(mask, 0) >> i) & 1) != 0;
}

// One question about a graph.
class Walk {
 public:
  Walk(const GraphIndex& index, const Positions::Relation& knows,
       const Positions::Relation& together)
      : index_(index), knows_(knows), together_(together) {}

  // What is unknown of an element of `node`'s input, a tensor of that rank.
  Unknowns Of(int node, int input, int64_t element, int rank) {
    const Edge edge = Input(node, input);
    if (edge.node < 0) return {{{node, -1 - input, element}, 1}};
    return At(edge, node, element, rank);
  }

  bool IsKnown(int node, int input, int64_t element) { return Of(node, input, element, 1).empty(); }

  // Whether the element's value is known to be a constant, and which one.
  std::optional<int64_t> Constant(int node, int input, int64_t element) {
    const Edge edge = Input(node, input);
    if (edge.node < 0) return std::nullopt;
    if (const auto elements = ConstantOf(index_.node(edge.node))) {
      if (elements->size() == 1) return elements->front();
      if (element < static_cast<int64_t>(elements->size())) return (*elements)[element];
      return std::nullopt;
    }
    if (!together_(edge.node, node)) return std::nullopt;
    const std::optional<std::pair<int, int64_t>> part = PartOf(edge.node, element);
    return part ? Constant(edge.node, part->first, part->second) : std::nullopt;
  }

  // The number of elements of a vector; nothing where the graph does not tell.
  std::optional<int64_t> Length(int node, int input) {
    const Edge edge = Input(node, input);
    if (edge.node < 0) return std::nullopt;
    const NodeDef& from = index_.node(edge.node);
    if (const auto elements = ConstantOf(from)) return static_cast<int64_t>(elements->size());
    if (!together_(edge.node, node)) return std::nullopt;
    if (from.op == "Pack") return from.NumDataInputs();
    if (from.op == "ExpandDims") return 1;  // of a scalar
    if (from.op == "Reshape") {
      const Edge sizes = Input(edge.node, 1);
      if (sizes.node < 0) return std::nullopt;
      const auto shape = ConstantOf(index_.node(sizes.node));
      if (shape && shape->size() == 1 && shape->front() >= 0) return shape->front();
    }
    if (from.op == "ConcatV2") {
      int64_t sum = 0;
      for (int i = 0; i + 1 < from.NumDataInputs(); ++i) {
        const std::optional<int64_t> part = Length(edge.node, i);
        if (!part) return std::nullopt;
        sum += *part;
      }
      return sum;
    }
    return std::nullopt;
  }

  // Element (row, column) of a matrix that a Pack or a concatenation of columns makes.
  std::optional<Unknowns> InRow(int node, int input, int64_t row, int column) {
    const Edge edge = Input(node, input);
    if (edge.node < 0) return std::nullopt;
    const NodeDef& from = index_.node(edge.node);
    if (knows_(edge.node, node)) return Unknowns();
    if (!together_(edge.node, node)) return std::nullopt;
    if (from.op == "Pack" && from.attrs.Int("axis", 0) == 0) {
      return Of(edge.node, static_cast<int>(row), column, 1);
    }
    if (from.op == "ConcatV2") return Of(edge.node, column, row, kRankUnknown);
    return std::nullopt;
  }

  // The rows of such a matrix of two columns.
  std::optional<int64_t> Rows(int node, int input) {
    const Edge edge = Input(node, input);
    if (edge.node < 0) return std::nullopt;
    const NodeDef& from = index_.node(edge.node);
    if (!together_(edge.node, node)) return std::nullopt;
    if (from.op == "Pack") return from.NumDataInputs();
    if (from.op != "ConcatV2" || from.NumDataInputs() != 3) return std::nullopt;
    const std::optional<int64_t> axis = Constant(edge.node, 2, 0);
    if (!axis || (*axis != 1 && *axis != -1)) return std::nullopt;
    std::optional<int64_t> rows;
    for (int column = 0; column < 2; ++column) {
      const std::optional<int64_t> here = ColumnRows(edge.node, column);
      if (!here || (rows && *rows != *here)) return std::nullopt;
      rows = here;
    }
    return rows;
  }

 private:
  // A graph that nobody has checked may have nodes with fewer inputs than their op takes.
  Edge Input(int node, int input) const {
    return input < index_.node(node).NumDataInputs() ? index_.inputs(node)[input] : kNone;
  }

  // A vector that is reshaped to [rows, 1].
  std::optional<int64_t> ColumnRows(int node, int input) {
    const Edge edge = Input(node, input);
    if (edge.node < 0 || index_.node(edge.node).op != "Reshape" || !together_(edge.node, node))
      return std::nullopt;
    if (Length(edge.node, 1) != 2 || Constant(edge.node, 1, 1) != 1) return std::nullopt;
    return Constant(edge.node, 1, 0);
  }

  // Which element of which input an element of this vector is.
  std::optional<std::pair<int, int64_t>> PartOf(int node, int64_t element) {
    const NodeDef& def = index_.node(node);
    const int inputs = def.NumDataInputs();
    if (def.op == "Pack" && def.attrs.Int("axis", 0) == 0) {
      if (inputs == 1) return std::pair(0, int64_t{0});
      if (element < inputs) return std::pair(static_cast<int>(element), int64_t{0});
    }
    if (def.op == "ConcatV2") {
      for (int i = 0; i + 1 < inputs; ++i) {
        const std::optional<int64_t> length = Length(node, i);
        if (!length) return std::nullopt;
        if (element < *length) return std::pair(i, element);
        element -= *length;
      }
    }
    return std::nullopt;
  }

  // The place in the sliced vector of an element of a slice with constant bounds.
  std::optional<int64_t> Sliced(int node, int64_t element, int rank) {
    const NodeDef& def = index_.node(node);
    const std::optional<int64_t> begin =
        Bit(def, "begin_mask", 0) ? int64_t{0} : Constant(node, 1, 0);
    const bool is_plain = Length(node, 3) == 1 && Constant(node, 3, 0) == 1 &&
                          !Bit(def, "new_axis_mask", 0) && !Bit(def, "ellipsis_mask", 0);
    const bool shrinks = Bit(def, "shrink_axis_mask", 0);
    if (!is_plain || !begin || *begin < 0 || rank != (shrinks ? 0 : 1)) return std::nullopt;
    return WrappingAdd(*begin, element);
  }

  Unknowns At(const Edge& edge, int user, int64_t element, int rank) {
    if (edge.is_control() || knows_(edge.node, user)) return {};
    Unknowns itself = {{{edge.node, edge.output, element}, 1}};
    if (--steps_left_ < 0 || !together_(edge.node, user)) return itself;
    const int node = edge.node;
    const NodeDef& def = index_.node(node);
    const std::string& op = def.op;
    if (op == "Identity" || op == "StopGradient" || op == "Snapshot" || op == "PreventGradient") {
      return Of(node, 0, element, rank);
    }
    if (op == "Reshape" || op == "Squeeze") return Of(node, 0, element, kRankUnknown);
    if (op == "ExpandDims") return Of(node, 0, element, rank == 1 ? 0 : kRankUnknown);
    if (op == "Cast") {
      const bool is_wider =
          def.attrs.Type("SrcT") == DataType::kInt32 && def.attrs.Type("DstT") == DataType::kInt64;
      return is_wider ? Of(node, 0, element, rank) : itself;
    }
    if (op == "Neg") return Sum(node, element, rank, {-1});
    if (op == "Add" || op == "AddV2") return Sum(node, element, rank, {1, 1});
    if (op == "Sub") return Sum(node, element, rank, {1, -1});
    if (op == "Mul") {
      for (const int constant : {0, 1}) {
        const std::optional<int64_t> factor = Constant(node, constant, element);
        if (!factor) continue;
        Unknowns product;
        AddTo(&product, Of(node, 1 - constant, element, rank), *factor);
        return product;
      }
      return itself;
    }
    if (rank == 1 && (op == "Pack" || op == "ConcatV2")) {
      const std::optional<std::pair<int, int64_t>> part = PartOf(node, element);
      if (!part) return itself;
      return Of(node, part->first, part->second, op == "Pack" ? 0 : 1);
    }
    if (op == "StridedSlice") {
      const std::optional<int64_t> place = Sliced(node, element, rank);
      return place ? Of(node, 0, *place, 1) : itself;
    }
    if (op == "Unpack" && rank == 0) return Of(node, 0, edge.output, 1);
    return itself;
  }

  // A vector's operands are vectors, of as many elements or of one, and scalars.
  Unknowns Sum(int node, int64_t element, int rank, const std::vector<int64_t>& factors) {
    Unknowns sum;
    for (size_t i = 0; i < factors.size(); ++i) {
      AddTo(&sum, Of(node, static_cast<int>(i), element, rank), factors[i]);
    }
    return sum;
  }

  const GraphIndex& index_;
  const Positions::Relation &knows_, &together_;
  int steps_left_ = kMostSteps;
};

// What asks about one node.
class Question {
 public:
  Question(const GraphIndex& index, const Positions::Relation& knows,
           const Positions::Relation& together, bool for_xla, int node)
      : index_(index), knows_(knows), together_(together), for_xla_(for_xla), node_(node) {}

  bool MayBeData(int input) {
    const std::string& op = index_.node(node_).op;
    if (op == "Slice") return input == 1 && KnowsSizes();
    if (op == "Roll") return input == 1;
    if (op == "StridedSlice") return input <= 2 && KnowsDistances();
    if (for_xla_) return (input == 1 || input == 2) && KnowsDistances();
    if (op == "Range") {
      const DataType type = index_.node(node_).attrs.Type("Tidx");
      const bool is_integer = type == DataType::kInt32 || type == DataType::kInt64;
      return is_integer && input <= 1 && KnowsDistance(0, 1, 0, 0);
    }
    if (op == "Pad" || op == "PadV2") return input == 1 && KnowsSums();
    // The others get tensors of the slice's sizes.
    return input == 1 || input == 2;
  }

 private:
  Walk NewWalk() const { return Walk(index_, knows_, together_); }

  // Of an element of both inputs.
  bool KnowsDistance(int from, int to, int64_t element, int rank) {
    Unknowns distance = NewWalk().Of(node_, to, element, rank);
    AddTo(&distance, NewWalk().Of(node_, from, element, rank), -1);
    return distance.empty();
  }

  // A size of -1 is the rest behind a place that must be known.
  bool KnowsSizes() {
    const int64_t entries = NewWalk().Length(node_, 2).value_or(0);
    for (int64_t i = 0; i < std::min<int64_t>(entries, kMostEntries); ++i) {
      if (NewWalk().Constant(node_, 2, i) == -1 && !NewWalk().IsKnown(node_, 1, i)) return false;
    }
    return true;
  }

  bool KnowsDistances() {
    const NodeDef& def = index_.node(node_);
    const int inputs = def.NumDataInputs();
    if (inputs < 4) return false;
    const std::optional<int64_t> entries = NewWalk().Length(node_, 3);
    if (!entries || *entries > kMostEntries) return false;
    for (int64_t i = 0; i < *entries; ++i) {
      if (Bit(def, "ellipsis_mask", i) || Bit(def, "new_axis_mask", i) ||
          Bit(def, "shrink_axis_mask", i)) {
        continue;
      }
      const bool begins = !Bit(def, "begin_mask", i), ends = !Bit(def, "end_mask", i);
      const bool knows =
          (!begins || NewWalk().IsKnown(node_, 1, i)) && (!ends || NewWalk().IsKnown(node_, 2, i));
      if (knows) continue;
      if (for_xla_ || !begins || !ends || !KnowsDistance(1, 2, i, 1)) return false;
    }
    return true;
  }

  // What is added to each dimension, before it and behind it together.
  bool KnowsSums() {
    const std::optional<int64_t> rows = NewWalk().Rows(node_, 1);
    if (!rows || *rows > kMostEntries) return false;
    for (int64_t row = 0; row < *rows; ++row) {
      std::optional<Unknowns> before = NewWalk().InRow(node_, 1, row, 0);
      const std::optional<Unknowns> behind = NewWalk().InRow(node_, 1, row, 1);
      if (!before || !behind) return false;
      AddTo(&*before, *behind, 1);
      if (!before->empty()) return false;
    }
    return true;
  }

  const GraphIndex& index_;
  const Positions::Relation &knows_, &together_;
  const bool for_xla_;
  const int node_;
};

}  // namespace

bool Positions::MayBeData(int node, int input) const {
  return Question(index_, knows_, together_, for_xla_, node).MayBeData(input);
}

}  // namespace tektite::graph_def
