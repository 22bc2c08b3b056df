// A product of two parameters, as the tests of matrix instructions make it.
#ifndef TEKTITE_TESTS_CONFORMANCE_MATRIX_CASE_H_
#define TEKTITE_TESTS_CONFORMANCE_MATRIX_CASE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "tests/conformance/harness.h"

namespace tektite::testing {

struct MatrixCase {
  int64_t m, n, k;
};

inline ir::Shape MatrixOf(ir::DType dtype, std::vector<int64_t> batch, int64_t rows,
                          int64_t columns, bool transposed = false) {
  if (transposed) std::swap(rows, columns);
  batch.push_back(rows);
  batch.push_back(columns);
  return Of(dtype, batch);
}

// [batch][m, k] x [k, n], either stored transposed.
inline ir::Value ProductOf(ops::FuncBuilder& b, ir::DType dtype, const std::vector<int64_t>& batch,
                           const MatrixCase& c, bool lhs_transposed, bool rhs_transposed) {
  ir::Value x = b.Parameter(MatrixOf(dtype, batch, c.m, c.k, lhs_transposed));
  ir::Value w = b.Parameter(MatrixOf(dtype, batch, c.k, c.n, rhs_transposed));
  return b.MatMul(x, w, lhs_transposed, rhs_transposed);
}

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_CONFORMANCE_MATRIX_CASE_H_
