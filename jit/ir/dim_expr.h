// The polynomial behind a symbolic dimension, for the files of jit/ir that walk or evaluate one;
// all other code sees Dim alone.
//
//   if (const DimExpr* expr = DimExpr::Of(dim)) { ... expr->constant, expr->terms ... }
//
// Arithmetic on sizes saturates (jit/base/saturating.h), since sizes from a graph or a call may not
// fit 64 bits.
#ifndef TEKTITE_JIT_IR_DIM_EXPR_H_
#define TEKTITE_JIT_IR_DIM_EXPR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jit/base/saturating.h"
#include "jit/ir/dim.h"

namespace tektite::ir {

// An atom of a polynomial: a symbol, or a function of two dimensions.
struct DimAtom {
  std::string text;   // canonical: equal atoms have equal text
  char function = 0;  // 0: a symbol; '/', '%', '>' (max), '<' (min)
  Dim a, b;
};

// coefficient * atom * atom ...; atoms sorted by text.
struct DimTerm {
  int64_t coefficient;
  std::vector<std::shared_ptr<const DimAtom>> atoms;
  std::string key;  // of the atoms alone
};

// constant + terms, sorted by key, no zero coefficients, at least one term.
struct DimExpr {
  int64_t constant = 0;
  std::vector<DimTerm> terms;
  std::string text;

  // Null for a constant.
  static const DimExpr* Of(const Dim& d) { return d.expr_.get(); }
};

// Towards minus infinity; division by zero yields zero.  A saturated value stays so.
inline int64_t DivideFloor(int64_t a, int64_t b) {
  if (IsSaturated(a)) return a;
  if (IsSaturated(b)) return b;
  if (b == 0) return 0;
  const int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}
inline int64_t ModuloFloor(int64_t a, int64_t b) {
  if (IsSaturated(a)) return a;
  if (IsSaturated(b)) return b;
  if (b == 0 || b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
}

}  // namespace tektite::ir

#endif  // TEKTITE_JIT_IR_DIM_EXPR_H_
