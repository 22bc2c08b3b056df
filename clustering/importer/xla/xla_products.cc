// XLA's own products and convolutions, whose dimension numbers are those of the IR.
#include <string>

#include "clustering/importer/import_table.h"
#include "clustering/importer/xla/xla_functions.h"

namespace tektite::importer {
namespace {

// Both operands in the type of the result.
absl::Status ConvertOperands(NodeImport& op, Value* lhs, Value* rhs) {
  TEKTITE_ASSIGN_OR_RETURN(const DType dtype, op.Type("preferred_element_type", lhs->dtype()));
  *lhs = op.b().Convert(*lhs, dtype);
  *rhs = op.b().Convert(*rhs, dtype);
  return absl::OkStatus();
}

// "b01f" where dimension 0 is the batch, 3 the feature, and 1 and 2 are spatial; empty where the
// numbers are no permutation.
std::string LayoutOf(int rank, char a, int64_t place_a, char b, int64_t place_b,
                     const std::vector<int64_t>& spatial) {
  std::string layout(rank, ' ');
  const auto put = [&](int64_t place, char letter) {
    if (place >= 0 && place < rank) layout[place] = letter;
  };
  put(place_a, a);
  put(place_b, b);
  for (size_t i = 0; i < spatial.size() && i < 10; ++i) {
    put(spatial[i], static_cast<char>('0' + i));
  }
  return layout;  // the builder refuses what is no layout
}

}  // namespace

absl::Status ImportXlaDot(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const graph_def::IntegerFields fields, RequireDimensionNumbers(op));
  Value lhs = op.Input(0), rhs = op.Input(1);
  if (!lhs || !rhs) return op.Return(Value());
  TEKTITE_RETURN_IF_ERROR(ConvertOperands(op, &lhs, &rhs));
  ops::DotDims dims;
  dims.lhs_contracting = AllOf(fields, 1);
  dims.rhs_contracting = AllOf(fields, 2);
  dims.lhs_batch = AllOf(fields, 3);
  dims.rhs_batch = AllOf(fields, 4);
  return op.Return(op.b().DotGeneral(lhs, rhs, dims));
}

absl::Status ImportXlaConv(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const graph_def::IntegerFields fields, RequireDimensionNumbers(op));
  FuncBuilder::ConvOptions options;
  TEKTITE_ASSIGN_OR_RETURN(options.strides, op.RequireInts(2));
  TEKTITE_ASSIGN_OR_RETURN(const std::vector<int64_t> padding, op.RequireInts(3));
  TEKTITE_ASSIGN_OR_RETURN(options.lhs_dilation, op.RequireInts(4));
  TEKTITE_ASSIGN_OR_RETURN(options.rhs_dilation, op.RequireInts(5));
  TEKTITE_ASSIGN_OR_RETURN(options.feature_groups, op.RequireInt(6));
  options.batch_groups = op.attrs().Int("batch_group_count", 1);
  Value lhs = op.Input(0), rhs = op.Input(1);
  if (!lhs || !rhs) return op.Return(Value());
  TEKTITE_RETURN_IF_ERROR(ConvertOperands(op, &lhs, &rhs));
  const int rank = lhs.shape().rank();
  if (padding.size() % 2 != 0) return op.Refuse("padding");
  for (size_t i = 0; i < padding.size(); i += 2) {
    options.low.push_back(padding[i]);
    options.high.push_back(padding[i + 1]);
  }
  options.input_layout =
      LayoutOf(rank, 'b', OneOf(fields, 7), 'f', OneOf(fields, 8), AllOf(fields, 11));
  options.kernel_layout =
      LayoutOf(rank, 'i', OneOf(fields, 3), 'o', OneOf(fields, 4), AllOf(fields, 6));
  options.output_layout =
      LayoutOf(rank, 'b', OneOf(fields, 9), 'f', OneOf(fields, 10), AllOf(fields, 12));
  return op.Return(op.b().Convolution(lhs, rhs, options));
}

}  // namespace tektite::importer
