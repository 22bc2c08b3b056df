// The unary functions under test, with libm's for comparison.
#ifndef TEKTITE_TESTS_LLVM_MATH_FUNCTIONS_H_
#define TEKTITE_TESTS_LLVM_MATH_FUNCTIONS_H_

#include <vector>

#include "jit/ir/op.h"

namespace tektite::testing {

struct Function {
  const char* name;
  ir::Op op;
  double (*f64)(double);            // reference for f32
  long double (*f80)(long double);  // reference for f64
  double bound_f32;                 // ULP
  double bound_f64;
  double low, high;  // where its speed is measured, and f64 samples are dense
};

const std::vector<Function>& Functions();

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_LLVM_MATH_FUNCTIONS_H_
