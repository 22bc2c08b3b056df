// gather and scatter: windows of an array at computed places, with XLA's dimension numbers.
//
// gather: result dimensions `offset_dims` walk inside a window of `slice_sizes` (without the
// `collapsed_slice_dims`, which have size 1), all other result dimensions walk over the indices;
// entry k of an index vector is the start in operand dimension start_index_map[k].  Starts are
// clamped so that the window fits.  scatter: the same with updates in the result's place and
// scatter_dims_to_operand_dims as the map; a window that does not fit is left out.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "jit/ops/infer.h"

namespace tektite::ops {

using ir::Attr;
using ir::Dim;
using ir::Dims;
using ir::Shape;

namespace {

bool Contains(const std::vector<int64_t>& list, int64_t v) {
  return std::find(list.begin(), list.end(), v) != list.end();
}

// The dimensions of `indices` without the one that holds index vectors; checks the map's length.
absl::StatusOr<Dims> BatchDims(const InferContext& c, const Shape& indices, Attr map) {
  if (!ir::IsInteger(indices.dtype())) {
    return InvalidArgument("indices must be integers, got ", indices.ToString());
  }
  const int64_t vector_dim = c.attrs.Int(Attr::index_vector_dim, indices.rank());
  if (vector_dim < 0 || vector_dim > indices.rank()) {
    return InvalidArgument("index_vector_dim must be at most ", indices.rank(), ", got ",
                           vector_dim);
  }
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> starts, c.DimNumbers(map, c.operand(0).rank()));
  const Dim length = vector_dim == indices.rank() ? Dim(1) : indices.dim(vector_dim);
  auto same = c.Same(length, Dim(static_cast<int64_t>(starts.size())),
                     absl::StrCat("index vectors and '", ir::AttrName(map), "' differ in length"));
  if (!same.ok()) return same.status();
  Dims batch;
  for (int i = 0; i < indices.rank(); ++i) {
    if (i != vector_dim) batch.push_back(indices.dim(i));
  }
  return batch;
}

absl::StatusOr<Shapes> Gather(const InferContext& c) {
  const Shape& x = c.operand(0);
  TEKTITE_ASSIGN_OR_RETURN(Dims batch, BatchDims(c, c.operand(1), Attr::start_index_map));
  TEKTITE_ASSIGN_OR_RETURN(Dims sizes, c.GetSizes(Attr::slice_sizes));
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> collapsed,
                           c.DimNumbers(Attr::collapsed_slice_dims, x.rank()));
  if (static_cast<int>(sizes.size()) != x.rank()) {
    return InvalidArgument("'slice_sizes' has ", sizes.size(), " values for ", x.ToString());
  }
  Dims window;
  for (int i = 0; i < x.rank(); ++i) {
    const Dim room = x.dim(i) - sizes[i];
    if (room.is_constant() && room.value() < 0) {
      return InvalidArgument("slice size ", sizes[i].ToString(), " of dimension ", i, " exceeds ",
                             x.ToString());
    }
    if (!Contains(collapsed, i)) {
      window.push_back(sizes[i]);
    } else if (sizes[i] != Dim(1)) {
      return InvalidArgument("collapsed dimension ", i, " has slice size ", sizes[i].ToString());
    }
  }
  const int rank = static_cast<int>(batch.size() + window.size());
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> offset, c.DimNumbers(Attr::offset_dims, rank));
  if (offset.size() != window.size() || !std::is_sorted(offset.begin(), offset.end())) {
    return InvalidArgument("'offset_dims' must be ", window.size(), " increasing dimensions");
  }
  Dims dims;
  size_t next_batch = 0, next_window = 0;
  for (int i = 0; i < rank; ++i) {
    dims.push_back(Contains(offset, i) ? window[next_window++] : batch[next_batch++]);
  }
  return One(Shape(x.dtype(), dims));
}

absl::StatusOr<Shapes> Scatter(const InferContext& c) {
  const Shape &x = c.operand(0), &updates = c.operand(2);
  TEKTITE_ASSIGN_OR_RETURN(Dims batch,
                           BatchDims(c, c.operand(1), Attr::scatter_dims_to_operand_dims));
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> offset,
                           c.DimNumbers(Attr::offset_dims, updates.rank()));
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> collapsed,
                           c.DimNumbers(Attr::collapsed_slice_dims, x.rank()));
  if (updates.dtype() != x.dtype()) {
    return InvalidArgument("updates ", updates.ToString(), " for ", x.ToString());
  }
  if (c.attrs.String(Attr::reducer) != "replace") {
    TEKTITE_RETURN_IF_ERROR(c.CheckReducer(x.dtype()));
  }
  if (offset.size() + collapsed.size() != static_cast<size_t>(x.rank()) ||
      offset.size() + batch.size() != static_cast<size_t>(updates.rank()) ||
      !std::is_sorted(offset.begin(), offset.end())) {
    return InvalidArgument("updates ", updates.ToString(), " do not fit ", x.ToString(), " at ",
                           c.operand(1).ToString(), ": ", offset.size(), " window dimensions, ",
                           collapsed.size(), " collapsed");
  }
  size_t next_batch = 0;
  int next_window = 0;
  for (int i = 0; i < updates.rank(); ++i) {
    if (!Contains(offset, i)) {
      auto same = c.Same(updates.dim(i), batch[next_batch++],
                         absl::StrCat("updates' dimension ", i, " and the indices differ"));
      if (!same.ok()) return same.status();
      continue;
    }
    while (Contains(collapsed, next_window)) ++next_window;
    const Dim room = x.dim(next_window++) - updates.dim(i);
    if (room.is_constant() && room.value() < 0) {
      return InvalidArgument("updates ", updates.ToString(), " exceed ", x.ToString());
    }
  }
  return One(x);
}

}  // namespace

absl::StatusOr<Shapes> InferIndexed(const InferContext& c) {
  return c.op == ir::Op::kGather ? Gather(c) : Scatter(c);
}

}  // namespace tektite::ops
