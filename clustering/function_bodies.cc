#include "clustering/function_bodies.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "clustering/compile_time.h"
#include "clustering/importer/live_nodes.h"
#include "clustering/importer/movement/row_counts.h"

namespace tektite::clustering {
namespace {

using graph_def::DataType;
using graph_def::FunctionRef;
using graph_def::FunctionsOf;
using graph_def::GraphDef;
using graph_def::GraphIndex;
using graph_def::NodeDef;

// Where a value comes from when nodes that only pass it on are taken away.
int Origin(const GraphIndex& index, int node) {
  while (index.facts(node).Is(OpFacts::kKeepsRows) && index.node(node).NumDataInputs() == 1) {
    node = index.inputs(node)[0].node;
  }
  return node;
}

// Whether a loop's body returns its arguments as they came, by argument.
std::vector<bool> HandedOn(const GraphIndex& body, size_t num_args) {
  std::vector<bool> handed_on(num_args, false);
  for (int i = 0; i < body.num_nodes(); ++i) {
    if (body.node(i).op != "_Retval") continue;
    const int64_t index = body.node(i).attrs.Int("index", -1);
    const NodeDef& origin = body.node(Origin(body, i));
    if (origin.op == "_Arg" && origin.attrs.Int("index", -2) == index && index >= 0 &&
        index < static_cast<int64_t>(num_args)) {
      handed_on[index] = true;
    }
  }
  return handed_on;
}

// Whether it takes an element out of a list that may be a shape: a gradient's loop keeps the shapes
// of the forward turns there.  The importer finds out the elements of such a list.
bool MayBeKnownElement(const GraphIndex& index, int node) {
  if (!index.facts(node).Is(OpFacts::kTakesList)) return false;
  const DataType type = index.node(node).attrs.Type("element_dtype");
  return type == DataType::kInt32 || type == DataType::kInt64;
}

bool IsEnd(const NodeDef& node) { return node.op == "_Arg" || node.op == "_Retval"; }

Refusal InBody(const NodeDef& node, const Refusal& why) {
  std::string detail = absl::StrCat(ReasonCode(why.reason), ": ", node.op, " '", node.name, "'");
  if (!why.detail.empty() && why.detail != node.op) absl::StrAppend(&detail, ": ", why.detail);
  return {Reason::kFUNCTION_BODY, std::move(detail)};
}

// "CPU:1" of a device's name; where it names none, its user's, and the first CPU otherwise.
std::string Processor(absl::string_view device, absl::string_view users) {
  for (absl::string_view name : {device, users}) {
    for (absl::string_view part : absl::StrSplit(name, '/')) {
      absl::ConsumePrefix(&part, "device:");
      const std::string place = absl::AsciiStrToUpper(part);
      if (absl::StartsWith(place, "CPU:") || absl::StartsWith(place, "GPU:")) return place;
    }
  }
  return "CPU:0";
}

// Refuses nodes that a body must not hold though a cluster may.
Refusal CheckForBody(const GraphIndex& index, int i, absl::string_view device, bool in_condition) {
  if (Processor(index.node(i).device, device) != Processor(device, "")) {
    return {Reason::kDEVICE, index.node(i).device};
  }
  if (in_condition && index.facts(i).Is(OpFacts::kWritesVariable)) {
    return {Reason::kCONTROL_FLOW, "it assigns to a variable"};
  }
  const int outputs = index.facts(i).IsCompiled() ? 3 : 0;  // no op that counts rows has more
  for (int output = 0; output < outputs; ++output) {
    if (importer::MakesRowCount(index, i, output)) return {Reason::kDATA_DEPENDENT_SHAPE, ""};
  }
  return {};
}

}  // namespace

int FirstArgument(const NodeDef& node) {
  return node.attrs.Find("body") == nullptr && node.attrs.Find("f") == nullptr ? 1 : 0;
}

FunctionBodies::FunctionBodies(const GraphIndex& index, const MarkOptions& options)
    : index_(index), options_(options), graphs_(index.graph()), lengths_(index.graph()) {
  options_.fetches.clear();
  options_.mode = MarkMode::kAll;
}

Refusal FunctionBodies::Check(int node, const Knows& knows) {
  return CheckNode(index_, node, {index_.node(node).device}, knows);
}

Refusal FunctionBodies::CheckNode(const GraphIndex& index, int node, Place place,
                                  const Knows& knows) {
  const NodeDef& def = index.node(node);
  place.in_xla_body |= IsXlaCall(def);
  if (place.depth >= kMostDepth) {
    return {Reason::kFUNCTION_BODY, absl::StrCat("functions more than ", kMostDepth, " deep")};
  }
  const graph_def::AttrValue* const body = def.attrs.Find("body");
  const size_t first = FirstArgument(def);
  std::vector<bool> known;
  for (size_t i = first; i < static_cast<size_t>(def.NumDataInputs()); ++i) {
    known.push_back(knows(static_cast<int>(i)));
  }
  if (body != nullptr && lengths_.GrowsWithoutBound(index, node)) {
    return {Reason::kFUNCTION_BODY, "a list grows in it, and nothing bounds how often it turns"};
  }
  if (body != nullptr) {
    const FunctionRef* function = body->As<FunctionRef>();
    const absl::StatusOr<const GraphDef*> graph =
        graphs_.Get(function == nullptr ? FunctionRef() : *function);
    if (!graph.ok()) return {Reason::kFUNCTION_BODY, std::string(graph.status().message())};
    const absl::StatusOr<GraphIndex> inside = GraphIndex::Create(**graph);
    if (!inside.ok()) return {Reason::kFUNCTION_BODY, std::string(inside.status().message())};
    const std::vector<bool> handed_on = HandedOn(*inside, known.size());
    for (size_t i = 0; i < known.size(); ++i) known[i] = known[i] && handed_on[i];
  }
  for (const FunctionRef& function : FunctionsOf(def)) {
    Place inside = place;
    inside.in_condition |= body != nullptr && function.name != body->As<FunctionRef>()->name;
    if (Refusal refusal = CheckBody(function, known, inside); refusal.reason != Reason::kNone) {
      return refusal;
    }
  }
  return {};
}

Refusal FunctionBodies::CheckBody(const FunctionRef& function, const std::vector<bool>& known,
                                  const Place& place) {
  const absl::StatusOr<const GraphDef*> graph = graphs_.Get(function);
  if (!graph.ok()) return {Reason::kFUNCTION_BODY, std::string(graph.status().message())};
  const absl::StatusOr<GraphIndex> index = GraphIndex::Create(**graph);
  if (!index.ok()) return {Reason::kFUNCTION_BODY, std::string(index.status().message())};
  CompileTime::Given given;
  MarkOptions options = options_;
  options.in_xla_body = place.in_xla_body;
  Place inside = place;
  ++inside.depth;
  for (int i = 0; i < index->num_nodes(); ++i) {
    const int64_t arg = index->node(i).attrs.Int("index", -1);
    if (index->node(i).op == "_Arg" && arg >= 0 && arg < static_cast<int64_t>(known.size()) &&
        known[arg]) {
      given.insert(i);
    }
    if (MayBeKnownElement(*index, i)) given.insert(i);
  }
  const CompileTime values(
      *index, [](int, int) { return true; }, given, place.in_xla_body);
  std::vector<bool> is_live(index->num_nodes(), false);
  for (int i : importer::LiveNodes(*index)) is_live[i] = true;
  for (int i : index->order()) {
    const NodeDef& node = index->node(i);
    // TensorFlow prunes unneeded nodes, unless they have effects; no op that is compiled has any,
    // but for those of the functions that it runs.
    const OpFacts& facts = index->facts(i);
    const bool may_be_pruned = facts.IsCompiled() && !facts.Is(OpFacts::kRunsFunctions);
    if (IsEnd(node) || (!is_live[i] && may_be_pruned)) continue;
    Refusal refusal = Compilability(*index, i, options);
    if (refusal.reason == Reason::kNone)
      refusal = CheckForBody(*index, i, place.device, place.in_condition);
    if (refusal.reason == Reason::kNone && lengths_.MakesRows(*index, i, true))
      refusal = {Reason::kDATA_DEPENDENT_SHAPE, "a list as long as the turns have made it"};
    if (const int input = values.UnknownInput(i); refusal.reason == Reason::kNone && input >= 0) {
      refusal = {Reason::kNOT_COMPILE_TIME, absl::StrCat("input ", input)};
    }
    if (refusal.reason != Reason::kNone) return InBody(node, refusal);
    if (!index->facts(i).Is(OpFacts::kRunsFunctions)) continue;
    const auto knows = [&](int input) { return values.Knows(index->inputs(i)[input].node); };
    refusal = CheckNode(*index, i, inside, knows);
    if (refusal.reason != Reason::kNone) return refusal;
  }
  return {};
}

}  // namespace tektite::clustering
