#include "clustering/graph_def/output_type.h"

#include "absl/strings/match.h"
#include "clustering/op_table.h"

namespace tektite::graph_def {
namespace {

using clustering::OpFacts;

// Lists of a type each output, by the usual names.
constexpr absl::string_view kListAttrs[] = {"Tout", "output_types", "Tcomponents", "T"};
// Single types, the more specific name first: an op with DstT and SrcT gives DstT.
constexpr absl::string_view kTypeAttrs[] = {"preferred_element_type",
                                            "DstT",
                                            "out_type",
                                            "output_type",
                                            "Tout",
                                            "Toutput",
                                            "dtype",
                                            "Tcomplex",
                                            "T",
                                            "Tparams",
                                            "element_dtype",
                                            "type",
                                            "Dtype",
                                            "value_dtype"};

bool IsQuantized(absl::string_view op) {
  return op == "QuantizeV2" || op == "QuantizeDownAndShrinkRange" || op == "Requantize" ||
         absl::StartsWith(op, "Quantized");
}

}  // namespace

DataType OutputType(const NodeDef& node, int output) {
  const OpFacts& facts = clustering::FactsOf(node.op);
  if (facts.Is(OpFacts::kReturnsBool)) return DataType::kBool;
  if (facts.Is(OpFacts::kReturnsFloat)) return DataType::kFloat;
  if (facts.Is(OpFacts::kReturnsResource)) return DataType::kResource;
  if (facts.Is(OpFacts::kReturnsList) && output == 0) return DataType::kVariant;
  if (facts.Is(OpFacts::kReturnsArray)) return output == 0 ? DataType::kResource : DataType::kFloat;
  if (facts.Is(OpFacts::kWritesArray)) return DataType::kFloat;
  if (node.op == "TensorArraySizeV3") return DataType::kInt32;
  if (node.op == "TensorArrayConcatV3" && output == 1) return DataType::kInt64;
  if (node.op == "Merge" && output == 1) return DataType::kInt32;
  if (node.op == "Shape" || node.op == "ShapeN" || node.op == "Size" ||
      node.op == "VariableShape") {
    return node.attrs.Type("out_type", DataType::kInt32);
  }
  if (node.op == "Rank") return DataType::kInt32;
  // A quantized tensor's range.
  if (node.op == "RequantizationRange" || (output > 0 && IsQuantized(node.op))) {
    return DataType::kFloat;
  }
  if (node.op == "Dequantize") return node.attrs.Type("dtype", DataType::kFloat);
  if (node.op == "ArgMax" || node.op == "ArgMin") {
    return node.attrs.Type("output_type", DataType::kInt64);
  }
  if (node.op == "RngReadAndSkip") return DataType::kInt64;
  if (node.op == "TensorListConcatV2" && output == 1) return DataType::kInt64;
  if (node.op == "StatelessRandomGetAlg") return DataType::kInt32;
  if (node.op == "XlaKeyValueSort") return node.attrs.Type(output == 0 ? "K" : "V");
  if (node.op == "StatelessRandomGetKeyCounter" || node.op == "StatelessRandomGetKeyCounterAlg") {
    return output == 2 ? DataType::kInt32 : DataType::kUint64;
  }
  // Mean, variance and reserve space of a batch norm on half inputs are wider than the output.
  if ((node.op == "FusedBatchNormV2" || node.op == "FusedBatchNormV3" ||
       node.op == "_FusedBatchNormEx") &&
      output > 0) {
    return node.attrs.Type("U");
  }
  if (node.op == "Range" || node.op == "Bitcast") {
    return node.attrs.Type(node.op == "Range" ? "Tidx" : "type");
  }
  // Transforms name both types, and return one of them.
  if (absl::StartsWith(node.op, "IRFFT")) return node.attrs.Type("Treal", DataType::kFloat);
  for (absl::string_view name : kListAttrs) {
    const AttrValue* value = node.attrs.Find(name);
    const auto* types = value == nullptr ? nullptr : value->AsListOf<DataType>();
    if (types != nullptr && output < static_cast<int>(types->size())) return (*types)[output];
  }
  for (absl::string_view name : kTypeAttrs) {
    const DataType type = node.attrs.Type(name);
    if (type != DataType::kInvalid) return type;
  }
  return DataType::kInvalid;
}

KnownType ArgType(const NodeDef& arg) {
  const DataType type = arg.attrs.Type("T");
  if (type != DataType::kResource) return {type, FirstShape(arg, "_output_shapes")};
  const AttrValue* value = arg.attrs.Find("_handle_dtypes");
  const auto* types = value == nullptr ? nullptr : value->AsListOf<DataType>();
  return {types == nullptr || types->empty() ? type : types->front(),
          FirstShape(arg, "_handle_shapes")};
}

const PartialShape* FirstShape(const NodeDef& node, absl::string_view attr) {
  const AttrValue* value = node.attrs.Find(attr);
  const auto* shapes = value == nullptr ? nullptr : value->AsListOf<PartialShape>();
  return shapes == nullptr || shapes->empty() ? nullptr : &shapes->front();
}

}  // namespace tektite::graph_def
