// Elementwise ops: unary, binary, compare, clamp, select.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "jit/reference/eval.h"
#include "jit/reference/scalar_ops.h"

namespace tektite::reference {

using ir::Attr;
using ir::DispatchDType;
using ir::Literal;
using ir::Op;

namespace {

absl::Status NoRow(const EvalContext& c) {
  return absl::InternalError(absl::StrCat("the interpreter has no row for ", ir::OpName(c.op())));
}

Literal IsFinite(const EvalContext& c) {
  const Literal& x = c.operand(0);
  Literal result = c.AllocateResult();
  bool* to = result.mutable_data<bool>();
  DispatchDType(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (kIsFloat<T>) {
      for (int64_t i = 0; i < x.num_elements(); ++i) to[i] = std::isfinite(Widen(x.data<T>()[i]));
    }
  });
  return result;
}

absl::StatusOr<Literals> Unary(const EvalContext& c) {
  const Literal& x = c.operand(0);
  Literal result = c.AllocateResult();
  bool found = false;
  DispatchDType(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* to = result.mutable_data<T>();
    const auto apply = FindUnary<Wide<T>>(c.op());
    found = apply != nullptr;
    for (int64_t i = 0; found && i < x.num_elements(); ++i) {
      to[i] = Narrow<T>(apply(Widen(x.data<T>()[i])));
    }
  });
  if (!found) return NoRow(c);
  return Literals{result};
}

absl::StatusOr<Literals> Binary(const EvalContext& c) {
  const Literal &a = c.operand(0), &b = c.operand(1);
  Literal result = c.AllocateResult();
  bool found = false;
  DispatchDType(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* to = result.mutable_data<T>();
    const auto apply = FindBinary<Wide<T>>(c.op());
    found = apply != nullptr;
    for (int64_t i = 0; found && i < a.num_elements(); ++i) {
      to[i] = Narrow<T>(apply(Widen(a.data<T>()[i]), Widen(b.data<T>()[i])));
    }
  });
  if (!found) return NoRow(c);
  return Literals{result};
}

template <typename T>
bool CompareElements(char kind, T a, T b) {
  switch (kind) {
    case 'e':
      return a == b;
    case 'n':
      return a != b;
    case 'l':
      return a < b;
    case 'L':
      return a <= b;
    case 'g':
      return a > b;
    default:
      return a >= b;
  }
}

Literal Compare(const EvalContext& c) {
  const Literal &a = c.operand(0), &b = c.operand(1);
  const std::string& direction = c.node.String(Attr::direction);
  const char kind = direction == "le" ? 'L' : direction == "ge" ? 'G' : direction[0];
  Literal result = c.AllocateResult();
  bool* to = result.mutable_data<bool>();
  DispatchDType(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < a.num_elements(); ++i) {
      to[i] = CompareElements(kind, Widen(a.data<T>()[i]), Widen(b.data<T>()[i]));
    }
  });
  return result;
}

// min(max(x, low), high)
Literal Clamp(const EvalContext& c) {
  const Literal &low = c.operand(0), &x = c.operand(1), &high = c.operand(2);
  Literal result = c.AllocateResult();
  DispatchDType(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* to = result.mutable_data<T>();
    const auto max = FindBinary<Wide<T>>(Op::kMax), min = FindBinary<Wide<T>>(Op::kMin);
    for (int64_t i = 0; max != nullptr && i < x.num_elements(); ++i) {  // null for bool alone
      const Wide<T> raised = max(Widen(x.data<T>()[i]), Widen(low.data<T>()[i]));
      to[i] = Narrow<T>(min(raised, Widen(high.data<T>()[i])));
    }
  });
  return result;
}

Literal Select(const EvalContext& c) {
  const bool* condition = c.operand(0).data<bool>();
  Literal result = c.AllocateResult();
  DispatchBytes(result.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T *on_true = c.operand(1).data<T>(), *on_false = c.operand(2).data<T>();
    T* to = result.mutable_data<T>();
    for (int64_t i = 0; i < result.num_elements(); ++i) {
      to[i] = condition[i] ? on_true[i] : on_false[i];
    }
  });
  return result;
}

}  // namespace

absl::StatusOr<Literals> EvalElementwise(const EvalContext& c) {
  switch (c.op()) {
    case Op::kCompare:
      return Literals{Compare(c)};
    case Op::kClamp:
      return Literals{Clamp(c)};
    case Op::kSelect:
      return Literals{Select(c)};
    case Op::kIsFinite:
      return Literals{IsFinite(c)};
    default:
      return GetOpInfo(c.op()).family == ir::OpFamily::unary ? Unary(c) : Binary(c);
  }
}

}  // namespace tektite::reference
