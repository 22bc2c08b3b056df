#include "backends/gpu/emit/root_epilogue.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "backends/gpu/emit/contraction/padded_sum.h"
#include "backends/gpu/emit/emitter.h"
#include "backends/gpu/emit/names.h"
#include "backends/gpu/emit/phases.h"
#include "jit/base/status.h"
#include "jit/llvm/emit/region_kernel.h"

namespace tektite::gpu {
namespace {

// Of 64 bits, which a size must leave free; and more than any tile has.
constexpr int64_t kFreeBits = int64_t{1} << 32, kMostRounding = 1024;

}  // namespace

absl::Status CheckResults(const ir::Graph& region, const Node& root) {
  const Dims& space = region.outputs()[0].shape().dims();
  for (ir::Value v : region.outputs()) {
    if (v.shape().dims() != space) {
      return Unimplemented(root.Describe(), ": results of different shapes");
    }
  }
  if (Product(space) != root.shape().NumElements()) {
    return Unimplemented(root.Describe(), ": results of another size");
  }
  return absl::OkStatus();
}

absl::Status StoreSum(loop::Builder& b, const ir::Graph& region, const ContractionView& view,
                      Indices batch, Value m, Value n, Value sum, int64_t lanes) {
  ContractionIndex index;
  index.batch = std::move(batch);
  index.m = SplitNarrowIndex(b, m, view.m());
  index.n = SplitNarrowIndex(b, n, view.n(), lanes);
  return StoreSumAt(b, region, view, index, sum, lanes);
}

absl::Status StoreSumAt(loop::Builder& b, const ir::Graph& region, const ContractionView& view,
                        const ContractionIndex& index, Value sum, int64_t lanes) {
  TEKTITE_ASSIGN_OR_RETURN(sum, WithoutPadding(b, region, view, index, sum, lanes));
  return StoreResults(b, region, view.root(), view.Result(b, index), sum, static_cast<int>(lanes));
}

int64_t ResultLanes(const ir::Graph& region, const ContractionView& view, int64_t most) {
  const Dims& space = region.outputs()[0].shape().dims();
  const int64_t lanes = std::min(most, VectorElements(region));
  const bool whole = view.result_along() == ContractionView::Along::kN && !space.empty() &&
                     Mod(view.n().back(), lanes) == Dim(0) && Mod(space.back(), lanes) == Dim(0);
  return whole ? lanes : 1;
}

Indices SplitIndex(loop::Builder& b, Value linear, const Dims& sizes, int64_t lanes) {
  Indices at;
  for (Value v : loop::Delinearize(b, linear, sizes)) at.push_back(loop::At(v));
  if (lanes > 1) at.back().coefficient = 1;
  return at;
}

Indices SplitNarrowIndex(loop::Builder& b, Value linear, const Dims& sizes, int64_t lanes) {
  Indices at(sizes.size());
  for (size_t i = sizes.size(); i-- > 1;) {
    at[i] = loop::At(b.Index(0));
    if (sizes[i] == Dim(1)) continue;
    at[i].base = b.RemNarrow(linear, sizes[i]);
    linear = b.DivNarrow(linear, sizes[i]);
  }
  if (!at.empty()) at[0] = loop::At(linear);
  if (lanes > 1) at.back().coefficient = 1;
  return at;
}

absl::Status RequireNarrow(loop::Kernel& kernel, const Dim& size) {
  if (size.is_constant()) {
    if (size.value() < kFreeBits / 2 - kMostRounding) return absl::OkStatus();
    return Unimplemented(kernel.name(), ": a size of ", size.value());
  }
  // What does not fit 64 bits keeps the code from being run: DimProgram::Run.
  kernel.sizes.Add((size + kMostRounding) * kFreeBits);
  return absl::OkStatus();
}

void ForEachResult(loop::Builder& b, const Node& root,
                   const std::function<void(const Indices&)>& body) {
  ForEachThread(b, root.shape().NumElements(),
                [&](Value at) { body(SplitIndex(b, at, root.shape().dims())); });
}

absl::Status StoreResults(loop::Builder& b, const ir::Graph& region, const Node& root, Indices at,
                          Value value, int lanes) {
  const ir::Value result{const_cast<Node*>(&root), 0};
  const Dims &own = root.shape().dims(), &space = region.outputs()[0].shape().dims();
  if (own != space) {
    const Dims strides = ir::RowMajorStrides(own);
    Value linear = b.Index(0);
    for (size_t i = 0; i < own.size(); ++i) {
      linear = b.Add(linear, b.Mul(at[i].base, b.Index(strides[i])));
    }
    at = SplitIndex(b, linear, space, lanes);
  }
  loop::ElementEmitter e(&b, lanes);
  loop::BindParameters(e, region);
  if (value.dtype() != result.dtype()) value = b.Convert(value, result.dtype());
  e.BindValue(result, value);
  for (const ir::Use& use : root.uses()) {
    if (use.user->op() == ir::Op::kReshape) e.BindValue(use.user->result(), value);
  }
  // All are read before one is written: they may share memory.
  std::vector<Value> values;
  for (ir::Value v : region.outputs()) values.push_back(e.Emit(v, at));
  for (size_t o = 0; o < values.size(); ++o) {
    e.StoreAt(b.Buffer(loop::OutputBuffer(region, o)), region.outputs()[o].shape(), at, values[o]);
  }
  return e.status();
}

}  // namespace tektite::gpu
