#include "clustering/importer/row_counts.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

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
  if (facts.Is(OpFacts::kKeepsRows)) return true;
  if (facts.Is(OpFacts::kSqueezesRows)) return KeepsFirst(index.node(node));
  return facts.Is(OpFacts::kGathersRows) && input == 1 && GathersRows(index, node);
}

}  // namespace tektite::importer
