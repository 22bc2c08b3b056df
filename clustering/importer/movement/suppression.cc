// Non-maximum suppression: which of many overlapping boxes stay (jit/ops/non_max_suppression.h).
#include <limits>

#include "clustering/importer/import_table.h"
#include "clustering/importer/movement/gathering.h"

namespace tektite::importer {
namespace {

// A threshold's type need not be that of the scores.
Value Threshold(NodeImport& op, int input) { return op.b().Convert(op.Input(input), DType::kF32); }

// TensorFlow raises an error where this is not so. NaN is at least nothing.
void CheckAtLeast(NodeImport& op, Value x, double limit) {
  op.Check(op.b().Compare(x, op.b().FullLike(x, limit), "ge"));
}

// Overlap, least score, sigma: inputs 3 to 5, of which older versions of the op lack the last ones.
std::vector<Value> Limits(NodeImport& op) {
  FuncBuilder& b = op.b();
  const int inputs = op.num_inputs();
  Value overlap = inputs > 3 ? Threshold(op, 3)
                             : b.Scalar(DType::kF32, op.attrs().Float("iou_threshold", 0.5F));
  CheckAtLeast(op, overlap, 0);
  CheckAtLeast(op, b.Neg(overlap), -1);
  Value least =
      inputs > 4 ? Threshold(op, 4) : b.Scalar(DType::kF32, std::numeric_limits<float>::lowest());
  Value sigma = inputs > 5 ? Threshold(op, 5) : b.Scalar(DType::kF32, 0);
  if (inputs > 5) CheckAtLeast(op, sigma, 0);
  return {overlap, least, sigma};
}

// How many boxes there is room for in the results.
absl::StatusOr<Dim> Room(NodeImport& op, bool padded) {
  const Dim& boxes = op.InputDims(0)[0];
  if (!padded && !op.HasContents(2)) return boxes;
  TEKTITE_ASSIGN_OR_RETURN(Dims most, op.RequireContents(2));
  if (most[0].is_constant() && most[0].value() < 0) return op.Refuse("a negative size");
  return padded ? most[0] : ir::Min(most[0], boxes);
}

}  // namespace

// Indices; from V5 on their scores; from V4 on how many there are, which pad_to_max_output_size
// does not change.
absl::Status ImportNonMaxSuppression(NodeImport& op) {
  FuncBuilder& b = op.b();
  for (int i = 2; i < op.num_inputs(); ++i) {
    if (op.InputRank(i) != 0) return op.Refuse("input ", i, " is not a scalar");
  }
  if (op.InputRank(0) != 2 || op.InputRank(1) != 1) return op.Refuse("ranks");
  const Dims& boxes = op.InputDims(0);
  b.AssumeEqual(boxes[0], op.InputDims(1)[0]);
  b.AssumeEqual(boxes[1], Dim(4));

  const bool padded = op.attrs().Bool("pad_to_max_output_size", false);
  TEKTITE_ASSIGN_OR_RETURN(Dim room, Room(op, padded));
  std::vector<Value> operands = {op.Input(0), op.Input(1), op.Input(2)};
  for (Value limit : Limits(op)) operands.push_back(limit);
  if (!operands[2]) return op.Return(Value());
  CheckAtLeast(op, operands[2], 0);
  const std::vector<Value> r =
      b.AddMulti(Op::kNonMaxSuppression, operands, {{ir::Attr::shape, Dims{room}}});
  if (r.size() != 3) return op.Return(Value());

  const int kept = op.num_inputs() > 5 ? 2 : 1;
  for (int i = 0; i < kept; ++i) {
    TEKTITE_RETURN_IF_ERROR(padded ? op.Return(WithNumberBehind(b, r[i], r[2], 0))
                                   : op.ReturnRows(r[i], r[2]));
  }
  const bool tells_count = op.op() == "NonMaxSuppressionV4" || op.op() == "NonMaxSuppressionV5";
  return tells_count ? op.Return(b.Convert(r[2], DType::kS32)) : absl::OkStatus();
}

}  // namespace tektite::importer
