// Padding, and the batch/space ops that are padding and transposition.
#include <algorithm>

#include "absl/strings/match.h"
#include "clustering/importer/import_table.h"
#include "clustering/importer/movement/positions.h"
#include "jit/ir/symbols.h"

namespace tektite::importer {
namespace {

// More padding than any tensor has elements; sums of some of these fit 64 bits.
constexpr int64_t kMostPadding = int64_t{1} << 48;

struct Paddings {
  std::vector<int64_t> low, high;
};

// A [dimensions, 2] tensor of amounts before and after.
absl::StatusOr<Paddings> RequirePaddings(const NodeImport& op, int input, size_t dimensions) {
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> flat, op.RequireInts(input));
  if (flat.size() != 2 * dimensions) {
    return op.Refuse("input ", input, " must have shape [", dimensions, ", 2]");
  }
  Paddings paddings;
  for (size_t i = 0; i < dimensions; ++i) {
    for (const int64_t amount : {flat[2 * i], flat[2 * i + 1]}) {
      if (amount < 0 || amount > kMostPadding) return op.Refuse("padding ", amount);
    }
    paddings.low.push_back(flat[2 * i]);
    paddings.high.push_back(flat[2 * i + 1]);
  }
  return paddings;
}

bool IsZero(const Paddings& p) {
  return p.low == std::vector<int64_t>(p.low.size(), 0) && p.low == p.high;
}

// `count` elements of dimension `axis` from `start`, mirrored.
Value Mirrored(FuncBuilder& b, Value x, int axis, const Dim& start, int64_t count) {
  return b.Reverse(b.SliceDim(x, axis, start, start + Dim(count)), {axis});
}

// x plus `part` in the `count` elements of dimension `axis` from `start`.
Value WithAdded(FuncBuilder& b, Value x, int axis, const Dim& start, int64_t count, Value part) {
  const Dim end = start + Dim(count);
  return b.Concatenate(
      {b.SliceDim(x, axis, Dim(0), start), b.Add(b.SliceDim(x, axis, start, end), part),
       b.SliceDim(x, axis, end, x.shape().dim(axis))},
      axis);
}

Value MirrorDimension(FuncBuilder& b, Value x, int axis, int64_t low, int64_t high,
                      int64_t skipped) {
  const Dim n = x.shape().dim(axis);
  std::vector<Value> parts;
  if (low > 0) parts.push_back(Mirrored(b, x, axis, Dim(skipped), low));
  parts.push_back(x);
  if (high > 0) parts.push_back(Mirrored(b, x, axis, n - Dim(high + skipped), high));
  return parts.size() == 1 ? x : b.Concatenate(parts, axis);
}

// [n, h*bh, w*bw, ...] -> [bh*bw*n, h, w, ...]
Value SpaceToBatch(FuncBuilder& b, Value x, const std::vector<int64_t>& block) {
  int m = static_cast<int>(block.size()), rank = x.shape().rank();
  Dims spread = {x.shape().dim(0)}, result = {x.shape().dim(0)};
  std::vector<int64_t> order;
  for (int i = 0; i < m; ++i) {
    Dim part = ir::FloorDiv(x.shape().dim(i + 1), Dim(block[i]));
    spread.push_back(part);
    spread.push_back(Dim(block[i]));
    result[0] = result[0] * Dim(block[i]);
    result.push_back(part);
    order.push_back(2 * i + 2);
  }
  order.push_back(0);
  for (int i = 0; i < m; ++i) order.push_back(2 * i + 1);
  for (int i = m + 1; i < rank; ++i) {
    order.push_back(static_cast<int64_t>(spread.size()));
    spread.push_back(x.shape().dim(i));
    result.push_back(x.shape().dim(i));
  }
  return b.Reshape(b.Transpose(b.Reshape(x, spread), order), result);
}

// [bh*bw*n, h, w, ...] -> [n, h*bh, w*bw, ...]
Value BatchToSpace(FuncBuilder& b, Value x, const std::vector<int64_t>& block) {
  int m = static_cast<int>(block.size()), rank = x.shape().rank();
  Dims spread, result = {x.shape().dim(0)};
  for (int i = 0; i < m; ++i) {
    spread.push_back(Dim(block[i]));
    result[0] = ir::FloorDiv(result[0], Dim(block[i]));
    result.push_back(x.shape().dim(i + 1) * Dim(block[i]));
  }
  spread.push_back(result[0]);
  std::vector<int64_t> order = {m};
  for (int i = 0; i < m; ++i) {
    order.push_back(m + 1 + i);
    order.push_back(i);
  }
  for (int i = 1; i < rank; ++i) spread.push_back(x.shape().dim(i));
  for (int i = m + 1; i < rank; ++i) {
    order.push_back(m + i);
    result.push_back(x.shape().dim(i));
  }
  return b.Reshape(b.Transpose(b.Reshape(x, spread), order), result);
}

absl::Status CheckBlock(const NodeImport& op, const std::vector<int64_t>& block) {
  if (static_cast<int>(block.size()) + 1 > op.InputRank(0)) {
    return op.Refuse(block.size(), " block sizes for rank ", op.InputRank(0));
  }
  for (int64_t size : block) {
    if (size < 1) return op.Refuse("block size ", size);
  }
  return absl::OkStatus();
}

// Padding of which sizes or data decide how much is before a dimension and how much behind it: the
// gradient of a slice.  How much it is together must be known.
absl::Status PadAtData(NodeImport& op, Value value) {
  FuncBuilder& b = op.b();
  const Value x = op.Input(0);
  if (!x || !value) return op.Return(Value());
  Dims dims = x.shape().dims();
  const Dim rows(static_cast<int64_t>(dims.size()));
  if (op.InputDims(1) != Dims{rows, Dim(2)}) return op.Refuse("input 1 must have a row each");
  std::vector<Value> starts;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t low = static_cast<int64_t>(2 * i), high = low + 1;
    const std::optional<Dim> sum = KnownSum(op, {{1, low}, {1, high}});
    if (!sum) return op.Refuse("data decides on size ", i);
    TEKTITE_ASSIGN_OR_RETURN(const Position before, PositionOf(op, 1, low));
    b.AssumeAtMost(Dim(0), *sum);
    if (before.known) {
      b.AssumeAtMost(Dim(0), *before.known);
      b.AssumeAtMost(*before.known, *sum);
    } else if (!before.range || !ir::NeverLess(before.range->first, Dim(0)) ||
               !ir::NeverLess(*sum + Dim(1), before.range->behind)) {
      op.Check(b.Binary(Op::kAnd, b.Compare(before.value, b.Scalar(DType::kS64, 0), "ge"),
                        b.Compare(before.value, op.DimValue(*sum, DType::kS64), "le")));
    }
    dims[i] = dims[i] + *sum;
    starts.push_back(ValueOf(op, before));
  }
  return op.Return(b.DynamicUpdateSlice(b.BroadcastTo(value, dims), x, starts));
}

}  // namespace

