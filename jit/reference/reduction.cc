// Reductions, windows and running sums.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "jit/ops/ops.h"
#include "jit/reference/eval.h"
#include "jit/reference/scalar_ops.h"

namespace tektite::reference {

using ir::Attr;
using ir::Literal;
using ir::Op;
using ir::RowMajorStrides;

namespace {

using Ints = std::vector<int64_t>;

// Element strides of the result in terms of the operand's dimensions: 0 along reduced ones.
Ints ResultStrides(const EvalContext& c) {
  const int rank = c.operand(0).rank();
  const Ints& reduced = c.node.Ints(Attr::dimensions);
  Ints strides(rank, 0);
  int64_t stride = 1;
  for (int i = rank; i-- > 0;) {
    if (std::find(reduced.begin(), reduced.end(), i) != reduced.end()) continue;
    strides[i] = stride;
    stride *= c.operand(0).sizes()[i];
  }
  return strides;
}

template <typename T>
Wide<T> Identity(const std::string& reducer) {
  const Literal identity = ops::ReducerIdentity(reducer, ir::DTypeOf<T>());
  return Widen(*identity.data<T>());
}

Literal NamedReduce(const EvalContext& c) {
  const Literal& x = c.operand(0);
  const std::string& reducer = c.node.String(Attr::reducer);
  const Op op = ops::ReducerOp(reducer);
  const Ints strides = ResultStrides(c);
  Literal result = c.AllocateResult();
  const int64_t n = result.num_elements();
  DispatchDType(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    auto wide = std::make_unique<Wide<T>[]>(n);
    std::fill(wide.get(), wide.get() + n, Identity<T>(reducer));
    const T* from = x.data<T>();
    const auto combine = FindBinary<Wide<T>>(op);
    ForEachIndex(x.sizes(), [&](const Ints& index) {
      Wide<T>& to = wide[Dot(index, strides)];
      to = combine(to, Widen(*from++));
    });
    for (int64_t i = 0; i < n; ++i) result.mutable_data<T>()[i] = Narrow<T>(wide[i]);
  });
  return result;
}

absl::StatusOr<Literals> RegionReduce(const EvalContext& c) {
  const int n = static_cast<int>(c.operands.size()) / 2;
  const Ints strides = ResultStrides(c);
  Literals results;
  std::vector<Literals> values(n);  // accumulators, scalars each
  for (int k = 0; k < n; ++k) {
    results.push_back(c.AllocateResult(k));
    values[k].assign(results[k].num_elements(), c.operand(n + k));
  }
  absl::Status status;
  int64_t i = 0;
  ForEachIndex(c.operand(0).sizes(), [&](const Ints& index) {
    if (!status.ok()) return;
    const int64_t at = Dot(index, strides);
    Literals args;
    for (int k = 0; k < n; ++k) args.push_back(values[k][at]);
    for (int k = 0; k < n; ++k) args.push_back(Element(c.operand(k), i));
    ++i;
    auto combined = EvaluateStatic(c.node.region(), args);
    status = combined.status();
    for (int k = 0; status.ok() && k < n; ++k) values[k][at] = (*combined)[k];
  });
  TEKTITE_RETURN_IF_ERROR(status);
  for (int k = 0; k < n; ++k) {
    const int bytes = ir::DTypeBytes(results[k].dtype());
    for (size_t at = 0; at < values[k].size(); ++at) {
      std::memcpy(results[k].mutable_data<char>() + at * bytes, values[k][at].raw(), bytes);
    }
  }
  return results;
}

// Calls f(offset in x) for every element of the window at `place` that is no padding or hole.
template <typename F>
void ForEachInWindow(const ops::WindowDims& w, const Ints& sizes, const Ints& strides,
                     const Ints& place, F&& f) {
  ForEachIndex(w.window, [&](const Ints& offset) {
    int64_t at = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const int64_t dilated = place[i] * w.strides[i] + offset[i] * w.window_dilation[i] - w.low[i];
      if (dilated < 0 || dilated % w.lhs_dilation[i] != 0) return;
      if (dilated / w.lhs_dilation[i] >= sizes[i]) return;
      at += dilated / w.lhs_dilation[i] * strides[i];
    }
    f(at);
  });
}

