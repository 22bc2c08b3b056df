#include "backends/cpu/element_emitter.h"

#include <algorithm>

#include "jit/base/status.h"
#include "jit/ops/ops.h"

namespace tektite::cpu {
namespace {

using ir::Attr;
using ir::DType;
using ir::Node;
using ir::Op;
using ir::Shape;
using loop::Value;

bool IsNarrowFloat(DType d) { return d == DType::kF16 || d == DType::kBF16; }

}  // namespace

std::vector<Value> Delinearize(loop::Builder& b, Value linear, const std::vector<int64_t>& sizes) {
  std::vector<Value> index(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    if (i == 0) {
      index[i] = linear;
    } else if (sizes[i] == 1) {
      index[i] = b.Index(0);
    } else {
      Value size = b.Index(std::max<int64_t>(sizes[i], 1));
      index[i] = b.Rem(linear, size);
      linear = b.Div(linear, size);
    }
  }
  return index;
}

Value ElementEmitter::Fail(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
  return b_.Float(DType::kF32, 0);
}

void ElementEmitter::Match(std::vector<Value>& values) {
  bool vector = std::any_of(values.begin(), values.end(), [](Value v) { return v.lanes() > 1; });
  if (!vector) return;
  for (Value& v : values) {
    if (v.lanes() == 1) v = Spread(v);
  }
}

Value ElementEmitter::LaneVector(const LaneIndex& index) {
  if (index.lanes) return index.lanes;
  Value base = Spread(index.base);
  if (index.coefficient == 0) return base;
  Value lane = b_.Iota(DType::kS64, lanes_);
  if (index.coefficient != 1) lane = b_.Mul(lane, Spread(b_.Index(index.coefficient)));
  return b_.Add(base, lane);
}

LaneIndex ElementEmitter::Affine(const LaneIndex& index, int64_t scale, Value shift) {
  if (index.lanes) {
    Value v = index.lanes;
    if (scale != 1) v = b_.Mul(v, Spread(b_.Index(scale)));
    return {{}, 0, b_.Add(v, Spread(shift))};
  }
  return {b_.Add(b_.Mul(index.base, b_.Index(scale)), shift), index.coefficient * scale, {}};
}

ElementEmitter::Offset ElementEmitter::LinearOffset(const Shape& shape, const Indices& at) {
  const std::vector<int64_t> strides = ir::RowMajorStrides(shape.sizes());
  Offset offset{b_.Index(0), 0, {}};
  for (size_t i = 0; i < at.size(); ++i) {
    if (shape.dim(static_cast<int>(i)).value() == 1) continue;
    if (at[i].lanes) {
      Value term =
          strides[i] == 1 ? at[i].lanes : b_.Mul(at[i].lanes, Spread(b_.Index(strides[i])));
      offset.lanes = offset.lanes ? b_.Add(offset.lanes, term) : term;
    } else {
      offset.base = b_.Add(offset.base, b_.Mul(at[i].base, b_.Index(strides[i])));
      offset.coefficient += at[i].coefficient * strides[i];
    }
  }
  return offset;
}

Value ElementEmitter::LoadAt(Value pointer, const Shape& shape, const Indices& at) {
  Offset offset = LinearOffset(shape, at);
  if (!offset.lanes) {
    if (offset.coefficient == 0) return b_.Load(pointer, shape.dtype(), offset.base);
    if (offset.coefficient == 1) {
      return b_.Load(pointer, shape.dtype(), offset.base, lanes_, mask_);
    }
  }
  Value from = b_.Offset(pointer, shape.dtype(), offset.base);
  Value indices = offset.lanes;
  if (offset.coefficient != 0) {
    Value lane = b_.Mul(b_.Iota(DType::kS64, lanes_), Spread(b_.Index(offset.coefficient)));
    indices = indices ? b_.Add(indices, lane) : lane;
  }
  return b_.Gather(from, shape.dtype(), indices, mask_);
}

void ElementEmitter::StoreAt(Value pointer, const Shape& shape, const Indices& at, Value v) {
  Offset offset = LinearOffset(shape, at);
  if (!offset.lanes && offset.coefficient == 0) {
    if (v.lanes() > 1) v = b_.ExtractLane(v, 0);
    b_.Store(pointer, offset.base, v);
    return;
  }
  if (v.lanes() == 1) v = Spread(v);
  if (!offset.lanes && offset.coefficient == 1) {
    b_.Store(pointer, offset.base, v, mask_);
    return;
  }
  Value indices = offset.lanes;
  if (offset.coefficient != 0) {
    Value lane = b_.Mul(b_.Iota(DType::kS64, lanes_), Spread(b_.Index(offset.coefficient)));
    indices = indices ? b_.Add(indices, lane) : lane;
  }
  b_.Scatter(b_.Offset(pointer, shape.dtype(), offset.base), indices, v, mask_);
}

void ElementEmitter::Pin() {
  for (auto& [value, entries] : memo_) {
    auto& pinned = pinned_[value];
    pinned.insert(pinned.end(), entries.begin(), entries.end());
  }
  memo_.clear();
}

Value ElementEmitter::EmitVector(ir::Value value, const Indices& at) {
  Value v = Emit(value, at);
  return v.lanes() == 1 ? Spread(v) : v;
}

Value ElementEmitter::Emit(ir::Value value, const Indices& at) {
  if (auto it = bound_.find(value); it != bound_.end()) return it->second;
  for (const Memo* memo : {&pinned_, &memo_}) {
    auto it = memo->find(value);
    if (it == memo->end()) continue;
    for (const auto& [index, v] : it->second) {
      if (index == at) return v;
    }
  }
  Value v = Compute(value, at);
  memo_[value].emplace_back(at, v);
  return v;
}

Value ElementEmitter::Compute(ir::Value value, const Indices& at) {
  if (auto it = buffers_.find(value); it != buffers_.end()) {
    return LoadAt(it->second, value.shape(), at);
  }
  const Node& node = *value.node;
  if (ir::IsElementwise(node.op())) {
    std::vector<Value> operands;
    for (ir::Value operand : node.operands()) operands.push_back(Emit(operand, at));
    return Apply(node, std::move(operands));
  }
  switch (node.op()) {
    case Op::kConstant: {
      const ir::Literal& literal = node.attrs().GetLiteral(Attr::value);
      if (literal.num_elements() != 1) return Fail(Internal("an array constant inside a fusion"));
      if (ir::IsInteger(literal.dtype()) || literal.dtype() == DType::kBool) {
        return b_.Int(literal.dtype(), literal.AsInt(0));
      }
      if (IsNarrowFloat(literal.dtype())) {
        return b_.Convert(b_.Float(DType::kF32, literal.AsDouble(0)), literal.dtype());
      }
      return b_.Float(literal.dtype(), literal.AsDouble(0));
    }
    case Op::kBroadcastInDim: {
      Indices from;
      const auto& dimensions = node.Ints(Attr::dimensions);
      for (int i = 0; i < node.operand_shape(0).rank(); ++i) {
        const bool stretched = node.operand_shape(0).dim(i).value() == 1;
        from.push_back(stretched ? At(b_.Index(0)) : at[dimensions[i]]);
      }
      return Emit(node.operand(0), from);
    }
    case Op::kTranspose: {
      const auto& permutation = node.Ints(Attr::permutation);
      Indices from(at.size());
      for (size_t i = 0; i < at.size(); ++i) from[permutation[i]] = at[i];
      return Emit(node.operand(0), from);
    }
    case Op::kSlice: {
      Indices from;
      const auto& starts = node.attrs().GetDims(Attr::starts);
      const auto& strides = node.Ints(Attr::strides);
      for (size_t i = 0; i < at.size(); ++i) {
        from.push_back(
            Affine(at[i], strides.empty() ? 1 : strides[i], b_.Index(starts[i].value())));
      }
      return Emit(node.operand(0), from);
    }
    case Op::kReverse: {
      Indices from = at;
      for (int64_t d : node.Ints(Attr::dimensions)) {
        from[d] = Affine(at[d], -1, b_.Index(node.shape().dim(static_cast<int>(d)).value() - 1));
      }
      return Emit(node.operand(0), from);
    }
    case Op::kIota: {
      const LaneIndex& index = at[node.Int(Attr::dimension)];
      Value v = index.uniform() ? index.base : LaneVector(index);
      const DType dtype = node.shape().dtype();
      if (IsNarrowFloat(dtype)) return b_.Convert(b_.Convert(v, DType::kF32), dtype);
      return b_.Convert(v, dtype);
    }
    case Op::kReshape:
      return EmitReshape(node, at);
    case Op::kPad:
      return EmitPad(node, at);
    case Op::kConcatenate:
      return EmitConcatenate(node, at);
    case Op::kGather:
      return EmitGather(node, at);
    case Op::kDynamicSlice:
      return EmitDynamicSlice(node, at);
    case Op::kDynamicUpdateSlice:
      return EmitDynamicUpdateSlice(node, at);
    default:
      return Fail(Unimplemented("no element code for ", node.Describe()));
  }
}

Value ElementEmitter::Apply(const Node& node, std::vector<Value> operands) {
  Match(operands);
  const DType result = node.shape().dtype();
  if (node.op() == Op::kSelect) return b_.Select(operands[0], operands[1], operands[2]);
  if (node.op() == Op::kBitcast) return b_.Bitcast(operands[0], result);
  if (node.op() == Op::kConvert) {
    if (IsNarrowFloat(operands[0].dtype()) && result != DType::kF32) {
      operands[0] = b_.Convert(operands[0], DType::kF32);
    }
    if (IsNarrowFloat(result) && operands[0].dtype() != DType::kF32) {
      operands[0] = b_.Convert(operands[0], DType::kF32);
    }
    return b_.Convert(operands[0], result);
  }
  for (Value& v : operands) {
    if (IsNarrowFloat(v.dtype())) v = b_.Convert(v, DType::kF32);
  }
  Value v;
  switch (node.op()) {
    case Op::kCompare:
      return b_.Compare(node.String(Attr::direction), operands[0], operands[1]);
    case Op::kClamp:
      v = b_.Min(b_.Max(operands[1], operands[0]), operands[2]);
      break;
    case Op::kReducePrecision:
      return Fail(Unimplemented("no element code for reduce_precision"));
    case Op::kPow:
      v = ir::IsInteger(result) ? IntegerPower(operands[0], operands[1])
                                : b_.Binary(Op::kPow, operands[0], operands[1]);
      break;
    default:
      v = operands.size() == 1 ? b_.Unary(node.op(), operands[0])
                               : b_.Binary(node.op(), operands[0], operands[1]);
  }
  return IsNarrowFloat(result) ? b_.Convert(v, result) : v;
}

Value ElementEmitter::IntegerPower(Value base, Value exponent) {
  const DType dtype = base.dtype();
  auto constant = [&](int64_t c) { return b_.Splat(b_.Int(dtype, c), base.lanes()); };
  Value zero = constant(0), one = constant(1);
  // By squaring, over the exponent's bits.
  Value power =
      b_.For(b_.Index(0), b_.Index(8 * ir::DTypeBytes(dtype)), 1, {one, base, exponent},
             [&](Value, absl::Span<const Value> carried) {
               Value odd = b_.Compare("ne", b_.And(carried[2], one), zero);
               return std::vector<Value>{b_.Select(odd, b_.Mul(carried[0], carried[1]), carried[0]),
                                         b_.Mul(carried[1], carried[1]),
                                         b_.Binary(Op::kShiftRightLogical, carried[2], one)};
             })[0];
  if (!ir::IsSigned(dtype)) return power;
  // 1 / base^n rounds to 0 unless base is 1 or -1.
  Value minus = constant(-1);
  Value even = b_.Compare("eq", b_.And(exponent, one), zero);
  Value inverse =
      b_.Select(b_.Compare("eq", base, one), one,
                b_.Select(b_.Compare("eq", base, minus), b_.Select(even, one, minus), zero));
  return b_.Select(b_.Compare("lt", exponent, zero), inverse, power);
}

Value ElementEmitter::EmitReshape(const Node& node, const Indices& at) {
  const std::vector<int64_t> to = node.shape().sizes(), from = node.operand_shape(0).sizes();
  Indices index(from.size(), At(b_.Index(0)));
  // Runs of dimensions with equal products map onto each other.
  size_t i = 0, j = 0;
  while (i < to.size() || j < from.size()) {
    size_t i_end = i, j_end = j;
    int64_t to_product = 1, from_product = 1;
    if (i_end < to.size()) to_product = to[i_end++];
    if (j_end < from.size()) from_product = from[j_end++];
    while (to_product != from_product) {
      if (to_product < from_product && i_end < to.size()) {
        to_product *= to[i_end++];
      } else if (j_end < from.size()) {
        from_product *= from[j_end++];
      } else {
        break;  // zero-size arrays: nothing is read
      }
    }
    std::vector<size_t> dims_to, dims_from;
    for (size_t d = i; d < i_end; ++d)
      if (to[d] != 1) dims_to.push_back(d);
    for (size_t d = j; d < j_end; ++d)
      if (from[d] != 1) dims_from.push_back(d);
    i = i_end;
    j = j_end;
    if (dims_from.empty() || dims_to.empty()) continue;
    LaneIndex linear{b_.Index(0), 0, {}};
    int64_t stride = 1;
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
        linear.coefficient += index_to.coefficient * stride;
      }
      stride *= to[dims_to[n]];
    }
    if (irregular) linear = LaneIndex{{}, 0, vector};
    if (dims_from.size() == 1) {
      index[dims_from[0]] = linear;
      continue;
    }
    std::vector<int64_t> sizes;
    for (size_t d : dims_from) sizes.push_back(from[d]);
    if (linear.uniform()) {
      std::vector<Value> parts = Delinearize(b_, linear.base, sizes);
      for (size_t n = 0; n < sizes.size(); ++n) index[dims_from[n]] = At(parts[n]);
      continue;
    }
    Value rest = LaneVector(linear);
    for (size_t n = sizes.size(); n-- > 0;) {
      if (n == 0) {
        index[dims_from[0]] = LaneIndex{{}, 0, rest};
      } else {
        Value size = Spread(b_.Index(sizes[n]));
        index[dims_from[n]] = LaneIndex{{}, 0, b_.Rem(rest, size)};
        rest = b_.Div(rest, size);
      }
    }
  }
  return Emit(node.operand(0), index);
}

