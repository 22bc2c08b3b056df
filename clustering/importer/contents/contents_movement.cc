// Data movement of shape arithmetic; see contents.h.
#include <algorithm>
#include <utility>

#include "clustering/importer/contents/contents.h"
#include "clustering/importer/movement/movement.h"
#include "clustering/importer/movement/strided_slice.h"

namespace tektite::importer {

absl::Status FoldReshape(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Dims dims, ReshapeDims(op));
  return op.ReturnContents(op.InputDType(0), dims, KnownElements(op, 0));
}

absl::Status FoldSqueeze(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Dims dims, SqueezeDims(op));
  return op.ReturnContents(op.InputDType(0), dims, KnownElements(op, 0));
}

absl::Status FoldExpandDims(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Dims dims, ExpandedDims(op));
  return op.ReturnContents(op.InputDType(0), dims, KnownElements(op, 0));
}

// Tensors of one shape along a new first dimension, or vectors side by side, as tables of paddings
// are made.
absl::Status FoldPack(NodeImport& op) {
  if (op.num_inputs() == 0) return NotShapeArithmetic();
  const int rank = op.InputRank(0);
  TEKTITE_ASSIGN_OR_RETURN(const int axis, op.NormalizeAxis(op.attrs().Int("axis", 0), rank + 1));
  if (axis != 0 && rank != 1) return NotShapeArithmetic();
  Dims dims = op.InputDims(0), result;
  dims.insert(dims.begin() + axis, Dim(op.num_inputs()));
  const size_t in_a_row = axis == 0 ? KnownElements(op, 0).size() : 1;
  for (size_t first = 0; first < KnownElements(op, 0).size(); first += in_a_row) {
    for (int i = 0; i < op.num_inputs(); ++i) {
      const Dims& elements = KnownElements(op, i);
      if (op.InputDims(i) != op.InputDims(0)) return NotShapeArithmetic();
      result.insert(result.end(), elements.begin() + first, elements.begin() + first + in_a_row);
    }
  }
  return op.ReturnContents(op.InputDType(0), dims, result);
}

absl::Status FoldUnpack(NodeImport& op) {
  if (op.InputRank(0) != 1) return NotShapeArithmetic();
  for (const Dim& d : KnownElements(op, 0)) {
    TEKTITE_RETURN_IF_ERROR(op.ReturnContents(op.InputDType(0), {}, {d}));
  }
  return absl::OkStatus();
}

// Along the first dimension.
absl::Status FoldConcat(NodeImport& op) {
  if (op.num_inputs() < 2) return NotShapeArithmetic();
  const int axis_at = op.op() == "Concat" ? 0 : op.num_inputs() - 1;
  const int first = axis_at == 0 ? 1 : 0, rank = op.InputRank(first);
  if (rank < 1) return NotShapeArithmetic();
  TEKTITE_ASSIGN_OR_RETURN(const int axis, op.RequireAxis(axis_at, rank));
  if (axis != 0) return NotShapeArithmetic();
  Dims dims = op.InputDims(first), result;
  dims[0] = Dim(0);
  for (int i = 0; i < op.num_inputs(); ++i) {
    if (i == axis_at) continue;
    const Dims& part = op.InputDims(i);
    if (op.InputRank(i) != rank || !std::equal(part.begin() + 1, part.end(), dims.begin() + 1)) {
      return NotShapeArithmetic();
    }
    dims[0] = dims[0] + part[0];
    result.insert(result.end(), KnownElements(op, i).begin(), KnownElements(op, i).end());
  }
  return op.ReturnContents(op.InputDType(first), dims, result);
}

