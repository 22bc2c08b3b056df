#include "clustering/importer/contents.h"

#include <algorithm>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "clustering/importer/movement.h"
#include "clustering/importer/strided_slice.h"

namespace tektite::importer {
namespace {

// An error means "not this time": the op is then imported in the ordinary way.
using Folder = absl::Status (*)(NodeImport& op);

absl::Status NotHere() { return absl::UnimplementedError("not shape arithmetic"); }

const Dims& In(const NodeImport& op, int i) { return *op.InputInfo(i).contents; }

absl::Status FoldIdentity(NodeImport& op) { return op.Forward(0); }

// Constants that leave room for any product of two; beyond that 32-bit data would wrap around.
bool Tame(const Dim& d) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  return !d.is_constant() || (d.value() >= -kMost && d.value() <= kMost);
}

// One side may be a scalar (or have one element); the other gives the shape.
absl::Status FoldBinary(NodeImport& op, Dim (*f)(const Dim&, const Dim&)) {
  const Dims &a = In(op, 0), &b = In(op, 1);
  if (a.size() != b.size() && a.size() != 1 && b.size() != 1) return NotHere();
  if (!std::all_of(a.begin(), a.end(), Tame) || !std::all_of(b.begin(), b.end(), Tame)) {
    return NotHere();
  }
  bool a_decides = a.size() != b.size() ? b.size() == 1 : op.InputRank(0) >= op.InputRank(1);
  const Shape& shape = op.InputShape(a_decides ? 0 : 1);
  Dims result;
  for (size_t i = 0; i < (a_decides ? a : b).size(); ++i) {
    result.push_back(f(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]));
    if (!Tame(result.back())) return NotHere();
  }
  return op.ReturnContents(shape.dtype(), shape.dims(), result);
}

Dim AddDims(const Dim& a, const Dim& b) { return a + b; }
Dim SubDims(const Dim& a, const Dim& b) { return a - b; }
Dim MulDims(const Dim& a, const Dim& b) { return a * b; }

absl::Status FoldAdd(NodeImport& op) { return FoldBinary(op, AddDims); }
absl::Status FoldSub(NodeImport& op) { return FoldBinary(op, SubDims); }
absl::Status FoldMul(NodeImport& op) { return FoldBinary(op, MulDims); }
absl::Status FoldMax(NodeImport& op) { return FoldBinary(op, ir::Max); }
absl::Status FoldMin(NodeImport& op) { return FoldBinary(op, ir::Min); }

bool DivisorsArePositive(const NodeImport& op) {
  return op.KnownAll(1, [](int64_t v) { return v > 0; });
}
absl::Status FoldFloorDiv(NodeImport& op) {
  return DivisorsArePositive(op) ? FoldBinary(op, ir::FloorDiv) : NotHere();
}
absl::Status FoldFloorMod(NodeImport& op) {
  return DivisorsArePositive(op) ? FoldBinary(op, ir::Mod) : NotHere();
}

absl::Status FoldNeg(NodeImport& op) {
  Dims result;
  for (const Dim& d : In(op, 0)) result.push_back(Dim(0) - d);
  return op.ReturnContents(op.InputDType(0), op.InputDims(0), result);
}

absl::Status FoldCast(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(DType dtype, op.Type("DstT", DType::kF32));
  if (dtype != DType::kS32 && dtype != DType::kS64) return NotHere();
  return op.ReturnContents(dtype, op.InputDims(0), In(op, 0));
}

absl::Status FoldReshape(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Dims dims, ReshapeDims(op));
  return op.ReturnContents(op.InputDType(0), dims, In(op, 0));
}
absl::Status FoldSqueeze(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Dims dims, SqueezeDims(op));
  return op.ReturnContents(op.InputDType(0), dims, In(op, 0));
}
absl::Status FoldExpandDims(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Dims dims, ExpandedDims(op));
  return op.ReturnContents(op.InputDType(0), dims, In(op, 0));
}

// Stacking scalars, or whole tensors along a new first dimension.
absl::Status FoldPack(NodeImport& op) {
  if (op.attrs().Int("axis", 0) != 0 || op.num_inputs() == 0) return NotHere();
  Dims dims = op.InputDims(0), result;
  dims.insert(dims.begin(), Dim(op.num_inputs()));
  for (int i = 0; i < op.num_inputs(); ++i) {
    result.insert(result.end(), In(op, i).begin(), In(op, i).end());
  }
  return op.ReturnContents(op.InputDType(0), dims, result);
}

absl::Status FoldUnpack(NodeImport& op) {
  if (op.InputRank(0) != 1) return NotHere();
  for (const Dim& d : In(op, 0)) {
    TEKTITE_RETURN_IF_ERROR(op.ReturnContents(op.InputDType(0), {}, {d}));
  }
  return absl::OkStatus();
}

absl::Status FoldConcat(NodeImport& op) {
  int axis_at = op.op() == "Concat" ? 0 : op.num_inputs() - 1;
  Dims result;
  for (int i = 0; i < op.num_inputs(); ++i) {
    if (i == axis_at) continue;
    if (op.InputRank(i) != 1) return NotHere();
    result.insert(result.end(), In(op, i).begin(), In(op, i).end());
  }
  DType dtype = op.InputDType(axis_at == 0 ? 1 : 0);
  return op.ReturnContents(dtype, {Dim(static_cast<int64_t>(result.size()))}, result);
}