Value ElementEmitter::EmitGuarded(ir::Value value, const Indices& at, Value inside,
                                  Value otherwise) {
  // Scalar parts of the index were clamped by the caller; lanes outside are masked.
  Value saved_mask = mask_;
  auto saved_memo = std::move(memo_);
  memo_.clear();
  if (inside.lanes() > 1) mask_ = mask_ ? b_.And(mask_, inside) : inside;
  Value v = Emit(value, at);
  mask_ = saved_mask;
  memo_ = std::move(saved_memo);
  std::vector<Value> operands = {inside, v, otherwise};
  Match(operands);
  return b_.Select(operands[0], operands[1], operands[2]);
}

Value ElementEmitter::EmitPad(const Node& node, const Indices& at) {
  const auto& low = node.Ints(Attr::low);
  const auto& interior = node.Ints(Attr::interior);
  const Shape& from_shape = node.operand_shape(0);
  Value otherwise = Emit(node.operand(1), {});
  if (from_shape.num_elements() == 0) return otherwise;
  Indices from;
  Value inside;
  auto require = [&](Value condition) {
    if (!inside) {
      inside = condition;
      return;
    }
    std::vector<Value> both = {inside, condition};
    Match(both);
    inside = b_.And(both[0], both[1]);
  };
  for (size_t i = 0; i < at.size(); ++i) {
    const int64_t size = from_shape.dim(static_cast<int>(i)).value();
    const int64_t step = interior.empty() ? 1 : interior[i] + 1;
    const int64_t high = node.shape().dim(static_cast<int>(i)).value() - low[i] - size;
    if (low[i] == 0 && step == 1 && high <= 0) {
      from.push_back(at[i]);
      continue;
    }
    LaneIndex shifted = Affine(at[i], 1, b_.Index(-low[i]));
    const bool uniform = shifted.uniform();
    Value v = uniform ? shifted.base : LaneVector(shifted);
    auto constant = [&](int64_t c) { return uniform ? b_.Index(c) : Spread(b_.Index(c)); };
    require(b_.Compare("ge", v, constant(0)));
    require(b_.Compare("lt", v, constant((size - 1) * step + 1)));
    if (step > 1) {
      require(b_.Compare("eq", b_.Rem(v, constant(step)), constant(0)));
      Value divided = b_.Div(v, constant(step));
      shifted = uniform ? At(divided) : LaneIndex{{}, 0, divided};
    }
    if (shifted.uniform()) {
      shifted.base = b_.Min(b_.Max(shifted.base, b_.Index(0)), b_.Index(size - 1));
    }
    from.push_back(shifted);
  }
  if (!inside) return Emit(node.operand(0), from);
  return EmitGuarded(node.operand(0), from, inside, otherwise);
}

