#include "jit/llvm/emit/element_emitter.h"

#include <algorithm>

#include "jit/base/status.h"
#include "jit/llvm/emit/interleave.h"
#include "jit/ops/ops.h"

namespace tektite::loop {
namespace {

using ir::Attr;
using ir::Dim;
using ir::DType;
using ir::Node;
using ir::Op;
using ir::Shape;
using loop::Value;

bool IsNarrowFloat(DType d) { return d == DType::kF16 || d == DType::kBF16; }

}  // namespace

std::vector<Value> Delinearize(loop::Builder& b, Value linear, const ir::Dims& sizes) {
  std::vector<Value> index(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    if (i == 0) {
      index[i] = linear;
    } else if (sizes[i] == Dim(1)) {
      index[i] = b.Index(0);
    } else {
      Value size = b.Index(sizes[i]);
      Value rest = b.Div(linear, size);
      index[i] = sizes[i].is_constant() ? b.Rem(linear, size) : b.Sub(linear, b.Mul(rest, size));
      linear = rest;
    }
  }
  return index;
}

std::vector<Value> DelinearizeLanes(loop::Builder& b, Value linear, const ir::Dims& sizes) {
  const int lanes = linear.lanes();
  std::vector<Value> index(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    if (i == 0) {
      index[i] = linear;
      break;
    }
    Value size = b.Splat(b.Index(sizes[i]), lanes), rest;
    if (sizes[i].is_constant()) {
      rest = b.Div(linear, size);
    } else {
      // Vectors have no integer division.  The quotient of integers below 2^53, rounded once and
      // cut, is exact: it differs from the next integer by 1/size at least, more than the rounding.
      Value q = b.Div(b.Convert(linear, DType::kF64), b.Convert(size, DType::kF64));
      rest = b.Convert(q, DType::kS64);
    }
    index[i] = b.Sub(linear, b.Mul(rest, size));
    linear = rest;
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
  if (index.coefficient == Dim(0)) return base;
  Value lane = b_.Mul(b_.Iota(DType::kS64, lanes_), Spread(b_.Index(index.coefficient)));
  return b_.Add(base, lane);
}

LaneIndex ElementEmitter::Affine(const LaneIndex& index, int64_t scale, const Dim& shift) {
  if (index.lanes) {
    return Shifted({{}, 0, b_.Mul(index.lanes, Spread(b_.Index(scale)))}, b_.Index(shift));
  }
  return Shifted({b_.Mul(index.base, b_.Index(scale)), index.coefficient * Dim(scale), {}},
                 b_.Index(shift));
}

LaneIndex ElementEmitter::Shifted(const LaneIndex& index, Value shift) {
  if (index.lanes) return {{}, 0, b_.Add(index.lanes, Spread(shift))};
  return {b_.Add(index.base, shift), index.coefficient, {}};
}

ElementEmitter::Offset ElementEmitter::LinearOffset(const Shape& shape, const Indices& at) {
  const ir::Dims strides = ir::RowMajorStrides(shape.dims());
  Offset offset{b_.Index(0), 0, {}};
  for (size_t i = 0; i < at.size(); ++i) {
    if (shape.dim(static_cast<int>(i)) == Dim(1)) continue;
    if (at[i].lanes) {
      Value term = b_.Mul(at[i].lanes, Spread(b_.Index(strides[i])));
      offset.lanes = offset.lanes ? b_.Add(offset.lanes, term) : term;
    } else {
      offset.base = b_.Add(offset.base, b_.Mul(at[i].base, b_.Index(strides[i])));
      offset.coefficient = offset.coefficient + at[i].coefficient * strides[i];
    }
  }
  return offset;
}

Value ElementEmitter::LaneOffsets(const Offset& offset) {
  if (offset.coefficient == Dim(0)) return offset.lanes;
  Value lane = b_.Mul(b_.Iota(DType::kS64, lanes_), Spread(b_.Index(offset.coefficient)));
  return offset.lanes ? b_.Add(offset.lanes, lane) : lane;
}

Value ElementEmitter::LoadAt(Value pointer, const Shape& shape, const Indices& at) {
  Offset offset = LinearOffset(shape, at);
  if (!offset.lanes) {
    if (offset.coefficient == Dim(0)) return b_.Load(pointer, shape.dtype(), offset.base);
    if (prefetches_) {
      b_.Prefetch(pointer, shape.dtype(), offset.base);
      return ZeroOf(shape.dtype());
    }
    if (offset.coefficient == Dim(1)) {
      return b_.Load(pointer, shape.dtype(), offset.base, lanes_, mask_);
    }
    if (!mask_ && CanLoadStrided(shape.dtype(), offset.coefficient.value_or(0), lanes_)) {
      return LoadStrided(b_, pointer, shape.dtype(), offset.base, offset.coefficient.value(),
                         lanes_);
    }
  }
  if (prefetches_) return ZeroOf(shape.dtype());
  Value from = b_.Offset(pointer, shape.dtype(), offset.base);
  return b_.Gather(from, shape.dtype(), LaneOffsets(offset), mask_);
}

void ElementEmitter::StoreAt(Value pointer, const Shape& shape, const Indices& at, Value v) {
  Offset offset = LinearOffset(shape, at);
  if (!offset.lanes && offset.coefficient == Dim(0)) {
    if (v.lanes() > 1) v = b_.ExtractLane(v, 0);
    b_.Store(pointer, offset.base, v);
    return;
  }
  if (v.lanes() == 1) v = Spread(v);
  if (!offset.lanes && offset.coefficient == Dim(1)) {
    b_.Store(pointer, offset.base, v, mask_);
    return;
  }
  b_.Scatter(b_.Offset(pointer, shape.dtype(), offset.base), LaneOffsets(offset), v, mask_);
}

void ElementEmitter::StoreColumns(Value pointer, const Shape& shape, const Indices& rows,
                                  absl::Span<const Value> columns) {
  Indices at = rows;
  at.push_back(At(b_.Index(0)));
  const Offset offset = LinearOffset(shape, at);
  const Dim count(static_cast<int64_t>(columns.size()));
  if (!mask_ && lanes_ > 1 && !offset.lanes && offset.coefficient == count) {
    std::vector<Value> vectors;
    for (Value v : columns) vectors.push_back(v.lanes() == 1 ? Spread(v) : v);
    StoreInterleaved(b_, pointer, offset.base, vectors);
    return;
  }
  for (size_t c = 0; c < columns.size(); ++c) {
    at.back() = At(b_.Index(static_cast<int64_t>(c)));
    StoreAt(pointer, shape, at, columns[c]);
  }
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

void ElementEmitter::Prefetch(ir::Value value, const Indices& at) {
  prefetches_ = true;
  Compute(value, at);
  prefetches_ = false;
  Clear();
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
        const bool stretched = node.operand_shape(0).dim(i) == Dim(1);
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
        from.push_back(Affine(at[i], strides.empty() ? 1 : strides[i], starts[i]));
      }
      return Emit(node.operand(0), from);
    }
    case Op::kReverse: {
      Indices from = at;
      for (int64_t d : node.Ints(Attr::dimensions)) {
        from[d] = Affine(at[d], -1, node.shape().dim(static_cast<int>(d)) - Dim(1));
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

}  // namespace tektite::loop
