// Ops that take tensors of quantized types apart from their ranges, or bring several to one range.
#include <limits>

#include "clustering/importer/import_table.h"
#include "clustering/importer/layers/quantized_ranges.h"

namespace tektite::importer {

absl::Status ImportQuantizedRelu(NodeImport& op) {
  FuncBuilder& b = op.b();
  const DType dtype = op.InputDType(0);
  if (dtype != DType::kU8 && dtype != DType::kS32) return op.Refuse(ir::DTypeName(dtype));
  TEKTITE_ASSIGN_OR_RETURN(const QuantizedRange range, RequireQuantizedRange(op, 1, 2));
  Value x = op.Input(0);
  if (!x || !range.low || !range.high) return op.Return({Value(), Value(), Value()});
  x = b.Max(x, QuantizedNumber(b, dtype, 0, range));
  if (op.op() == "QuantizedRelu6") x = b.Min(x, QuantizedNumber(b, dtype, 6, range));
  return op.Return({x, range.low, range.high});
}

absl::Status ImportQuantizedReshape(NodeImport& op) {
  TEKTITE_RETURN_IF_ERROR(ImportReshape(op));
  TEKTITE_RETURN_IF_ERROR(op.Forward(2));
  return op.Forward(3);
}

absl::Status ImportQuantizedPool(NodeImport& op) {
  TEKTITE_RETURN_IF_ERROR(ImportPool(op));
  TEKTITE_RETURN_IF_ERROR(op.Forward(1));
  return op.Forward(2);
}

// Each part is brought to the range of all, in f32.
absl::Status ImportQuantizedConcat(NodeImport& op) {
  FuncBuilder& b = op.b();
  const int parts = (op.num_inputs() - 1) / 3;
  if (parts < 1 || op.num_inputs() != 3 * parts + 1) return op.Refuse("inputs");
  TEKTITE_ASSIGN_OR_RETURN(const int axis, op.RequireAxis(0, op.InputRank(1)));
  const DType dtype = op.InputDType(1);
  if (dtype != DType::kU8) return op.Refuse(ir::DTypeName(dtype));
  std::vector<QuantizedRange> ranges(parts);
  QuantizedRange all;
  for (int i = 0; i < parts; ++i) {
    TEKTITE_ASSIGN_OR_RETURN(ranges[i],
                             RequireQuantizedRange(op, 1 + parts + i, 1 + 2 * parts + i));
    if (!ranges[i].low || !ranges[i].high) return op.Return({Value(), Value(), Value()});
    const auto& [low, high] = ranges[i];
    if (i == 0) all = {b.FullLike(low, 0), b.FullLike(high, std::numeric_limits<float>::lowest())};
    all.low = b.Select(b.Compare(low, all.low, "lt"), low, all.low);  // without NaN
    all.high = b.Select(b.Compare(all.high, high, "lt"), high, all.high);
  }
  std::vector<Value> values;
  for (int i = 0; i < parts; ++i) {
    const Value x = op.Input(1 + i);
    if (!x) return op.Return({Value(), Value(), Value()});
    const Value same = b.Binary(Op::kAnd, b.Compare(ranges[i].low, all.low, "eq"),
                                b.Compare(ranges[i].high, all.high, "eq"));
    const Value rescaled = IntegersInF32(b, NumbersInF32(b, x, ranges[i]), dtype, all);
    values.push_back(b.SelectImplicit(same, x, rescaled));
  }
  return op.Return({b.Concatenate(values, axis), all.low, all.high});
}

}  // namespace tektite::importer
