// Data movement.
#include <algorithm>

#include "jit/reference/eval.h"
#include "jit/reference/scalar_ops.h"

namespace tektite::reference {

using ir::Attr;
using ir::Dims;
using ir::Literal;
using ir::Op;
using ir::RowMajorStrides;

namespace {

using Ints = std::vector<int64_t>;

// result[index] = x[base + index . strides], in elements.
Literal Strided(const EvalContext& c, int64_t base, const Ints& strides) {
  const Literal& x = c.operand(0);
  Literal result = c.AllocateResult();
  DispatchBytes(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* from = x.data<T>() + base;
    T* to = result.mutable_data<T>();
    ForEachIndex(c.result_sizes(), [&](const Ints& index) { *to++ = from[Dot(index, strides)]; });
  });
  return result;
}

Literal BroadcastInDim(const EvalContext& c) {
  const Literal& x = c.operand(0);
  const Ints strides = RowMajorStrides(x.sizes());
  Ints walk(c.node.shape().rank(), 0);
  for (int i = 0; i < x.rank(); ++i) {
    if (x.sizes()[i] != 1) walk[c.node.Ints(Attr::dimensions)[i]] = strides[i];
  }
  return Strided(c, 0, walk);
}

Literal Transpose(const EvalContext& c) {
  const Ints strides = RowMajorStrides(c.operand(0).sizes());
  Ints walk;
  for (int64_t d : c.node.Ints(Attr::permutation)) walk.push_back(strides[d]);
  return Strided(c, 0, walk);
}

Literal Slice(const EvalContext& c) {
  const Ints strides = RowMajorStrides(c.operand(0).sizes());
  const Ints steps = c.IntsPerDim(Attr::strides, c.operand(0).rank(), 1);
  int64_t base = 0;
  Ints walk;
  for (size_t i = 0; i < strides.size(); ++i) {
    base += c.node.attrs().GetDims(Attr::starts)[i].value() * strides[i];
    walk.push_back(steps[i] * strides[i]);
  }
  return Strided(c, base, walk);
}

Literal Reverse(const EvalContext& c) {
  Ints strides = RowMajorStrides(c.operand(0).sizes());
  int64_t base = 0;
  for (int64_t d : c.node.Ints(Attr::dimensions)) {
    base += (c.operand(0).sizes()[d] - 1) * strides[d];
    strides[d] = -strides[d];
  }
  return Strided(c, base, strides);
}

// Writes all of `part` into `to` at `base`, with element strides of `to`.
void Place(const Literal& part, Literal* to, int64_t base, const Ints& strides) {
  DispatchBytes(part.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* from = part.data<T>();
    T* out = to->mutable_data<T>() + base;
    ForEachIndex(part.sizes(), [&](const Ints& index) { out[Dot(index, strides)] = *from++; });
  });
}

Literal Concatenate(const EvalContext& c) {
  Literal result = c.AllocateResult();
  const Ints strides = RowMajorStrides(result.sizes());
  const int64_t d = c.node.Int(Attr::dimension);
  int64_t done = 0;
  for (const Literal& part : c.operands) {
    Place(part, &result, done * strides[d], strides);
    done += part.sizes()[d];
  }
  return result;
}

// Starts from scalar operands, clamped so that `sizes` fit into x.
Ints ClampedStarts(const EvalContext& c, int first, const Ints& sizes) {
  Ints starts;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t start = c.operand(first + static_cast<int>(i)).AsInt(0);
    starts.push_back(std::max<int64_t>(0, std::min(start, c.operand(0).sizes()[i] - sizes[i])));
  }
  return starts;
}

Literal DynamicSlice(const EvalContext& c) {
  const Ints strides = RowMajorStrides(c.operand(0).sizes());
  return Strided(c, Dot(ClampedStarts(c, 1, c.result_sizes()), strides), strides);
}

Literal DynamicUpdateSlice(const EvalContext& c) {
  const Literal &x = c.operand(0), &update = c.operand(1);
  Literal result = Literal::CopyOf(x.dtype(), x.sizes(), x.raw());
  const Ints strides = RowMajorStrides(x.sizes());
  Place(update, &result, Dot(ClampedStarts(c, 2, update.sizes()), strides), strides);
  return result;
}

Literal Pad(const EvalContext& c) {
  const Literal &x = c.operand(0), &value = c.operand(1);
  const Ints low = c.IntsPerDim(Attr::low, x.rank(), 0);
  const Ints interior = c.IntsPerDim(Attr::interior, x.rank(), 0);
  Literal result = c.AllocateResult();
  const Ints sizes = result.sizes(), strides = RowMajorStrides(sizes);
  DispatchBytes(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* to = result.mutable_data<T>();
    std::fill(to, to + result.num_elements(), value.data<T>()[0]);
    const T* from = x.data<T>();
    ForEachIndex(x.sizes(), [&](const Ints& index) {
      const T element = *from++;
      int64_t at = 0;
      for (size_t i = 0; i < sizes.size(); ++i) {
        const int64_t place = low[i] + index[i] * (interior[i] + 1);
        if (place < 0 || place >= sizes[i]) return;  // negative padding cuts it off
        at += place * strides[i];
      }
      to[at] = element;
    });
  });
  return result;
}

Literal Iota(const EvalContext& c) {
  Literal result = c.AllocateResult();
  const int64_t d = c.node.Int(Attr::dimension);
  DispatchDType(result.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* to = result.mutable_data<T>();
    ForEachIndex(result.sizes(),
                 [&](const Ints& index) { *to++ = Narrow<T>(static_cast<Wide<T>>(index[d])); });
  });
  return result;
}

}  // namespace

absl::StatusOr<Literals> EvalMovement(const EvalContext& c) {
  switch (c.op()) {
    case Op::kBroadcastInDim:
      return Literals{BroadcastInDim(c)};
    case Op::kConcatenate:
      return Literals{Concatenate(c)};
    case Op::kConstant:
      return Literals{c.node.attrs().GetLiteral(Attr::value)};
    case Op::kDynamicSlice:
      return Literals{DynamicSlice(c)};
    case Op::kDynamicUpdateSlice:
      return Literals{DynamicUpdateSlice(c)};
    case Op::kIota:
      return Literals{Iota(c)};
    case Op::kPad:
      return Literals{Pad(c)};
    case Op::kReshape:
      return Literals{c.operand(0).Reshaped(c.result_sizes())};
    case Op::kReverse:
      return Literals{Reverse(c)};
    case Op::kSlice:
      return Literals{Slice(c)};
    case Op::kTranspose:
      return Literals{Transpose(c)};
    default:
      return Internal("no movement op");
  }
}

}  // namespace tektite::reference