absl::Status ImportPad(NodeImport& op) {
  FuncBuilder& b = op.b();
  Value value = op.op() == "PadV2" ? op.Input(2) : b.Scalar(op.InputDType(0), 0);
  if (!op.RequireInts(1).ok()) return PadAtData(op, value);
  TEKTITE_ASSIGN_OR_RETURN(Paddings p, RequirePaddings(op, 1, op.InputRank(0)));
  if (IsZero(p)) return op.Forward(0);
  return op.Return(b.Pad(op.Input(0), value, p.low, p.high));
}

// REFLECT leaves the border itself out of the mirror image, SYMMETRIC has it twice.
absl::Status ImportMirrorPad(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Paddings p, RequirePaddings(op, 1, op.InputRank(0)));
  int64_t skipped = op.attrs().String("mode", "REFLECT") == "REFLECT" ? 1 : 0;
  Value x = op.Input(0);
  if (!x) return op.Return(x);
  for (int i = 0; i < op.InputRank(0); ++i) {
    const Dim& n = op.InputDims(0)[i];
    const int64_t least = std::max(p.low[i], p.high[i]) + skipped;
    // A REFLECT of no padding asks for an element, too.
    if (n.is_constant() && least > n.value()) {
      return op.Refuse("padding ", least - skipped, " of size ", n.value());
    }
    op.b().AssumeAtMost(Dim(least), n);
    x = MirrorDimension(op.b(), x, i, p.low[i], p.high[i], skipped);
    if (!x) break;
  }
  return op.Return(x);
}

