#include "clustering/graph_def/op_outputs.h"

#include <limits>

#include "absl/strings/str_split.h"

namespace tektite::graph_def {
namespace {

// Ops with several output arguments of one tensor each, in order.
struct Row {
  absl::string_view op;
  absl::string_view outputs;
};
constexpr Row kSeveralOutputs[] = {
    {"BroadcastGradientArgs", "r0 r1"},
    {"FakeQuantWithMinMaxVarsGradient", "backprops_wrt_input backprop_wrt_min backprop_wrt_max"},
    {"FakeQuantWithMinMaxVarsPerChannelGradient",
     "backprops_wrt_input backprop_wrt_min backprop_wrt_max"},
    {"FusedBatchNorm", "y batch_mean batch_variance reserve_space_1 reserve_space_2"},
    {"FusedBatchNormGrad",
     "x_backprop scale_backprop offset_backprop reserve_space_3 "
     "reserve_space_4"},
    {"FusedBatchNormGradV2",
     "x_backprop scale_backprop offset_backprop reserve_space_3 "
     "reserve_space_4"},
    {"FusedBatchNormGradV3",
     "x_backprop scale_backprop offset_backprop reserve_space_4 "
     "reserve_space_5"},
    {"FusedBatchNormV2", "y batch_mean batch_variance reserve_space_1 reserve_space_2"},
    {"FusedBatchNormV3",
     "y batch_mean batch_variance reserve_space_1 reserve_space_2 "
     "reserve_space_3"},
    {"GenerateBoundingBoxProposals", "rois roi_probabilities"},
    {"ListDiff", "out idx"},
    {"MaxPoolWithArgmax", "output argmax"},
    {"Merge", "output value_index"},
    {"NonMaxSuppressionV4", "selected_indices valid_outputs"},
    {"NonMaxSuppressionV5", "selected_indices selected_scores valid_outputs"},
    {"Qr", "q r"},
    {"QuantizeAndDequantizeV4Grad", "input_backprop input_min_backprop input_max_backprop"},
    {"QuantizeDownAndShrinkRange", "output output_min output_max"},
    {"QuantizeV2", "output output_min output_max"},
    {"QuantizedAdd", "z min_z max_z"},
    {"QuantizedAvgPool", "output min_output max_output"},
    {"QuantizedBiasAdd", "output min_out max_out"},
    {"QuantizedConcat", "output output_min output_max"},
    {"QuantizedConv2D", "output min_output max_output"},
    {"QuantizedConv2DAndRelu", "output min_output max_output"},
    {"QuantizedConv2DPerChannel", "output min_output max_output"},
    {"QuantizedDepthwiseConv2D", "output min_output max_output"},
    {"QuantizedMatMul", "out min_out max_out"},
    {"QuantizedMaxPool", "output min_output max_output"},
    {"QuantizedMul", "z min_z max_z"},
    {"QuantizedRelu", "activations min_activations max_activations"},
    {"QuantizedRelu6", "activations min_activations max_activations"},
    {"QuantizedReshape", "output output_min output_max"},
    {"RaggedCross", "output_values output_row_splits"},
    {"RaggedFillEmptyRows",
     "output_value_rowids output_values empty_row_indicator reverse_index_map"},
    {"RaggedRange", "rt_nested_splits rt_dense_values"},
    {"RaggedTensorToSparse", "sparse_indices sparse_values sparse_dense_shape"},
    {"RefMerge", "output value_index"},
    {"RefSwitch", "output_false output_true"},
    {"RequantizationRange", "output_min output_max"},
    {"Requantize", "output output_min output_max"},
    {"SelfAdjointEigV2", "e v"},
    {"SoftmaxCrossEntropyWithLogits", "loss backprop"},
    {"SparseFillEmptyRows", "output_indices output_values empty_row_indicator reverse_index_map"},
    {"SparseSoftmaxCrossEntropyWithLogits", "loss backprop"},
    {"StatelessRandomGetKeyCounter", "key counter"},
    {"StatelessRandomGetKeyCounterAlg", "key counter alg"},
    {"StringNGrams", "ngrams ngrams_splits"},
    {"StringSplit", "indices values shape"},
    {"StringSplitV2", "indices values shape"},
    {"Svd", "s u v"},
    {"Switch", "output_false output_true"},
    {"TensorArrayConcatV3", "value lengths"},
    {"TensorArrayV3", "handle flow"},
    {"TensorListConcatV2", "tensor lengths"},
    {"TensorListPopBack", "output_handle tensor"},
    {"TopKV2", "values indices"},
    {"Unique", "y idx"},
    {"UniqueV2", "y idx"},
    {"UniqueWithCounts", "y idx count"},
    {"UniqueWithCountsV2", "y idx count"},
    {"XlaBroadcastHelper", "lhs_output rhs_output"},
    {"XlaKeyValueSort", "sorted_keys sorted_values"},
    {"_FusedBatchNormEx",
     "y batch_mean batch_variance reserve_space_1 reserve_space_2 reserve_space_3"},
};

int64_t ListLength(const AttrValue* value) {
  if (value == nullptr) return 0;
  const auto* types = value->AsListOf<DataType>();
  return types == nullptr ? 0 : static_cast<int64_t>(types->size());
}

}  // namespace

int64_t ArgLength(const ArgDef& arg, const AttrMap& attrs) {
  if (!arg.type_list_attr.empty()) return ListLength(attrs.Find(arg.type_list_attr));
  if (!arg.number_attr.empty()) return std::max<int64_t>(attrs.Int(arg.number_attr, 0), 0);
  return 1;
}

OpOutputs::OpOutputs(absl::Span<const OpDef> ops, absl::Span<const FunctionDef> functions) {
  for (const OpDef& op : ops) ops_.emplace(op.name, &op);
  for (const FunctionDef& f : functions) ops_.emplace(f.signature.name, &f.signature);
}

int OpOutputs::FlatIndex(const NodeDef& node, absl::string_view output, int index) const {
  auto it = ops_.find(node.op);
  if (it != ops_.end()) {
    int64_t base = 0;
    for (const ArgDef& arg : it->second->outputs) {
      const int64_t length = ArgLength(arg, node.attrs);
      if (arg.name == output) return index < length ? static_cast<int>(base + index) : -1;
      base += length;
      if (base > std::numeric_limits<int>::max() / 2) return -1;
    }
    return -1;
  }
  for (const Row& row : kSeveralOutputs) {
    if (row.op != node.op) continue;
    int at = 0;
    for (absl::string_view name : absl::StrSplit(row.outputs, ' ')) {
      if (name == output) return index == 0 ? at : -1;
      ++at;
    }
    return -1;
  }
  return index;
}

}  // namespace tektite::graph_def
