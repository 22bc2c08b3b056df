// The values that XLA's compiler for CPUs makes where TensorFlow's kernels make others.
//
// Why: a function with jit_compile=True has XLA's answer from the first call to the last, whichever
// side runs a call.  So a body that is imported for it (Scope::for_xla) has these formulas in the
// place of the ordinary ones:
//
// Example(NodeImport& op) -> absl::Status:
//   Value x = op.Input(0), y = op.Input(1);
//   if (op.scope().for_xla) return op.Return(XlaExtreme(op.b(), x, y, "lt"));
//
// What XLA rewrites before it compiles is here, too, where the rewritten form has other values:
// sqrt(x * x) is |x|, log(exp(x)) is x, x / 3 is x times the third, and x * 1e30 * 1e30 overflows.
// Limits: clustering/xla_differences.h has the ops of which this is not done; they stay XLA's.
#ifndef TEKTITE_CLUSTERING_IMPORTER_XLA_XLA_VALUES_H_
#define TEKTITE_CLUSTERING_IMPORTER_XLA_XLA_VALUES_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "clustering/importer/node_import.h"

namespace tektite::importer {

// y where x `direction` y holds ("lt" of a maximum, "gt" of a minimum), x elsewhere, beside a NaN
// too.  Shapes are broadcast.
Value XlaExtreme(FuncBuilder& b, Value x, Value y, absl::string_view direction);

// x with NaN made what no maximum ("max") or minimum ("min") of a reduction is.
Value WithoutNan(FuncBuilder& b, Value x, absl::string_view reducer);

// A float as an integer: the nearest one that there is, 0 for NaN.
Value XlaFloatToInteger(FuncBuilder& b, Value x, DType to);

// Shifts of one shape: by the width or more, or by less than 0, leaves 0, or the sign.
Value XlaShift(FuncBuilder& b, Value x, Value by, bool left);

// x as integers in the order that XLA sorts floats in, and back: -inf, ..., -0, 0, ..., inf, NaN.
Value TotalOrder(FuncBuilder& b, Value x);
Value FromTotalOrder(FuncBuilder& b, Value keys, DType dtype);

// ---- rewritten forms; null where XLA rewrites nothing ----
Value XlaSqrt(FuncBuilder& b, Value x);
Value XlaLog(FuncBuilder& b, Value x);
Value XlaSum(FuncBuilder& b, Value x, Value y, bool subtracts);
Value XlaMul(FuncBuilder& b, Value x, Value y);
Value XlaDiv(FuncBuilder& b, Value x, Value y);
// Of one fraction as the exponent: of a denormal f32, the power of 2^-150, and NaN below 0.
Value XlaPow(FuncBuilder& b, Value x, Value y);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_XLA_XLA_VALUES_H_
