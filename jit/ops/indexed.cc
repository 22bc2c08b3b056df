// gather, scatter and update_rows.
//
// gather and scatter: windows of an array at computed places, with XLA's dimension numbers.
//
// gather: result dimensions `offset_dims` walk inside a window of `slice_sizes` (without the
// `collapsed_slice_dims`, which have size 1), all other result dimensions walk over the indices;
// entry k of an index vector is the start in operand dimension start_index_map[k].  Starts are
// clamped so that the window fits.  scatter: the same with updates in the result's place and
// scatter_dims_to_operand_dims as the map; a window that does not fit is left out.
//
// update_rows: an optimizer's work on the rows that a step has touched.  As many arrays as the
// region has outputs, then indices s[n], then whatever else the region reads: arrays of n rows, and
// scalars.  For each i in order, each element of row indices[i] of all arrays becomes what the
// region makes of these elements, of those at the same place of row i, and of the scalars; an index
// that is out of range is left out.  Rows are single elements or one-dimensional.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "jit/base/lists.h"
#include "jit/ops/infer.h"
#include "jit/ops/names.h"

namespace tektite::ops {

namespace {

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

absl::StatusOr<Shapes> UpdateRows(const InferContext& c) {
  TEKTITE_RETURN_IF_ERROR(c.CheckRegions(1));
  const int count = static_cast<int>(c.regions[0]->outputs().size());
  if (count < 1 || c.num_operands() <= count) {
    return InvalidArgument("takes as many arrays as the region has outputs (", count,
                           "), and indices, has ", c.num_operands(), " operands");
  }
  const Shape &x = c.operand(0), &indices = c.operand(count);
  if (x.rank() < 1 || x.rank() > 2) return InvalidArgument("rows of ", x.ToString());
  if (!ir::IsInteger(indices.dtype()) || indices.rank() != 1) {
    return InvalidArgument("indices must be a list of integers, got ", indices.ToString());
  }
  Dims update = x.dims();
  update[0] = indices.dim(0);
  Shapes results, scalars;
  for (int i = 0; i < c.num_operands(); ++i) {
    if (i == count) continue;
    const Shape& shape = c.operand(i);
    scalars.push_back(Shape(shape.dtype(), Dims()));
    if (i > count && shape.rank() == 0) continue;
    const Shape expected(shape.dtype(), i < count ? x.dims() : update);
    auto same = c.SameShape(shape, expected, absl::StrCat("operand ", i, " has other rows"));
    if (!same.ok()) return same.status();
    if (i < count) results.push_back(shape);
  }
  TEKTITE_RETURN_IF_ERROR(c.CheckRegionParameters(0, scalars));
  scalars.resize(count);
  TEKTITE_RETURN_IF_ERROR(c.CheckRegionOutputs(0, scalars));
  return results;
}

}  // namespace

absl::StatusOr<Shapes> InferIndexed(const InferContext& c) {
  switch (c.op) {
    case ir::Op::kGather:
      return Gather(c);
    case ir::Op::kScatter:
      return Scatter(c);
    default:
      return UpdateRows(c);
  }
}

}  // namespace tektite::ops
