// Pooling: each result is a thread's, which visits the elements of its window that are inside the
// image, in order.
//
// Limits: windows that overlap are read once for each result; no select_and_scatter.
#include "backends/gpu/emit/emitter.h"
#include "backends/gpu/emit/names.h"
#include "backends/gpu/emit/reduction/group_reduction.h"
#include "backends/gpu/emit/reduction/window_place.h"
#include "backends/gpu/emit/root_epilogue.h"
#include "jit/base/status.h"
#include "jit/llvm/emit/region_kernel.h"
#include "jit/ops/ops.h"

namespace tektite::gpu {
namespace {

using Values = std::vector<Value>;

class WindowEmitter {
 public:
  WindowEmitter(const ir::Graph& region, const Node& root, loop::Kernel* kernel)
      : region_(region),
        root_(root),
        b_(kernel),
        op_(ops::ReducerOp(root.String(Attr::reducer))),
        reduction_(&b_, root.String(Attr::reducer), root.shape().dtype(), loop::kWarpThreads) {
    const ir::Dims& image = root.operand_shape(0).dims();
    const ops::WindowDims w = ops::GetWindowDims(root.shape().rank(), root.attrs());
    window_ = w.window;
    for (size_t d = 0; d < image.size(); ++d) {
      axes_.push_back(
          {w.strides[d], w.window_dilation[d], w.low[d], w.high[d], w.lhs_dilation[d], image[d]});
    }
  }

  absl::Status Run() {
    ForEachResult(b_, root_, [&](const Indices& at) {
      Indices from;
      const Value total = Reduce(at, {}, &from, reduction_.Identity(1));
      status_.Update(StoreResults(b_, region_, root_, at, reduction_.Narrow(total), 1));
    });
    return status_;
  }

 private:
  // The elements of the window of `result` whose places begin with `from`, taken into `total`.
  Value Reduce(const Indices& result, Value inside, Indices* from, Value total) {
    const size_t d = from->size();
    if (d == axes_.size()) {
      if (!inside) return Take(*from, total);
      return b_.IfElse(
          inside, [&] { return Values{Take(*from, total)}; }, [&] { return Values{total}; })[0];
    }
    const auto element = [&](Value i, absl::Span<const Value> carried) {
      const WindowPlace place = PlaceInWindow(b_, axes_[d], result[d].base, i);
      const Value here = inside && place.inside ? b_.And(inside, place.inside)
                         : inside               ? inside
                                                : place.inside;
      from->push_back(loop::At(place.at));
      const Value next = Reduce(result, here, from, carried[0]);
      from->pop_back();
      return Values{next};
    };
    return b_.For(b_.Index(0), b_.Index(window_[d]), 1, {total}, element)[0];
  }

  Value Take(const Indices& from, Value total) {
    ElementEmitter e(&b_, 1);
    loop::BindParameters(e, region_);
    const Value x = b_.Convert(e.Emit(root_.operand(0), from), reduction_.accumulator());
    status_.Update(e.status());
    if (op_ != Op::kMax && op_ != Op::kMin) return reduction_.Combine(total, x);
    // NaN is neither greater nor less than anything.
    return b_.Select(b_.Compare(op_ == Op::kMax ? "gt" : "lt", x, total), x, total);
  }

  const ir::Graph& region_;
  const Node& root_;
  loop::Builder b_;
  const Op op_;
  const GroupReduction reduction_;
  std::vector<int64_t> window_;
  std::vector<WindowAxis> axes_;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<EmittedKernel> EmitWindow(const Node& fusion, const std::string& name) {
  const ir::Graph& region = fusion.region();
  for (const auto& node : region.nodes()) {
    if (node->op() != Op::kReduceWindow) continue;
    if (node->shape().rank() == 0) return Unimplemented(node->Describe(), ": a scalar");
    TEKTITE_RETURN_IF_ERROR(CheckResults(region, *node));
    EmittedKernel result;
    result.kernel = loop::MakeKernel(fusion, name);
    TEKTITE_RETURN_IF_ERROR(WindowEmitter(region, *node, result.kernel.get()).Run());
    return result;
  }
  return Unimplemented("no reduce_window");
}

}  // namespace tektite::gpu