absl::Status FoldStridedSlice(NodeImport& op) {
  if (op.InputRank(0) > 1) return NotShapeArithmetic();
  TEKTITE_ASSIGN_OR_RETURN(StridedSliceSpec spec, ResolveStridedSlice(op, op.InputDims(0), 1));
  Dims result;
  if (op.InputRank(0) == 0) {
    result = KnownElements(op, 0);
  } else {
    const Dim& begin = spec.begins[0].known;
    if (!begin.is_constant() || !spec.sizes[0].is_constant()) return NotShapeArithmetic();
    for (int64_t i = 0; i < spec.sizes[0].value(); ++i) {
      result.push_back(KnownElements(op, 0)[begin.value() + i * spec.strides[0]]);
    }
  }
  return op.ReturnContents(op.InputDType(0), spec.result_dims, result);
}

absl::Status FoldSlice(NodeImport& op) {
  if (op.InputRank(0) != 1) return NotShapeArithmetic();
  TEKTITE_ASSIGN_OR_RETURN(int64_t begin, op.RequireInt(1));
  TEKTITE_ASSIGN_OR_RETURN(int64_t size, op.RequireInt(2));
  const Dims& x = KnownElements(op, 0);
  int64_t n = static_cast<int64_t>(x.size());
  if (begin < 0 || begin > n || size < -1 || size > n - begin) return NotShapeArithmetic();
  int64_t end = size < 0 ? n : begin + size;
  return op.ReturnContents(op.InputDType(0), {Dim(end - begin)},
                           Dims(x.begin() + begin, x.begin() + end));
}

absl::Status FoldGather(NodeImport& op) {
  if (op.InputRank(0) != 1) return NotShapeArithmetic();
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> indices, op.RequireInts(1));
  const Dims& x = KnownElements(op, 0);
  Dims result;
  for (int64_t i : indices) {
    if (i < 0 || i >= static_cast<int64_t>(x.size())) return NotShapeArithmetic();
    result.push_back(x[i]);
  }
  return op.ReturnContents(op.InputDType(0), op.InputDims(1), result);
}

absl::Status FoldRange(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(int64_t start, op.RequireInt(0));
  TEKTITE_ASSIGN_OR_RETURN(int64_t limit, op.RequireInt(1));
  TEKTITE_ASSIGN_OR_RETURN(int64_t delta, op.RequireInt(2));
  const bool is_tame = IsTame(Dim(start)) && IsTame(Dim(limit)) && IsTame(Dim(delta));
  if (delta == 0 || !is_tame) return NotShapeArithmetic();
  Dims result;
  for (int64_t v = start; delta > 0 ? v < limit : v > limit; v += delta) {
    if (result.size() == kMaxContents) return NotShapeArithmetic();
    result.push_back(Dim(v));
  }
  return op.ReturnContents(op.InputDType(0), {Dim(static_cast<int64_t>(result.size()))}, result);
}

absl::Status FoldFill(NodeImport& op) {
  if (KnownElements(op, 1).size() != 1) return NotShapeArithmetic();
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> sizes, op.RequireInts(0));
  int64_t count = 1;
  for (int64_t size : sizes) {
    if (size < 0 || size > kMaxContents) return NotShapeArithmetic();
    count *= size;
    if (count > kMaxContents) return NotShapeArithmetic();
  }
  return op.ReturnContents(op.InputDType(1), Dims(sizes.begin(), sizes.end()),
                           Dims(count, KnownElements(op, 1)[0]));
}

absl::Status FoldIdentity(NodeImport& op) { return op.Forward(0); }

absl::Status FoldIdentityN(NodeImport& op) {
  for (int i = 0; i < op.num_inputs(); ++i) TEKTITE_RETURN_IF_ERROR(op.Forward(i));
  return absl::OkStatus();
}

absl::Status FoldReverse(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> axes, op.RequireAxes(1, op.InputRank(0)));
  if (op.InputRank(0) != 1) return NotShapeArithmetic();
  const Dims& x = KnownElements(op, 0);
  return op.ReturnContents(op.InputDType(0), op.InputDims(0),
                           axes.empty() ? x : Dims(x.rbegin(), x.rend()));
}