Literal ReduceWindow(const EvalContext& c) {
  const Literal& x = c.operand(0);
  const std::string& reducer = c.node.String(Attr::reducer);
  const Op op = ops::ReducerOp(reducer);
  const ops::WindowDims w = ops::GetWindowDims(x.rank(), c.node.attrs());
  const Ints strides = RowMajorStrides(x.sizes());
  Literal result = c.AllocateResult();
  DispatchDType(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* to = result.mutable_data<T>();
    const auto combine = FindBinary<Wide<T>>(op);
    ForEachIndex(result.sizes(), [&](const Ints& place) {
      Wide<T> value = Identity<T>(reducer);
      ForEachInWindow(w, x.sizes(), strides, place, [&](int64_t at) {
        const Wide<T> next = Widen(x.data<T>()[at]);
        // NaN is neither greater nor less than anything.
        if (next == next || (op != Op::kMax && op != Op::kMin)) {
          value = combine(value, next);
        }
      });
      *to++ = Narrow<T>(value);
    });
  });
  return result;
}

// Each window's first greatest element receives the source's value: the gradient of a maximum.  NaN
// is not greater than anything; the first element receives it where none is greater than -inf.
Literal SelectAndScatter(const EvalContext& c) {
  const Literal &x = c.operand(0), &source = c.operand(1);
  const ops::WindowDims w = ops::GetWindowDims(x.rank(), c.node.attrs());
  const Ints strides = RowMajorStrides(x.sizes());
  Literal result = c.AllocateResult();
  DispatchDType(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    auto wide = std::make_unique<Wide<T>[]>(x.num_elements());
    std::fill(wide.get(), wide.get() + x.num_elements(), Wide<T>(0));
    const T* from = source.data<T>();
    const auto add = FindBinary<Wide<T>>(Op::kAdd);
    ForEachIndex(source.sizes(), [&](const Ints& place) {
      int64_t chosen = -1;
      Wide<T> greatest = Identity<T>("max");
      ForEachInWindow(w, x.sizes(), strides, place, [&](int64_t at) {
        const Wide<T> candidate = Widen(x.data<T>()[at]);
        if (chosen < 0) chosen = at;
        if (candidate > greatest) {
          greatest = candidate;
          chosen = at;
        }
      });
      const Wide<T> value = Widen(*from++);
      if (chosen >= 0) wide[chosen] = add(wide[chosen], value);
    });
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      result.mutable_data<T>()[i] = Narrow<T>(wide[i]);
    }
  });
  return result;
}

Literal Cumulative(const EvalContext& c) {
  const Literal& x = c.operand(0);
  const std::string& reducer = c.node.String(Attr::reducer);
  const Op op = ops::ReducerOp(reducer);
  const int64_t d = c.node.Int(Attr::dimension);
  const bool exclusive = c.node.Bool(Attr::exclusive), reverse = c.node.Bool(Attr::reverse);
  const int64_t length = x.sizes()[d], step = RowMajorStrides(x.sizes())[d];
  Ints others = x.sizes();
  others[d] = 1;
  Literal result = c.AllocateResult();
  if (x.num_elements() == 0) return result;
  DispatchDType(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto combine = FindBinary<Wide<T>>(op);
    ForEachIndex(others, [&](const Ints& index) {
      const int64_t base = Dot(index, RowMajorStrides(x.sizes()));
      Wide<T> value = Identity<T>(reducer);
      for (int64_t k = 0; k < length; ++k) {
        const int64_t at = base + (reverse ? length - 1 - k : k) * step;
        const Wide<T> before = value;
        value = combine(value, Widen(x.data<T>()[at]));
        result.mutable_data<T>()[at] = Narrow<T>(exclusive ? before : value);
      }
    });
  });
  return result;
}

}  // namespace

absl::StatusOr<Literals> EvalReduction(const EvalContext& c) {
  switch (c.op()) {
    case Op::kReduce:
      if (c.node.num_regions() > 0) return RegionReduce(c);
      return Literals{NamedReduce(c)};
    case Op::kReduceWindow:
      return Literals{ReduceWindow(c)};
    case Op::kSelectAndScatter:
      return Literals{SelectAndScatter(c)};
    default:
      return Literals{Cumulative(c)};
  }
}

}  // namespace tektite::reference
