// gather, scatter and update_rows; jit/ops/indexed.cc says what their dimension numbers mean.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "jit/base/lists.h"
#include "jit/ops/ops.h"
#include "jit/reference/eval.h"
#include "jit/reference/scalar_ops.h"

namespace tektite::reference {

using ir::Attr;
using ir::Literal;
using ir::RowMajorStrides;

namespace {

using Ints = std::vector<int64_t>;

// Reads start vectors, and tells window from batch dimensions of a gather's result or a scatter's
// updates.
class Windows {
 public:
  Windows(const EvalContext& c, Attr map)
      : indices_(c.operand(1)),
        map_(c.node.Ints(map)),
        offset_(c.node.Ints(Attr::offset_dims)),
        rank_(c.operand(0).rank()),
        vector_dim_(c.node.Int(Attr::index_vector_dim, c.operand(1).rank())),
        strides_(RowMajorStrides(c.operand(1).sizes())) {
    for (int64_t i = 0; i < rank_; ++i) {
      if (!Contains(c.node.Ints(Attr::collapsed_slice_dims), i)) kept_.push_back(i);
    }
  }

  // Where the window of this result index starts, for each operand dimension.
  Ints Starts(const Ints& index) const {
    int64_t at = 0;
    int dim = 0;
    for (size_t i = 0; i < index.size(); ++i) {
      if (Contains(offset_, i)) continue;
      if (dim == vector_dim_) ++dim;
      at += index[i] * strides_[dim++];
    }
    const int64_t step =
        vector_dim_ < static_cast<int64_t>(strides_.size()) ? strides_[vector_dim_] : 0;
    Ints starts(rank_, 0);
    for (size_t k = 0; k < map_.size(); ++k) {
      starts[map_[k]] = indices_.AsInt(at + static_cast<int64_t>(k) * step);
    }
    return starts;
  }

  // The place inside the window, for each operand dimension.
  Ints Offsets(const Ints& index) const {
    Ints offsets(rank_, 0);
    for (size_t k = 0; k < kept_.size(); ++k) offsets[kept_[k]] = index[offset_[k]];
    return offsets;
  }

  // Sizes of a scatter's windows, from the updates' sizes.
  Ints WindowSizes(const Ints& updates) const {
    Ints sizes(rank_, 1);
    for (size_t k = 0; k < kept_.size(); ++k) sizes[kept_[k]] = updates[offset_[k]];
    return sizes;
  }

 private:
  const Literal& indices_;
  const Ints map_, offset_;
  const int rank_;
  const int64_t vector_dim_;
  const Ints strides_;
  Ints kept_;  // operand dimensions that are not collapsed
};

Literal Gather(const EvalContext& c) {
  const Literal& x = c.operand(0);
  const Windows windows(c, Attr::start_index_map);
  const ir::Dims& slice_sizes = c.node.attrs().GetDims(Attr::slice_sizes);
  const Ints strides = RowMajorStrides(x.sizes());
  Literal result = c.AllocateResult();
  DispatchBytes(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* to = result.mutable_data<T>();
    ForEachIndex(result.sizes(), [&](const Ints& index) {
      const Ints starts = windows.Starts(index), offsets = windows.Offsets(index);
      int64_t at = 0;
      for (int i = 0; i < x.rank(); ++i) {
        const int64_t room = x.sizes()[i] - slice_sizes[i].value();
        at += (std::max<int64_t>(0, std::min(starts[i], room)) + offsets[i]) * strides[i];
      }
      *to++ = x.data<T>()[at];
    });
  });
  return result;
}

Literal Scatter(const EvalContext& c) {
  const Literal &x = c.operand(0), &updates = c.operand(2);
  const Windows windows(c, Attr::scatter_dims_to_operand_dims);
  const Ints strides = RowMajorStrides(x.sizes());
  const Ints window = windows.WindowSizes(updates.sizes());
  const std::string& reducer = c.node.String(Attr::reducer);
  const ir::Op op = ops::ReducerOp(reducer);
  Literal result = c.AllocateResult();
  DispatchDType(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    // Accumulated wide, rounded once at the end.
    auto wide = std::make_unique<Wide<T>[]>(x.num_elements());
    for (int64_t i = 0; i < x.num_elements(); ++i) wide[i] = Widen(x.data<T>()[i]);
    const T* from = updates.data<T>();
    const auto combine = FindBinary<Wide<T>>(op);
    ForEachIndex(updates.sizes(), [&](const Ints& index) {
      const Wide<T> update = Widen(*from++);
      const Ints starts = windows.Starts(index), offsets = windows.Offsets(index);
      int64_t at = 0;
      for (int i = 0; i < x.rank(); ++i) {
        if (starts[i] < 0 || starts[i] > x.sizes()[i] - window[i]) return;
        at += (starts[i] + offsets[i]) * strides[i];
      }
      wide[at] = reducer == "replace" ? update : combine(wide[at], update);
    });
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      result.mutable_data<T>()[i] = Narrow<T>(wide[i]);
    }
  });
  return result;
}

absl::StatusOr<Literals> UpdateRows(const EvalContext& c) {
  const int count = c.node.num_results();
  Literals results;
  for (int k = 0; k < count; ++k) {
    const Literal& x = c.operand(k);
    results.push_back(Literal::CopyOf(x.dtype(), x.sizes(), x.data<char>()));
  }
  const Literal& indices = c.operand(count);
  const int64_t rows = results[0].sizes()[0];
  const int64_t width = results[0].rank() > 1 ? results[0].sizes()[1] : 1;
  for (int64_t i = 0; i < indices.num_elements() * width; ++i) {
    const int64_t row = indices.AsInt(i / width);
    if (row < 0 || row >= rows) continue;
    const int64_t at = row * width + i % width;
    Literals args;
    for (const Literal& x : results) args.push_back(Element(x, at));
    for (size_t k = count + 1; k < c.operands.size(); ++k) {
      args.push_back(Element(c.operands[k], c.operands[k].rank() == 0 ? 0 : i));
    }
    TEKTITE_ASSIGN_OR_RETURN(const Literals next, EvaluateStatic(c.node.region(), args));
    for (int k = 0; k < count; ++k) {
      const int64_t bytes = ir::DTypeBytes(next[k].dtype());
      std::memcpy(results[k].mutable_data<char>() + at * bytes, next[k].data<char>(), bytes);
    }
  }
  return results;
}

}  // namespace

absl::StatusOr<Literals> EvalIndexed(const EvalContext& c) {
  switch (c.op()) {
    case ir::Op::kGather:
      return Literals{Gather(c)};
    case ir::Op::kScatter:
      return Literals{Scatter(c)};
    default:
      return UpdateRows(c);
  }
}

}  // namespace tektite::reference
