#include "backends/gpu/emit/contraction/padded_sum.h"

#include <utility>
#include <vector>

#include "backends/gpu/emit/names.h"
#include "backends/gpu/emit/root_epilogue.h"
#include "jit/llvm/emit/element_emitter.h"
#include "jit/llvm/emit/region_kernel.h"

namespace tektite::gpu {

using Values = std::vector<Value>;

namespace {

class Resummation {
 public:
  Resummation(Builder& b, const ir::Graph& region, const ContractionView& view,
              ContractionIndex index, DType dtype)
      : b_(b), region_(region), view_(view), index_(std::move(index)), dtype_(dtype) {}

  // Window element by window element: whether one is inside is the same for all its channels.
  Value Run() {
    ir::Dims window = view_.k();
    const ir::Dim channels = window.back();
    window.pop_back();
    return b_.For(b_.Index(0), b_.Index(Product(window)), 1, {b_.Constant(dtype_, 0)},
                  [&](Value element, absl::Span<const Value> carried) {
                    index_.k = SplitNarrowIndex(b_, element, window);
                    index_.k.push_back(loop::At(b_.Index(0)));
                    const auto add = [&] { return Values{b_.Add(carried[0], Channels(channels))}; };
                    const Value inside = view_.Lhs(b_, index_).inside;
                    if (!inside) return add();
                    return b_.IfElse(inside, add, [&] { return Values{carried[0]}; });
                  })[0];
  }
  const absl::Status& status() const { return status_; }

 private:
  Value Channels(const ir::Dim& channels) {
    return b_.For(b_.Index(0), b_.Index(channels), 1, {b_.Constant(dtype_, 0)},
                  [&](Value channel, absl::Span<const Value> carried) {
                    index_.k.back() = loop::At(channel);
                    const Value x = Read(0, view_.Lhs(b_, index_)),
                                y = Read(1, view_.Rhs(b_, index_));
                    return Values{b_.Fma(x, y, carried[0])};
                  })[0];
  }

  Value Read(int operand, const ContractionView::Element& element) {
    loop::ElementEmitter e(&b_, 1);
    loop::BindParameters(e, region_);
    const Value v = e.Emit(view_.root().operand(operand), element.at);
    if (status_.ok()) status_ = e.status();
    return v.dtype() == dtype_ ? v : b_.Convert(v, dtype_);
  }

  Builder& b_;
  const ir::Graph& region_;
  const ContractionView& view_;
  ContractionIndex index_;
  const DType dtype_;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<Value> WithoutPadding(Builder& b, const ir::Graph& region,
                                     const ContractionView& view, ContractionIndex index, Value sum,
                                     int64_t lanes) {
  if (!ir::IsFloat(sum.dtype())) return sum;
  const Value reaches = view.ReachesOutside(b, index);
  if (!reaches) return sum;
  const auto is_nan = [&](Value v) { return b.Compare("ne", v, v); };
  Value any;
  for (int lane = 0; lane < lanes; ++lane) {
    const Value one = is_nan(lanes > 1 ? b.ExtractLane(sum, lane) : sum);
    any = any ? b.Or(any, one) : one;
  }
  absl::Status status;
  const Value whole = b.IfElse(
      b.And(any, reaches),
      [&] {
        const auto wide = static_cast<int>(lanes);
        const Value first = index.n.back().base;
        return b.For(
            b.Index(0), b.Index(lanes), 1, {sum}, [&](Value lane, absl::Span<const Value> carried) {
              index.n.back() = loop::At(b.Add(first, lane));
              Resummation again(b, region, view, index, sum.dtype());
              const Value one = again.Run();
              if (status.ok()) status = again.status();
              if (lanes == 1) return Values{one};
              const Value own = b.Compare("eq", b.Iota(DType::kS64, wide), b.Splat(lane, wide));
              const Value here = b.Select(is_nan(sum), b.Splat(one, wide), carried[0]);
              return Values{b.Select(own, here, carried[0])};
            });
      },
      [&] { return Values{sum}; })[0];
  if (!status.ok()) return status;
  return whole;
}

}  // namespace tektite::gpu
