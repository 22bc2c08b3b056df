#include "clustering/importer/movement/row_counts.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "clustering/graph_def/tensor.h"

namespace tektite::importer {
namespace {

using clustering::OpFacts;
using graph_def::GraphIndex;
using graph_def::NodeDef;

// The elements of a constant of integers.
std::optional<std::vector<int64_t>> ConstantIntegers(const NodeDef& node) {
  const graph_def::AttrValue* value = node.attrs.Find("value");
  const auto* tensor = value == nullptr ? nullptr : value->As<graph_def::TensorProto>();
  if (node.op != "Const" || tensor == nullptr) return std::nullopt;
  auto elements = graph_def::MaterializeIntegers(*tensor);
  if (!elements.ok()) return std::nullopt;
  return *std::move(elements);
}

bool IsZero(const NodeDef& node) { return ConstantIntegers(node) == std::vector<int64_t>{0}; }

// Constants say where everything goes.
bool StitchesAtConstants(const GraphIndex& index, int node) {
  const auto inputs = index.inputs(node);
  const int parts = index.node(node).NumDataInputs() / 2;
  return std::all_of(inputs.begin(), inputs.begin() + parts,
                     [&](const GraphIndex::Edge& in) { return index.node(in.node).op == "Const"; });
}

// The first dimension stays, whatever its size.
bool KeepsFirst(const NodeDef& squeeze) {
  const graph_def::AttrValue* value = squeeze.attrs.Find("squeeze_dims");
  const auto* dims = value == nullptr ? nullptr : value->AsListOf<int64_t>();
  return dims != nullptr && !dims->empty() &&
         std::all_of(dims->begin(), dims->end(), [](int64_t d) { return d > 0; });
}

// The rows of the indices become those of the result.
bool GathersRows(const GraphIndex& index, int node) {
  const auto inputs = index.inputs(node);
  return index.node(node).attrs.Int("batch_dims", 0) == 0 && inputs.size() > 2 &&
         IsZero(index.node(inputs[2].node));
}

// Indices and, from V5 on, scores; how many there are is a scalar.
bool CountsBoxes(const NodeDef& node, int output) {
  return !node.attrs.Bool("pad_to_max_output_size", false) &&
         output < (node.op == "NonMaxSuppressionV5" ? 2 : 1);
}

bool ReducesSegments(const NodeDef& node) {
  return absl::StartsWith(node.op, "UnsortedSegment") && !absl::EndsWith(node.op, "V2");
}

// x[0]
bool TakesFirst(const GraphIndex& index, int node) {
  const auto inputs = index.inputs(node);
  return index.node(node).op == "StridedSlice" && inputs.size() > 1 &&
         IsZero(index.node(inputs[1].node)) &&
         index.node(node).attrs.Int("shrink_axis_mask", 0) == 1;
}

// Every reader of the node's results satisfies the predicate.
template <typename Predicate>
bool AllReaders(const GraphIndex& index, int node, Predicate&& predicate) {
  const auto uses = index.uses(node);
  return std::all_of(uses.begin(), uses.end(), [&](const GraphIndex::Use& use) {
    return use.output == graph_def::NodeInput::kControl || predicate(use);
  });
}

// shape(x) of which nothing but the first element is read, as a number of segments: where the rows
// of a gradient are added up that are for one row of a variable.
bool CountsSegments(const GraphIndex& index, int node) {
  const auto is_count = [&](const GraphIndex::Use& use) {
    return use.input == 2 && ReducesSegments(index.node(use.node));
  };
  return index.node(node).op == "Shape" && AllReaders(index, node, [&](const GraphIndex::Use& use) {
           return use.input == 0 && TakesFirst(index, use.node) &&
                  AllReaders(index, use.node, is_count);
         });
}

// Whether data input `input` comes from CountsSegments, or is what such a count is taken from.
bool TakesSegmentCount(const GraphIndex& index, int node, int input) {
  const NodeDef& def = index.node(node);
  if (def.op == "Shape") return CountsSegments(index, node);
  const int from = index.inputs(node)[input].node;
  if (def.op == "StridedSlice") return input == 0 && CountsSegments(index, from);
  return input == 2 && ReducesSegments(def) && TakesFirst(index, from) &&
         CountsSegments(index, index.inputs(from)[0].node);
}

// Indices, and one row for each.
bool TakesRowsOfVariable(const GraphIndex& index, int node) {
  const std::string& op = index.node(node).op;
  return index.facts(node).Is(OpFacts::kWritesRows) && op != "ResourceStridedSliceAssign" &&
         !absl::StartsWith(op, "ResourceScatterNd");
}

}  // namespace

bool MakesRowCount(const GraphIndex& index, int node, int output) {
  const OpFacts& facts = index.facts(node);
  if (facts.Is(OpFacts::kSelectsRows)) return true;
  if (facts.Is(OpFacts::kStitchesRows)) return !StitchesAtConstants(index, node);
  if (facts.Is(OpFacts::kSelectsBoxes)) return CountsBoxes(index.node(node), output);
  return facts.Is(OpFacts::kFindsUnique) && output != 1;
}

bool CountsFirstDimension(const GraphIndex& index, int node) {
  if (!index.facts(node).Is(OpFacts::kAlongAxis)) return true;
  const auto inputs = index.inputs(node);
  if (inputs.size() < 2) return false;
  const auto axis = ConstantIntegers(index.node(inputs[1].node));
  return axis && (axis->empty() || *axis == std::vector<int64_t>{0});
}

bool TakesRowCount(const GraphIndex& index, int node, int input) {
  const OpFacts& facts = index.facts(node);
  if (facts.Is(OpFacts::kKeepsRows) || TakesRowsOfVariable(index, node)) return true;
  if (TakesSegmentCount(index, node, input)) return true;
  if (facts.Is(OpFacts::kSqueezesRows)) return KeepsFirst(index.node(node));
  return facts.Is(OpFacts::kGathersRows) && input == 1 && GathersRows(index, node);
}

}  // namespace tektite::importer
