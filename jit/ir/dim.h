// A tensor dimension: an integer, or an expression over named symbols.
// Example:
//   Dim n = Dim::Symbol("n");
//   Dim padded = CeilDiv(n, 8) * 8;       // prints "8*((n + 7) floordiv 8)"
//   padded.Substitute({{"n", Dim(13)}});  // Dim(16)
//
// Expressions are kept in a canonical form (a polynomial with sorted terms over symbols and the
// non-polynomial functions floordiv, mod, max, min), so operator== is "provably equal": equal
// expressions compare equal however they were built, unequal ones may still have equal values at
// run time.  A compile for fixed shapes is a substitution, never a second code path.
//
// Arithmetic saturates: a constant, or a coefficient, that does not fit 64 bits becomes the largest
// or smallest one and stays so (jit/base/saturating.h).  The code that runs kernels for sizes asks
// DimProgram::Run whether they fit.
#ifndef TEKTITE_JIT_IR_DIM_H_
#define TEKTITE_JIT_IR_DIM_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tektite::ir {

struct DimExpr;
class Dim;
using SymbolMap = std::map<std::string, Dim>;

class Dim {
 public:
  Dim() = default;
  Dim(int64_t value) : value_(value) {}  // NOLINT: constants are dimensions
  static Dim Symbol(absl::string_view name);

  bool is_constant() const { return expr_ == nullptr; }
  // Undefined unless is_constant(): callers of static-shape code check once at their door.
  int64_t value() const { return value_; }
  int64_t value_or(int64_t otherwise) const { return is_constant() ? value_ : otherwise; }

  // Replaces symbols; those that are not in the map stay.
  Dim Substitute(const SymbolMap& symbols) const;
  void CollectSymbols(std::set<std::string>* symbols) const;

  std::string ToString() const;
  // Reads what ToString prints, and the usual ways to write it: "2*n + 1", "(n + 7) floordiv 8".
  static absl::StatusOr<Dim> Parse(absl::string_view text);

  friend bool operator==(const Dim& a, const Dim& b);
  friend bool operator!=(const Dim& a, const Dim& b) { return !(a == b); }
  friend bool operator<(const Dim& a, const Dim& b) { return a.ToString() < b.ToString(); }
  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);

 private:
  friend struct DimExpr;
  friend struct DimAlgebra;
  int64_t value_ = 0;
  std::shared_ptr<const DimExpr> expr_;  // null: the constant value_
};

// Rounds towards minus infinity; division by zero yields zero.
Dim FloorDiv(const Dim& a, const Dim& b);
Dim CeilDiv(const Dim& a, const Dim& b);
Dim Mod(const Dim& a, const Dim& b);
Dim Max(const Dim& a, const Dim& b);
Dim Min(const Dim& a, const Dim& b);

using Dims = absl::InlinedVector<Dim, 6>;

}  // namespace tektite::ir

#endif  // TEKTITE_JIT_IR_DIM_H_
