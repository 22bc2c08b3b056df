// Data movement inside a fusion: the elements of a reshape, pad, concatenate, gather and of dynamic
// slices are those of an operand at another index.
#include <algorithm>

#include "jit/base/status.h"
#include "jit/llvm/emit/element_emitter.h"

namespace tektite::loop {
namespace {

using ir::Attr;
using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::Node;
using ir::Shape;
using loop::Value;

// A run of dimensions on either side with the same number of elements.
struct Run {
  size_t to = 0, from = 0;  // how many dimensions
};

// The shortest run from dimensions `i` and `j` on; all that is left when no product is known to be
// that of some other.
Run NextRun(const Dims& to, size_t i, const Dims& from, size_t j) {
  Run best{to.size() - i, from.size() - j};
  Dim to_product(1);
  for (size_t a = 0; i + a <= to.size(); ++a) {
    if (a > 0) to_product = to_product * to[i + a - 1];
    Dim from_product(1);
    for (size_t b = 0; j + b <= from.size(); ++b) {
      if (b > 0) from_product = from_product * from[j + b - 1];
      if (a + b > 0 && a + b < best.to + best.from && to_product == from_product) best = {a, b};
    }
  }
  return best;
}

// No element, whatever the sizes.
bool IsEmpty(const Shape& shape) {
  return std::find(shape.dims().begin(), shape.dims().end(), Dim(0)) != shape.dims().end();
}

}  // namespace

Value ElementEmitter::EmitReshape(const Node& node, const Indices& at) {
  const Dims &to = node.shape().dims(), &from = node.operand_shape(0).dims();
  Indices index(from.size(), At(b_.Index(0)));
  size_t i = 0, j = 0;
  while (i < to.size() || j < from.size()) {
    const Run run = NextRun(to, i, from, j);
    std::vector<size_t> dims_to, dims_from;
    for (size_t d = i; d < i + run.to; ++d) {
      if (to[d] != Dim(1)) dims_to.push_back(d);
    }
    for (size_t d = j; d < j + run.from; ++d) {
      if (from[d] != Dim(1)) dims_from.push_back(d);
    }
    i += run.to;
    j += run.from;
    if (dims_from.empty() || dims_to.empty()) continue;
    LaneIndex linear{b_.Index(0), 0, {}};
    Dim stride(1);
    bool irregular = false;
    for (size_t d : dims_to) irregular |= static_cast<bool>(at[d].lanes);
    Value vector;
    for (size_t n = dims_to.size(); n-- > 0;) {
      const LaneIndex& index_to = at[dims_to[n]];
      if (irregular) {
        Value term = b_.Mul(LaneVector(index_to), Spread(b_.Index(stride)));
        vector = vector ? b_.Add(vector, term) : term;
      } else {
        linear.base = b_.Add(linear.base, b_.Mul(index_to.base, b_.Index(stride)));
        linear.coefficient = linear.coefficient + index_to.coefficient * stride;
      }
      stride = stride * to[dims_to[n]];
    }
    if (irregular) linear = LaneIndex{{}, 0, vector};
    if (dims_from.size() == 1) {
      index[dims_from[0]] = linear;
      continue;
    }
    Dims sizes;
    for (size_t d : dims_from) sizes.push_back(from[d]);
    const bool uniform = linear.uniform();
    const std::vector<Value> parts = uniform ? Delinearize(b_, linear.base, sizes)
                                             : DelinearizeLanes(b_, LaneVector(linear), sizes);
    for (size_t n = 0; n < sizes.size(); ++n) {
      index[dims_from[n]] = uniform ? At(parts[n]) : LaneIndex{{}, 0, parts[n]};
    }
  }
  return Emit(node.operand(0), index);
}

Value ElementEmitter::Inside(LaneIndex* index, const Dim& size) {
  const bool uniform = index->uniform();
  Value v = uniform ? index->base : LaneVector(*index);
  auto constant = [&](const Dim& d) { return uniform ? b_.Index(d) : Spread(b_.Index(d)); };
  Value inside = b_.And(b_.Compare("ge", v, constant(0)), b_.Compare("lt", v, constant(size)));
  if (uniform) {
    index->base = b_.Max(b_.Min(index->base, b_.Index(size - Dim(1))), b_.Index(0));
  }
  return inside;
}

Value ElementEmitter::Both(Value a, Value b) {
  if (!a || !b) return a ? a : b;
  std::vector<Value> both = {a, b};
  Match(both);
  return b_.And(both[0], both[1]);
}

Value ElementEmitter::EmitGuarded(ir::Value value, const Indices& at, Value inside,
                                  Value otherwise) {
  // Scalar parts of the index were moved inside by the caller; lanes outside are masked.
  Value saved_mask = mask_;
  auto saved_memo = std::move(memo_);
  memo_.clear();
  if (inside.lanes() > 1) mask_ = mask_ ? b_.And(mask_, inside) : inside;
  Value result;
  if (inside.lanes() == 1 && !value.shape().is_static()) {
    // There may be nothing inside: then not even index 0 can be read.
    int lanes = 1;
    auto widened = [&](Value v) { return v.lanes() < lanes ? Spread(v) : v; };
    result = b_.IfElse(
        inside,
        [&]() -> std::vector<Value> {
          Value v = Emit(value, at);
          lanes = std::max(v.lanes(), otherwise.lanes());
          return {widened(v)};
        },
        [&]() -> std::vector<Value> { return {widened(otherwise)}; })[0];
  } else {
    std::vector<Value> operands = {inside, Emit(value, at), otherwise};
    Match(operands);
    result = b_.Select(operands[0], operands[1], operands[2]);
  }
  mask_ = saved_mask;
  memo_ = std::move(saved_memo);
  return result;
}

Value ElementEmitter::EmitPad(const Node& node, const Indices& at) {
  const auto& low = node.Ints(Attr::low);
  const auto& interior = node.Ints(Attr::interior);
  const Shape& from_shape = node.operand_shape(0);
  Value otherwise = Emit(node.operand(1), {});
  if (IsEmpty(from_shape)) return otherwise;
  Indices from;
  Value inside;
  for (size_t i = 0; i < at.size(); ++i) {
    const Dim& size = from_shape.dim(static_cast<int>(i));
    const int64_t step = interior.empty() ? 1 : interior[i] + 1;
    const Dim high = node.shape().dim(static_cast<int>(i)) - Dim(low[i]) - size;
    if (low[i] == 0 && step == 1 && high.value_or(1) <= 0) {
      from.push_back(at[i]);
      continue;
    }
    LaneIndex shifted = Affine(at[i], 1, -low[i]);
    inside = Both(inside, Inside(&shifted, (size - Dim(1)) * Dim(step) + Dim(1)));
    if (step > 1) {
      const bool uniform = shifted.uniform();
      Value v = uniform ? shifted.base : LaneVector(shifted);
      auto constant = [&](int64_t c) { return uniform ? b_.Index(c) : Spread(b_.Index(c)); };
      inside = Both(inside, b_.Compare("eq", b_.Rem(v, constant(step)), constant(0)));
      Value divided = b_.Div(v, constant(step));
      shifted = uniform ? At(divided) : LaneIndex{{}, 0, divided};
    }
    from.push_back(shifted);
  }
  if (!inside) return Emit(node.operand(0), from);
  return EmitGuarded(node.operand(0), from, inside, otherwise);
}

Value ElementEmitter::ZeroOf(DType dtype) {
  if (dtype == DType::kF16 || dtype == DType::kBF16) {
    return b_.Bitcast(b_.Int(DType::kU16, 0), dtype);
  }
  return b_.Constant(dtype, 0);
}

Value ElementEmitter::EmitConcatenate(const Node& node, const Indices& at) {
  const int64_t d = node.Int(Attr::dimension);
  Value result;
  Dim start(0);
  for (ir::Value operand : node.operands()) {
    const Dim& size = operand.shape().dim(static_cast<int>(d));
    if (size == Dim(0)) continue;
    Indices from = at;
    from[d] = Affine(at[d], 1, Dim(0) - start);
    const Value inside = Inside(&from[d], size);
    if (!result && from[d].uniform() && size.is_constant()) {
      // Evaluated everywhere; each later operand replaces it from its start on.
      result = Emit(operand, from);
    } else {
      result = EmitGuarded(operand, from, inside, result ? result : ZeroOf(operand.dtype()));
    }
    start = start + size;
  }
  return result ? result : Fail(Unimplemented("an empty concatenate"));
}

Value ElementEmitter::ClampedStart(ir::Value start, const Dim& highest) {
  Indices at(start.shape().rank(), At(b_.Index(0)));
  Value v = b_.Convert(Emit(start, at), DType::kS64);
  return b_.Min(b_.Max(v, b_.Index(0)), b_.Index(Max(highest, 0)));
}

Value ElementEmitter::EmitDynamicSlice(const Node& node, const Indices& at) {
  Indices from;
  for (size_t i = 0; i < at.size(); ++i) {
    const int d = static_cast<int>(i);
    const Dim highest = node.operand_shape(0).dim(d) - node.shape().dim(d);
    from.push_back(highest == Dim(0) ? at[i]
                                     : Shifted(at[i], ClampedStart(node.operand(1 + d), highest)));
  }
  return Emit(node.operand(0), from);
}

Indices ElementEmitter::UpdatedAt(const Node& update_slice, const Indices& at) {
  Indices to;
  for (size_t i = 0; i < at.size(); ++i) {
    const int d = static_cast<int>(i);
    const Dim highest = update_slice.shape().dim(d) - update_slice.operand_shape(1).dim(d);
    const bool moves = highest != Dim(0);
    to.push_back(moves ? Shifted(at[i], ClampedStart(update_slice.operand(2 + d), highest))
                       : at[i]);
  }
  return to;
}

Value ElementEmitter::EmitDynamicUpdateSlice(const Node& node, const Indices& at) {
  const Shape& update = node.operand_shape(1);
  Value original = Emit(node.operand(0), at);
  if (IsEmpty(update)) return original;
  Indices from;
  Value inside;
  for (size_t i = 0; i < at.size(); ++i) {
    const int d = static_cast<int>(i);
    const Dim &size = update.dim(d), &full = node.shape().dim(d);
    if (size == full) {
      from.push_back(at[i]);
      continue;
    }
    Value start = ClampedStart(node.operand(2 + d), full - size);
    LaneIndex shifted = Shifted(at[i], b_.Sub(b_.Index(0), start));
    inside = Both(inside, Inside(&shifted, size));
    from.push_back(shifted);
  }
  if (!inside) return Emit(node.operand(1), from);
  return EmitGuarded(node.operand(1), from, inside, original);
}

Value ElementEmitter::EmitGather(const Node& node, const Indices& at) {
  const auto& offset_dims = node.Ints(Attr::offset_dims);
  const auto& collapsed = node.Ints(Attr::collapsed_slice_dims);
  const auto& start_map = node.Ints(Attr::start_index_map);
  const Dims& slice_sizes = node.attrs().GetDims(Attr::slice_sizes);
  const int64_t vector_dim = node.Int(Attr::index_vector_dim);
  const Shape& operand = node.operand_shape(0);
  const Shape& indices = node.operand_shape(1);
  // Result dimensions split into batch dimensions (they index `indices`) and offsets into the
  // slice.
  Indices batch, offsets;
  for (size_t i = 0; i < at.size(); ++i) {
    const bool offset = std::find(offset_dims.begin(), offset_dims.end(),
                                  static_cast<int64_t>(i)) != offset_dims.end();
    (offset ? offsets : batch).push_back(at[i]);
  }
  Indices from(operand.rank(), At(b_.Index(0)));
  size_t next = 0;
  for (int d = 0; d < operand.rank(); ++d) {
    if (std::find(collapsed.begin(), collapsed.end(), d) == collapsed.end()) {
      from[d] = offsets[next++];
    }
  }
  for (size_t m = 0; m < start_map.size(); ++m) {
    const int d = static_cast<int>(start_map[m]);
    Indices index_at;
    size_t b = 0;
    for (int i = 0; i < indices.rank(); ++i) {
      index_at.push_back(i == vector_dim ? At(b_.Index(static_cast<int64_t>(m))) : batch[b++]);
    }
    Value start = b_.Convert(Emit(node.operand(1), index_at), DType::kS64);
    const Dim highest = Max(operand.dim(d) - slice_sizes[d], 0);
    if (start.lanes() == 1) {
      start = b_.Min(b_.Max(start, b_.Index(0)), b_.Index(highest));
      from[d] = Shifted(from[d], start);
    } else {
      start = b_.Min(b_.Max(start, Spread(b_.Index(0))), Spread(b_.Index(highest)));
      from[d] = LaneIndex{{}, 0, b_.Add(start, LaneVector(from[d]))};
    }
  }
  return Emit(node.operand(0), from);
}

}  // namespace tektite::loop