// What was mirrored into the padding comes back and is added, dimension by dimension.
absl::Status ImportMirrorPadGrad(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Paddings p, RequirePaddings(op, 1, op.InputRank(0)));
  const int64_t skipped = op.attrs().String("mode", "REFLECT") == "REFLECT" ? 1 : 0;
  FuncBuilder& b = op.b();
  Value x = op.Input(0);
  for (int i = 0; x && i < op.InputRank(0); ++i) {
    const int64_t low = p.low[i], high = p.high[i];
    if (low == 0 && high == 0) continue;
    const Dim n = x.shape().dim(i) - Dim(low + high);
    const int64_t least = std::max(low, high) + skipped;
    if (n.is_constant() && least > n.value()) return op.Refuse("padding ", least - skipped);
    b.AssumeAtMost(Dim(least), n);
    Value inner = b.SliceDim(x, i, Dim(low), n + Dim(low));
    if (low > 0) inner = WithAdded(b, inner, i, Dim(skipped), low, Mirrored(b, x, i, Dim(0), low));
    if (high > 0) {
      inner = WithAdded(b, inner, i, n - Dim(high + skipped), high,
                        Mirrored(b, x, i, n + Dim(low), high));
    }
    x = inner;
  }
  return op.Return(x);
}

// SpaceToBatch pads, then moves blocks to the batch; BatchToSpace moves them back, then crops.  The
// ops whose names end in ND have a size per dimension of a block; the others have one for two.
absl::Status ImportBatchSpace(NodeImport& op) {
  const bool any_rank = absl::EndsWith(op.op(), "ND");
  std::vector<int64_t> block(2, op.attrs().Int("block_size", 0));
  if (any_rank) {
    TEKTITE_ASSIGN_OR_RETURN(block, op.RequireInts(1));
  } else if (op.InputRank(0) != 4) {
    return op.Refuse("rank ", op.InputRank(0));
  }
  TEKTITE_RETURN_IF_ERROR(CheckBlock(op, block));
  TEKTITE_ASSIGN_OR_RETURN(Paddings p, RequirePaddings(op, any_rank ? 2 : 1, block.size()));
  FuncBuilder& b = op.b();
  Value x = op.Input(0);
  if (!x) return op.Return(x);
  std::vector<int64_t> low(op.InputRank(0), 0), high = low;
  std::copy(p.low.begin(), p.low.end(), low.begin() + 1);
  std::copy(p.high.begin(), p.high.end(), high.begin() + 1);
  if (absl::StartsWith(op.op(), "SpaceToBatch")) {
    if (!IsZero(p)) x = b.Pad(x, b.Scalar(x.dtype(), 0), low, high);
    return op.Return(x ? SpaceToBatch(b, x, block) : x);
  }
  x = BatchToSpace(b, x, block);
  if (!x || IsZero(p)) return op.Return(x);
  Dims starts(low.begin(), low.end()), limits = x.shape().dims();
  for (size_t i = 0; i < limits.size(); ++i) limits[i] = limits[i] - Dim(high[i]);
  return op.Return(b.Slice(x, starts, limits));
}

}  // namespace tektite::importer