// Parts of a vector.
absl::Status FoldSplit(NodeImport& op) {
  int input = op.op() == "Split" ? 1 : 0;
  if (op.InputRank(input) != 1) return NotShapeArithmetic();
  const Dims& x = KnownElements(op, input);
  std::vector<int64_t> sizes;
  if (input == 1) {
    int64_t parts = op.attrs().Int("num_split", 1);
    if (parts < 1 || x.size() % parts != 0) return NotShapeArithmetic();
    sizes.assign(parts, static_cast<int64_t>(x.size()) / parts);
  } else {
    TEKTITE_ASSIGN_OR_RETURN(sizes, op.RequireInts(1));
  }
  auto next = x.begin();
  for (int64_t size : sizes) {
    if (size < 0 || size > x.end() - next) return NotShapeArithmetic();
    TEKTITE_RETURN_IF_ERROR(
        op.ReturnContents(op.InputDType(input), {Dim(size)}, Dims(next, next + size)));
    next += size;
  }
  return next == x.end() ? absl::OkStatus() : NotShapeArithmetic();
}

absl::Status FoldTile(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(int64_t times, op.RequireInt(1));
  const Dims& x = KnownElements(op, 0);
  int64_t size = static_cast<int64_t>(x.size());
  if (op.InputRank(0) != 1 || times < 0 || times > kMaxContents || times * size > kMaxContents) {
    return NotShapeArithmetic();
  }
  Dims result;
  for (int64_t i = 0; i < times; ++i) result.insert(result.end(), x.begin(), x.end());
  return op.ReturnContents(op.InputDType(0), {Dim(times * size)}, result);
}

// Of a vector or a table: the gradient of Tile turns the rows [multiples, sizes] into pairs.
absl::Status FoldTranspose(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const std::vector<int64_t> order, RequirePermutation(op));
  if (order.size() > 2) return NotShapeArithmetic();
  if (std::is_sorted(order.begin(), order.end())) return op.Forward(0);
  const Dims& x = KnownElements(op, 0);
  Dims dims = op.InputDims(0);
  if (!dims[0].is_constant() || !dims[1].is_constant()) return NotShapeArithmetic();
  const int64_t rows = dims[0].value(), columns = dims[1].value();
  Dims result;
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i) result.push_back(x[i * columns + j]);
  }
  std::swap(dims[0], dims[1]);
  return op.ReturnContents(op.InputDType(0), dims, result);
}

// Scalars at constant places, each of which is filled.
absl::Status FoldDynamicStitch(NodeImport& op) {
  const int parts = op.num_inputs() / 2;
  std::vector<std::optional<Dim>> result;
  for (int i = 0; i < parts; ++i) {
    TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> places, op.RequireInts(i));
    const Dims& data = KnownElements(op, parts + i);
    if (op.InputDims(i) != op.InputDims(parts + i)) return NotShapeArithmetic();  // whole rows
    for (size_t k = 0; k < places.size(); ++k) {
      if (places[k] < 0 || places[k] >= kMaxContents) return NotShapeArithmetic();
      if (places[k] >= static_cast<int64_t>(result.size())) result.resize(places[k] + 1);
      result[places[k]] = data[k];
    }
  }
  Dims elements;
  for (const std::optional<Dim>& element : result) {
    if (!element) return NotShapeArithmetic();
    elements.push_back(*element);
  }
  const Dim size(static_cast<int64_t>(elements.size()));
  return op.ReturnContents(op.InputDType(parts), {size}, std::move(elements));
}

absl::Status FoldOnesLike(NodeImport& op) {
  return op.ReturnContents(op.InputDType(0), op.InputDims(0),
                           Dims(KnownElements(op, 0).size(), Dim(1)));
}

absl::Status FoldZerosLike(NodeImport& op) {
  return op.ReturnContents(op.InputDType(0), op.InputDims(0),
                           Dims(KnownElements(op, 0).size(), Dim(0)));
}

}  // namespace tektite::importer
