#include "clustering/compilability.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "clustering/importer/movement/row_counts.h"
#include "clustering/xla_differences.h"
#include "jit/ops/ops.h"

namespace tektite::clustering {
namespace {

using graph_def::Attr;
using graph_def::DataType;
using graph_def::GraphIndex;
using graph_def::NodeDef;

// Why an op of this kind is never compiled; kNone where it may be.
Reason ReasonOfKind(const NodeDef& node, const OpFacts& facts, const MarkOptions& options) {
  const bool is_xlas = facts.Is(OpFacts::kRandom) || DiffersInXla(node);
  if (options.in_xla_body && is_xlas) return Reason::kMUST_COMPILE;
  if (facts.Is(OpFacts::kRunsFunctions)) {
    if (IsXlaCall(node)) return options.take_over_xla ? Reason::kNone : Reason::kMUST_COMPILE;
    // A call is taken apart before (graph_def/inline_functions.h), or stays for a reason.
    const bool is_call = node.attrs.Find("f") != nullptr;
    return options.keep_loops && (!is_call || options.in_xla_body) ? Reason::kNone
                                                                   : Reason::kCONTROL_FLOW;
  }
  // Lists of tensors have no meaning without the loops that fill and read them.
  if ((facts.Is(OpFacts::kReturnsList) || facts.Is(OpFacts::kTakesList) ||
       facts.Is(OpFacts::kReturnsArray) || facts.Is(OpFacts::kTakesArray)) &&
      !options.keep_loops) {
    return Reason::kCONTROL_FLOW;
  }
  switch (facts.kind) {
    case OpFacts::Kind::kCompiled:
    case OpFacts::Kind::kOrdering:
      return Reason::kNone;
    case OpFacts::Kind::kBoundary:
      return Reason::kHOST_BOUNDARY;
    case OpFacts::Kind::kControlFlow:
      return Reason::kCONTROL_FLOW;
    case OpFacts::Kind::kUnboundedRows:
      return Reason::kDATA_DEPENDENT_SHAPE;
    case OpFacts::Kind::kOther:
    case OpFacts::Kind::kUnlisted:
      break;
  }
  return Reason::kNO_IMPORTER;
}

// "/job:worker/replica:0/task:0/device:GPU:0" -> "GPU"; "" when no type is named.
std::string DeviceType(absl::string_view device) {
  for (absl::string_view part : absl::StrSplit(device, '/')) {
    const std::vector<absl::string_view> words = absl::StrSplit(part, ':');
    if (words[0] == "device" && words.size() > 1) return std::string(words[1]);
    // The old form "/cpu:0".
    if (words.size() == 2 && (words[0] == "cpu" || words[0] == "gpu")) {
      return words[0] == "cpu" ? "CPU" : "GPU";
    }
  }
  return "";
}

bool DeviceAllowed(const NodeDef& node, const MarkOptions& options) {
  if (node.device.empty()) return true;
  const std::string type = DeviceType(node.device);
  if (type.empty() || options.card_devices.contains(node.device)) return true;
  return std::find(options.device_types.begin(), options.device_types.end(), type) !=
         options.device_types.end();
}

// Loops and calls carry variables and lists of tensors, and some ops hand these on as they are.
bool CanHandle(const OpFacts& facts, DataType type, const MarkOptions& options) {
  if (IsCompiledType(type)) return true;
  if (graph_def::PartType(type)) return facts.TakesComplex() || facts.Is(OpFacts::kRunsFunctions);
  const bool is_list = type == DataType::kVariant && options.keep_loops;
  const bool is_variable = type == DataType::kResource;
  if (facts.Is(OpFacts::kRunsFunctions)) return is_list || is_variable;
  return is_list && (facts.Is(OpFacts::kKeepsRows) || facts.Is(OpFacts::kOfListsToo));
}

// The first attribute that names a type no code is made for; "" when there is none.
std::string UnsupportedType(const NodeDef& node, const OpFacts& facts, const MarkOptions& options) {
  for (const Attr& attr : node.attrs.entries()) {
    if (absl::StartsWith(attr.name, "_")) continue;
    if (const DataType* type = attr.value.As<DataType>()) {
      if (!CanHandle(facts, *type, options)) {
        return absl::StrCat(attr.name, " is ", DataTypeName(*type));
      }
    } else if (const auto* types = attr.value.AsListOf<DataType>()) {
      for (DataType type : *types) {
        if (!CanHandle(facts, type, options)) {
          return absl::StrCat(attr.name, " has ", DataTypeName(type));
        }
      }
    }
  }
  return "";
}

// A string that only assertions read, to print it: it is no value of compiled code.
bool IsMessage(const GraphIndex& index, int i) {
  const NodeDef& node = index.node(i);
  if (node.op != "Const" || node.attrs.Type("dtype") != DataType::kString) return false;
  const auto uses = index.uses(i);
  return std::all_of(uses.begin(), uses.end(), [&](const GraphIndex::Use& use) {
    return use.output == graph_def::NodeInput::kControl || index.node(use.node).op == "Assert";
  });
}

// An assertion may print what code can hold, and messages.
std::string UnsupportedData(const GraphIndex& index, int i) {
  const auto* types = index.node(i).attrs.Find("T");
  const auto* list = types == nullptr ? nullptr : types->AsListOf<DataType>();
  if (list == nullptr) return "T is no list";
  for (size_t k = 0; k < list->size(); ++k) {
    if (IsCompiledType((*list)[k])) continue;
    const int data = static_cast<int>(k) + 1;  // behind the condition
    if (data >= index.node(i).NumDataInputs() || !IsMessage(index, index.inputs(i)[data].node)) {
      return absl::StrCat("T has ", DataTypeName((*list)[k]));
    }
  }
  return "";
}

// The element type where this op has no contract for it; "" elsewhere.
std::string TypeWithoutContract(const NodeDef& node, const OpFacts& facts) {
  const DataType type = node.attrs.Type("T");
  const bool half = type == DataType::kHalf, brain = type == DataType::kBfloat16;
  const bool is_wide = type == DataType::kDouble && facts.Is(OpFacts::kNotDouble);
  if (is_wide || (half && facts.Is(OpFacts::kNotHalf)) ||
      ((half || brain) && facts.Is(OpFacts::kNot16Bit))) {
    return absl::StrCat("T is ", DataTypeName(type));
  }
  return "";
}

// A transposed convolution of a volume is done by phases, the strides' product of them.  Where
// these are more than ops::kMostPhases, an image spread out by the strides is convolved instead,
// and TensorFlow's kernel takes a third of the time.
bool IsSpreadVolume(const NodeDef& node) {
  if (node.op != "Conv3DBackpropInputV2") return false;
  const graph_def::AttrValue* strides = node.attrs.Find("strides");
  const auto* list = strides == nullptr ? nullptr : strides->AsListOf<int64_t>();
  if (list == nullptr) return false;
  int64_t phases = 1;
  for (const int64_t stride : *list) phases *= std::clamp<int64_t>(stride, 1, ops::kMostPhases + 1);
  return phases > ops::kMostPhases;
}

// Whether some op changes rows of a variable that the node gets.
bool TakesRowUpdates(const GraphIndex& index, int i) {
  for (const GraphIndex::Edge& handle : index.inputs(i)) {
    if (handle.is_control()) continue;
    for (const GraphIndex::Use& use : index.uses(handle.node)) {
      // Such an op's inputs behind its variables are tensors.
      if (use.output == handle.output && use.input == 0 &&
          index.facts(use.node).Is(OpFacts::kWritesRows)) {
        return true;
      }
    }
  }
  return false;
}

// Whether an assignment is the host's.  On a card TensorFlow's kernels write rows where they lie,
// and keep the variable in a mode in which every call of a cluster that assigns to it would be the
// host's.
Refusal CheckAssignment(const GraphIndex& index, int i, const MarkOptions& options) {
  const NodeDef& node = index.node(i);
  if (!index.facts(i).Is(OpFacts::kWritesVariable)) return {};
  if (options.card_devices.contains(node.device) && TakesRowUpdates(index, i)) {
    return {Reason::kHOST_IS_FASTER, "rows of the variable change on a card"};
  }
  if (node.op == "AssignVariableOp" && !node.attrs.Bool("validate_shape", false)) {
    return {Reason::kDATA_DEPENDENT_SHAPE, "the variable may change its shape"};
  }
  return {};
}

// Whether an array can be followed along its flow: it does not grow, what a write leaves is read
// along the flow, and each flow goes to one write.
Refusal CheckArray(const GraphIndex& index, int i) {
  const NodeDef& node = index.node(i);
  if (index.facts(i).Is(OpFacts::kReturnsArray) && node.attrs.Bool("dynamic_size", false)) {
    return {Reason::kDATA_DEPENDENT_SHAPE, "the array grows"};
  }
  if (!index.facts(i).Is(OpFacts::kWritesArray)) return {};
  const auto uses = index.uses(i);
  if (std::none_of(uses.begin(), uses.end(), [](const auto& use) { return use.output == 0; })) {
    return {Reason::kCONTROL_FLOW, "nothing takes the flow behind it"};
  }
  const int last = node.NumDataInputs() - 1;
  if (last < 0) return {};
  const GraphIndex::Edge& flow = index.inputs(i)[last];
  for (const GraphIndex::Use& use : index.uses(flow.node)) {
    const OpFacts& other = index.facts(use.node);
    if (use.output == flow.output && use.node != i &&
        (other.Is(OpFacts::kWritesArray) || other.Is(OpFacts::kRunsFunctions))) {
      return {Reason::kCONTROL_FLOW, "its array is written elsewhere, too"};
    }
  }
  return {};
}

}  // namespace

bool IsCompiledType(DataType type) { return graph_def::DTypeOf(type).has_value(); }

bool IsKeptWhole(const NodeDef& node) {
  return FactsOf(node.op).Is(OpFacts::kRunsFunctions) &&
         (node.attrs.Bool("_lower_using_switch_merge", false) ||
          node.attrs.Bool("_tektite_kept", false));
}

bool IsXlaCall(const NodeDef& node) {
  return FactsOf(node.op).Is(OpFacts::kRunsFunctions) && node.attrs.Bool("_XlaMustCompile", false);
}

bool CountsAsOp(const NodeDef& node) { return !FactsOf(node.op).Is(OpFacts::kUncounted); }

Refusal Compilability(const GraphIndex& index, int i, const MarkOptions& options) {
  const NodeDef& node = index.node(i);
  const OpFacts& facts = index.facts(i);
  if (const Reason reason = ReasonOfKind(node, facts, options); reason != Reason::kNone) {
    return {reason, node.op};
  }
  // Each partition is a pass over all rows.
  if (node.op == "DynamicPartition" &&
      node.attrs.Int("num_partitions", 0) > importer::kMostPartitions) {
    return {Reason::kDATA_DEPENDENT_SHAPE,
            absl::StrCat("more than ", importer::kMostPartitions, " results")};
  }
  if (IsSpreadVolume(node))
    return {Reason::kHOST_IS_FASTER,
            absl::StrCat("strides of more than ", ops::kMostPhases, " together")};
  if (Refusal refusal = CheckAssignment(index, i, options); refusal.reason != Reason::kNone)
    return refusal;
  if (Refusal refusal = CheckArray(index, i); refusal.reason != Reason::kNone) return refusal;
  if (!importer::CountsFirstDimension(index, i)) {
    return {Reason::kDATA_DEPENDENT_SHAPE, "along another dimension than the first"};
  }
  if (options.fetches.contains(node.name)) return {Reason::kFETCHED, ""};
  const bool must_compile = node.attrs.Bool("_XlaMustCompile", false) && !IsXlaCall(node);
  if (must_compile || !node.attrs.String("_xla_compile_id").empty()) {
    return {Reason::kMUST_COMPILE, ""};
  }
  const graph_def::AttrValue* compile = node.attrs.Find("_XlaCompile");
  const bool* wanted = compile == nullptr ? nullptr : compile->As<bool>();
  if (wanted != nullptr && !*wanted) return {Reason::kXLA_COMPILE_FALSE, ""};
  // Constants go wherever their users go: they need no annotation of their own.
  const bool needs_annotation =
      options.mode == MarkMode::kScoped && facts.IsCompiled() && node.op != "Const";
  if (needs_annotation && wanted == nullptr) {
    return {Reason::kNOT_ANNOTATED, ""};
  }
  if (!DeviceAllowed(node, options)) return {Reason::kDEVICE, node.device};
  std::string type;
  if (node.op == "Assert") {
    type = UnsupportedData(index, i);
  } else if (!IsMessage(index, i)) {
    type = UnsupportedType(node, facts, options);
  }
  if (type.empty()) type = TypeWithoutContract(node, facts);
  if (!type.empty()) return {Reason::kUNSUPPORTED_TYPE, type};
  for (const GraphIndex::Edge& in : index.inputs(i)) {
    if (!in.is_control() && index.facts(in.node).Is(OpFacts::kReturnsReference)) {
      return {Reason::kREF_INPUT, index.node(in.node).name};
    }
  }
  return {};
}

}  // namespace tektite::clustering