Value ElementEmitter::ZeroOf(DType dtype) {
  if (IsNarrowFloat(dtype)) return b_.Bitcast(b_.Int(DType::kU16, 0), dtype);
  return b_.Constant(dtype, 0);
}

Value ElementEmitter::EmitConcatenate(const Node& node, const Indices& at) {
  const int64_t d = node.Int(Attr::dimension);
  Value result;
  int64_t start = 0;
  for (ir::Value operand : node.operands()) {
    const int64_t size = operand.shape().dim(static_cast<int>(d)).value();
    if (size == 0) continue;
    Indices from = at;
    from[d] = Affine(at[d], 1, b_.Index(-start));
    const bool uniform = from[d].uniform();
    if (!result) {
      // The first is evaluated everywhere; the others replace it from their start on.
      if (uniform) {
        from[d].base = b_.Min(from[d].base, b_.Index(size - 1));
        result = Emit(operand, from);
      } else {
        Value inside = b_.Compare("lt", LaneVector(from[d]), Spread(b_.Index(size)));
        result = EmitGuarded(operand, from, inside, ZeroOf(operand.dtype()));
      }
    } else {
      Value v = uniform ? from[d].base : LaneVector(from[d]);
      auto constant = [&](int64_t c) { return uniform ? b_.Index(c) : Spread(b_.Index(c)); };
      Value from_start = b_.Compare("ge", v, constant(0));
      if (uniform) {
        from[d].base = b_.Min(b_.Max(from[d].base, b_.Index(0)), b_.Index(size - 1));
        result = EmitGuarded(operand, from, from_start, result);
      } else {
        Value inside = b_.And(from_start, b_.Compare("lt", v, constant(size)));
        result = EmitGuarded(operand, from, inside, result);
      }
    }
    start += size;
  }
  return result ? result : Fail(Unimplemented("an empty concatenate"));
}

