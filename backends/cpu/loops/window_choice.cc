#include "backends/cpu/loops/window_choice.h"

#include <utility>

#include "backends/cpu/emit/names.h"
#include "jit/ops/ops.h"

namespace tektite::cpu {
namespace {}  // namespace

std::vector<WindowAxis> WindowAxesOf(const Node& root) {
  const int rank = root.shape().rank();
  const ops::WindowDims w = ops::GetWindowDims(rank, root.attrs());
  std::vector<WindowAxis> axes(rank);
  for (int d = 0; d < rank; ++d) {
    WindowAxis& a = axes[d];
    a.window = w.window[d];
    a.stride = w.strides[d];
    a.low = w.low[d];
    a.overlap = (a.window - 1) / a.stride;
    a.size = root.operand_shape(0).dim(d);
    a.places = root.operand_shape(1).dim(d);
    a.tiles = CeilDiv(a.size + Dim(a.low), a.stride);
    const Dim reach = (a.places - Dim(1)) * Dim(a.stride) + Dim(a.window - a.low);
    a.starts_inside = a.low == 0;
    a.ends_inside = IsAtMost(reach, a.size);
    a.tiles_inside = a.low == 0 && Mod(a.size, a.stride) == Dim(0);
    a.tiles_have_places = IsAtMost(a.tiles, a.places);
  }
  return axes;
}

WindowChooser::WindowChooser(const Node& root, const std::vector<WindowAxis>& axes, bool vectorized,
                             int lanes)
    : root_(root),
      axes_(axes),
      rank_(root.shape().rank()),
      vectorized_(vectorized),
      lanes_(lanes),
      wide_(root.shape().dtype()) {
  if (ir::IsFloat(wide_) && ir::DTypeBytes(wide_) < 4) wide_ = DType::kF32;
  for (const WindowAxis& a : axes) elements_ *= a.window;
  unrolled_ = elements_ <= kMostUnrolled;
}

void WindowChooser::EmitInto(ElementEmitter* e) {
  e_ = e;
  b_ = &e->builder();
}

loop::Builder::ForOptions WindowChooser::Unrolled(int64_t trips) const {
  loop::Builder::ForOptions options;
  if (unrolled_) options.unroll = static_cast<int>(trips);
  return options;
}

Value WindowChooser::Number(Value number) const {
  return b_->Splat(b_->Convert(number, DType::kS32), lanes_);
}

Value WindowChooser::Start(int d, Value place) const {
  const WindowAxis& a = axes_[d];
  return b_->Sub(b_->Mul(place, b_->Index(a.stride)), b_->Index(a.low));
}

Value WindowChooser::Read(int operand, const Values& index) const {
  Indices at;
  for (int d = 0; d < rank_; ++d) at.push_back(At(index[d], d + 1 == rank_ && vectorized_ ? 1 : 0));
  return b_->Convert(e_->EmitVector(root_.operand(operand), at), wide_);
}

Value WindowChooser::Choose(const Values& place, Value mask) {
  mask_ = mask;
  loop::Builder& b = *b_;
  Value inside = b.Int(DType::kBool, 1);
  for (int d = 0; d < rank_; ++d) {
    const WindowAxis& a = axes_[d];
    Value start = Start(d, place[d]);
    if (!a.starts_inside) inside = b.And(inside, b.Compare("ge", start, b.Index(0)));
    if (!a.ends_inside) {
      Value end = b.Add(start, b.Index(a.window));
      inside = b.And(inside, b.Compare("le", end, b.Index(a.size)));
    }
  }
  if (!unrolled_) inside = b.Int(DType::kBool, 0);
  return b.IfElse(
      inside, [&] { return Values{ChooseWithin(place, true)}; },
      [&] { return Values{ChooseWithin(place, false)}; })[0];
}

Value WindowChooser::ChooseWithin(const Values& place, bool all) {
  loop::Builder& b = *b_;
  Values begin, end;
  Value first = b.Index(0);
  for (int d = 0; d < rank_; ++d) {
    const WindowAxis& a = axes_[d];
    begin.push_back(b.Index(0));
    end.push_back(b.Index(a.window));
    if (!all && !a.starts_inside) {
      // A window with no element chooses one that is outside.
      Value before = b.Max(b.Sub(b.Index(0), Start(d, place[d])), b.Index(0));
      begin.back() = b.Min(before, b.Index(a.window - 1));
    }
    if (!all && !a.ends_inside) {
      end.back() = b.Min(b.Sub(b.Index(a.size), Start(d, place[d])), end.back());
    }
    if (!all && !a.starts_inside) {
      Value start = b.Add(Start(d, place[d]), begin.back());
      end.back() = b.Select(b.Compare("ge", start, b.Index(0)), end.back(), b.Index(0));
    }
    first = b.Add(b.Mul(first, b.Index(a.window)), begin.back());
  }
  const ir::Literal lowest = ops::ReducerIdentity("max", wide_);
  Value least =
      ir::IsFloat(wide_) ? b.Float(wide_, lowest.AsDouble(0)) : b.Int(wide_, lowest.AsInt(0));
  Values index;
  return ChooseAmong(place, begin, end, b.Index(0), &index,
                     {b.Splat(least, lanes_), Number(first)})[1];
}

// Carries the greatest value so far and its number, over all elements that `index` begins.
WindowChooser::Values WindowChooser::ChooseAmong(const Values& place, const Values& begin,
                                                 const Values& end, Value number, Values* index,
                                                 Values state) {
  loop::Builder& b = *b_;
  const int d = static_cast<int>(index->size());
  if (d == rank_) {
    e_->Clear();
    e_->SetMask(mask_);
    Value x = Read(0, *index);
    Value greater = b.Compare("gt", x, state[0]);
    return {b.Select(greater, x, state[0]), b.Select(greater, Number(number), state[1])};
  }
  return b.For(
      begin[d], end[d], 1, std::move(state),
      [&](Value i, absl::Span<const Value> carried) {
        index->push_back(b.Add(Start(d, place[d]), i));
        Value next = b.Add(b.Mul(number, b.Index(axes_[d].window)), i);
        Values s = ChooseAmong(place, begin, end, next, index, {carried.begin(), carried.end()});
        index->pop_back();
        return s;
      },
      Unrolled(axes_[d].window));
}

}  // namespace tektite::cpu
