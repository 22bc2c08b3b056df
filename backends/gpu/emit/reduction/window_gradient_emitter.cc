// Gradients of max pooling (select_and_scatter), without atomics.
//
// A first phase finds for each window the element that it chooses: the first of the greatest, and
// the first of all where none is greater than the least value, which NaN never is.  In a second one
// each element of the image asks the windows that it lies in, in order, and adds up the sources of
// those that have chosen it.
//
// Limits: windows are not dilated.
#include "backends/gpu/emit/emitter.h"
#include "backends/gpu/emit/names.h"
#include "backends/gpu/emit/phases.h"
#include "backends/gpu/emit/root_epilogue.h"
#include "jit/base/status.h"
#include "jit/llvm/emit/reducer.h"
#include "jit/ops/ops.h"

namespace tektite::gpu {
namespace {

using Values = std::vector<Value>;

class WindowGradientEmitter {
 public:
  WindowGradientEmitter(const Node& root, Phases* phases)
      : root_(root),
        phases_(*phases),
        image_(root.shape().dims()),
        places_(root.operand_shape(1).dims()),
        windows_(ops::GetWindowDims(root.shape().rank(), root.attrs())),
        wide_(loop::AccumulatorOf(root.shape().dtype())),
        chosen_(phases->AddScratch(DType::kS32, Product(places_))) {}

  void Run() {
    phases_.Add([&](Builder& b) { Choose(b); });
    phases_.Add([&](Builder& b) {
      ForEachResult(b, root_, [&](const Indices& at) {
        const Value total =
            Collect(b, at, {}, b.Index(0), b.Index(0), loop::ReducerIdentity(b, "add", wide_, 1));
        phases_.Note(StoreResults(b, phases_.region(), root_, at, total, 1));
      });
    });
  }

 private:
  void Choose(Builder& b) {
    ForEachThread(b, Product(places_), [&](Value linear) {
      const Values place = loop::Delinearize(b, linear, places_);
      const Values none = {loop::ReducerIdentity(b, "max", wide_, 1), b.Int(DType::kS32, -1)};
      const Values best = ChooseAmong(b, place, {}, b.Index(0), {}, none);
      b.Store(phases_.Scratch(chosen_), linear, best[1]);
    });
  }

  // The greatest value so far and its number in the window, after all elements whose index begins
  // with `from`.
  Values ChooseAmong(Builder& b, const Values& place, const Indices& from, Value number,
                     Value inside, Values best) {
    const size_t d = from.size();
    if (d == image_.size()) {
      const auto take = [&] {
        const Value x = b.Convert(phases_.Read(b, root_.operand(0), from), wide_);
        const Value own = b.Convert(number, DType::kS32);
        const Value is_first = b.Compare("lt", best[1], b.Int(DType::kS32, 0));
        const Value is_greater = b.Compare("gt", x, best[0]);
        return Values{b.Select(is_greater, x, best[0]),
                      b.Select(b.Or(is_greater, is_first), own, best[1])};
      };
      return inside ? b.IfElse(inside, take, [&] { return best; }) : take();
    }
    const Value start =
        b.Sub(b.Mul(place[d], b.Index(windows_.strides[d])), b.Index(windows_.low[d]));
    const auto element = [&](Value i, absl::Span<const Value> carried) {
      const Value at = b.Add(start, i);
      Value here = inside;
      const auto require = [&](Value condition) {
        here = here ? b.And(here, condition) : condition;
      };
      if (windows_.low[d] > 0) require(b.Compare("ge", at, b.Index(0)));
      if (windows_.low[d] > 0 || windows_.high[d] > 0) {
        require(b.Compare("lt", at, b.Index(image_[d])));
      }
      Indices index = from;
      index.push_back(loop::At(at));
      const Value next = b.Add(b.Mul(number, b.Index(windows_.window[d])), i);
      return ChooseAmong(b, place, index, next, here, {carried.begin(), carried.end()});
    };
    return b.For(b.Index(0), b.Index(windows_.window[d]), 1, std::move(best), element);
  }

  // Adds to `total` what windows have for `at` whose places begin with `place`; `number` is at's in
  // them.
  Value Collect(Builder& b, const Indices& at, const Indices& place, Value linear, Value number,
                Value total) {
    const size_t d = place.size();
    if (d == image_.size()) {
      const Value chosen = b.Load(phases_.Scratch(chosen_), DType::kS32, linear);
      return b.IfElse(
          b.Compare("eq", chosen, b.Convert(number, DType::kS32)),
          [&] {
            const Value x = b.Convert(phases_.Read(b, root_.operand(1), place), wide_);
            return Values{b.Add(total, x)};
          },
          [&] { return Values{total}; })[0];
    }
    const int64_t window = windows_.window[d], stride = windows_.strides[d];
    const Value own = b.Add(at[d].base, b.Index(windows_.low[d]));
    const auto in_place = [&](Value p, Value sum) {
      Indices next = place;
      next.push_back(loop::At(p));
      const Value i = b.Sub(own, b.Mul(p, b.Index(stride)));
      return Collect(b, at, next, b.Add(b.Mul(linear, b.Index(places_[d])), p),
                     b.Add(b.Mul(number, b.Index(window)), i), sum);
    };
    if (window == 1 && stride == 1 && windows_.low[d] == 0 && image_[d] == places_[d]) {
      return in_place(at[d].base, total);
    }
    // Of the windows that begin at multiples of the stride: those that reach `own` and begin by it.
    const Value reaching = b.Max(b.Sub(own, b.Index(window - 1)), b.Index(0));
    const Value first = b.Div(b.Add(reaching, b.Index(stride - 1)), b.Index(stride));
    const Value last = b.Min(b.Div(own, b.Index(stride)), b.Index(places_[d] - ir::Dim(1)));
    return b.For(first, b.Add(last, b.Index(1)), 1, {total},
                 [&](Value p, absl::Span<const Value> carried) {
                   return Values{in_place(p, carried[0])};
                 })[0];
  }

  const Node& root_;
  Phases& phases_;
  const ir::Dims &image_, &places_;
  const ops::WindowDims windows_;
  const DType wide_;
  const int chosen_;
};

}  // namespace

absl::StatusOr<EmittedKernel> EmitWindowGradient(const Node& fusion, const std::string& name) {
  const ir::Graph& region = fusion.region();
  for (const auto& node : region.nodes()) {
    if (node->op() != ir::Op::kSelectAndScatter) continue;
    if (node->shape().rank() == 0) return Unimplemented(node->Describe(), ": a scalar");
    TEKTITE_RETURN_IF_ERROR(CheckResults(region, *node));
    Phases phases(fusion, name);
    WindowGradientEmitter(*node, &phases).Run();
    return phases.Take();
  }
  return Unimplemented("no select_and_scatter");
}

}  // namespace tektite::gpu