Value ElementEmitter::ClampedStart(ir::Value start, int64_t highest) {
  Indices at(start.shape().rank(), At(b_.Index(0)));
  Value v = b_.Convert(Emit(start, at), DType::kS64);
  return b_.Min(b_.Max(v, b_.Index(0)), b_.Index(std::max<int64_t>(highest, 0)));
}

Value ElementEmitter::EmitDynamicSlice(const Node& node, const Indices& at) {
  Indices from;
  for (size_t i = 0; i < at.size(); ++i) {
    const int d = static_cast<int>(i);
    const int64_t highest = node.operand_shape(0).dim(d).value() - node.shape().dim(d).value();
    from.push_back(highest == 0 ? at[i]
                                : Affine(at[i], 1, ClampedStart(node.operand(1 + d), highest)));
  }
  return Emit(node.operand(0), from);
}

Value ElementEmitter::EmitDynamicUpdateSlice(const Node& node, const Indices& at) {
  const Shape& update = node.operand_shape(1);
  Value original = Emit(node.operand(0), at);
  if (update.num_elements() == 0) return original;
  Indices from;
  Value inside;
  for (size_t i = 0; i < at.size(); ++i) {
    const int d = static_cast<int>(i);
    const int64_t size = update.dim(d).value(), full = node.shape().dim(d).value();
    if (size == full) {
      from.push_back(at[i]);
      continue;
    }
    Value start = ClampedStart(node.operand(2 + d), full - size);
    LaneIndex shifted = Affine(at[i], 1, b_.Sub(b_.Index(0), start));
    const bool uniform = shifted.uniform();
    Value v = uniform ? shifted.base : LaneVector(shifted);
    auto constant = [&](int64_t c) { return uniform ? b_.Index(c) : Spread(b_.Index(c)); };
    Value here = b_.And(b_.Compare("ge", v, constant(0)), b_.Compare("lt", v, constant(size)));
    if (uniform) shifted.base = b_.Min(b_.Max(shifted.base, b_.Index(0)), b_.Index(size - 1));
    from.push_back(shifted);
    std::vector<Value> both = {inside ? inside : here, here};
    Match(both);
    inside = inside ? b_.And(both[0], both[1]) : here;
  }
  if (!inside) return Emit(node.operand(1), from);
  return EmitGuarded(node.operand(1), from, inside, original);
}

Value ElementEmitter::EmitGather(const Node& node, const Indices& at) {
  const auto& offset_dims = node.Ints(Attr::offset_dims);
  const auto& collapsed = node.Ints(Attr::collapsed_slice_dims);
  const auto& start_map = node.Ints(Attr::start_index_map);
  const ir::Dims& slice_sizes = node.attrs().GetDims(Attr::slice_sizes);
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
    const int64_t highest = std::max<int64_t>(operand.dim(d).value() - slice_sizes[d].value(), 0);
    if (start.lanes() == 1) {
      start = b_.Min(b_.Max(start, b_.Index(0)), b_.Index(highest));
      from[d] = Affine(from[d], 1, start);
    } else {
      start = b_.Min(b_.Max(start, Spread(b_.Index(0))), Spread(b_.Index(highest)));
      from[d] = LaneIndex{{}, 0, b_.Add(start, LaneVector(from[d]))};
    }
  }
  return Emit(node.operand(0), from);
}

}  // namespace tektite::cpu