absl::Status FoldStridedSlice(NodeImport& op) {
  if (op.InputRank(0) > 1) return NotHere();
  TEKTITE_ASSIGN_OR_RETURN(StridedSliceSpec spec, ResolveStridedSlice(op, op.InputDims(0), 1));
  Dims result;
  if (op.InputRank(0) == 0) {
    result = In(op, 0);
  } else {
    if (!spec.begins[0].is_constant() || !spec.sizes[0].is_constant()) return NotHere();
    for (int64_t i = 0; i < spec.sizes[0].value(); ++i) {
      result.push_back(In(op, 0)[spec.begins[0].value() + i * spec.strides[0]]);
    }
  }
  return op.ReturnContents(op.InputDType(0), spec.result_dims, result);
}

absl::Status FoldSlice(NodeImport& op) {
  if (op.InputRank(0) != 1) return NotHere();
  TEKTITE_ASSIGN_OR_RETURN(int64_t begin, op.RequireInt(1));
  TEKTITE_ASSIGN_OR_RETURN(int64_t size, op.RequireInt(2));
  const Dims& x = In(op, 0);
  int64_t n = static_cast<int64_t>(x.size());
  if (begin < 0 || begin > n || size < -1 || size > n - begin) return NotHere();
  int64_t end = size < 0 ? n : begin + size;
  return op.ReturnContents(op.InputDType(0), {Dim(end - begin)},
                           Dims(x.begin() + begin, x.begin() + end));
}

absl::Status FoldGather(NodeImport& op) {
  if (op.InputRank(0) != 1) return NotHere();
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> indices, op.RequireInts(1));
  const Dims& x = In(op, 0);
  Dims result;
  for (int64_t i : indices) {
    if (i < 0 || i >= static_cast<int64_t>(x.size())) return NotHere();
    result.push_back(x[i]);
  }
  return op.ReturnContents(op.InputDType(0), op.InputDims(1), result);
}

absl::Status FoldReduce(NodeImport& op, Dim start, Dim (*f)(const Dim&, const Dim&)) {
  if (op.InputRank(0) > 1) return NotHere();
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> axes, op.RequireAxes(1, op.InputRank(0)));
  if (axes.empty()) return op.Forward(0);
  Dim result = start;
  for (const Dim& d : In(op, 0)) result = f(result, d);
  Dims dims;
  if (op.attrs().Bool("keep_dims", false)) dims.push_back(Dim(1));
  return op.ReturnContents(op.InputDType(0), dims, {result});
}
absl::Status FoldProd(NodeImport& op) { return FoldReduce(op, Dim(1), MulDims); }
absl::Status FoldSum(NodeImport& op) { return FoldReduce(op, Dim(0), AddDims); }
absl::Status FoldReduceMax(NodeImport& op) {
  return In(op, 0).empty() ? NotHere() : FoldReduce(op, In(op, 0)[0], ir::Max);
}
absl::Status FoldReduceMin(NodeImport& op) {
  return In(op, 0).empty() ? NotHere() : FoldReduce(op, In(op, 0)[0], ir::Min);
}

absl::Status FoldRange(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(int64_t start, op.RequireInt(0));
  TEKTITE_ASSIGN_OR_RETURN(int64_t limit, op.RequireInt(1));
  TEKTITE_ASSIGN_OR_RETURN(int64_t delta, op.RequireInt(2));
  if (delta == 0) return NotHere();
  Dims result;
  for (int64_t v = start; delta > 0 ? v < limit : v > limit; v += delta) {
    if (result.size() == kMaxContents) return NotHere();
    result.push_back(Dim(v));
  }
  return op.ReturnContents(op.InputDType(0), {Dim(static_cast<int64_t>(result.size()))}, result);
}

absl::Status FoldFill(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> sizes, op.RequireInts(0));
  int64_t count = 1;
  for (int64_t size : sizes) {
    if (size < 0 || size > kMaxContents) return NotHere();
    count *= size;
    if (count > kMaxContents) return NotHere();
  }
  return op.ReturnContents(op.InputDType(1), Dims(sizes.begin(), sizes.end()),
                           Dims(count, In(op, 1)[0]));
}

const absl::flat_hash_map<absl::string_view, Folder>& Folders() {
  static const auto& folders = *new absl::flat_hash_map<absl::string_view, Folder>({
      {"Add", FoldAdd},
      {"AddV2", FoldAdd},
      {"Cast", FoldCast},
      {"Concat", FoldConcat},
      {"ConcatV2", FoldConcat},
      {"ExpandDims", FoldExpandDims},
      {"Fill", FoldFill},
      {"FloorDiv", FoldFloorDiv},
      {"FloorMod", FoldFloorMod},
      {"Gather", FoldGather},
      {"GatherV2", FoldGather},
      {"Identity", FoldIdentity},
      {"Max", FoldReduceMax},
      {"Maximum", FoldMax},
      {"Min", FoldReduceMin},
      {"Minimum", FoldMin},
      {"Mul", FoldMul},
      {"Neg", FoldNeg},
      {"Pack", FoldPack},
      {"PreventGradient", FoldIdentity},
      {"Prod", FoldProd},
      {"Range", FoldRange},
      {"Reshape", FoldReshape},
      {"Slice", FoldSlice},
      {"Snapshot", FoldIdentity},
      {"Squeeze", FoldSqueeze},
      {"StopGradient", FoldIdentity},
      {"StridedSlice", FoldStridedSlice},
      {"Sub", FoldSub},
      {"Sum", FoldSum},
      {"Unpack", FoldUnpack},
  });
  return folders;
}

}  // namespace

bool FoldContents(NodeImport& op) {
  auto it = Folders().find(op.op());
  if (it == Folders().end() || op.num_inputs() == 0) return false;
  for (int i = 0; i < op.num_inputs(); ++i) {
    if (!op.HasContents(i)) return false;
  }
  if (it->second(op).ok()) return true;
  op.results().clear();
  return false;
}

bool ContentsComeFromContents(absl::string_view op) { return Folders().contains(op); }

}  // namespace tektite::importer
