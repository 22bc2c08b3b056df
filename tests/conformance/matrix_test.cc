// Factorizations and solvers.  Vectors that are not unique are put together again before they are
// compared.
#include "tests/conformance/harness.h"

namespace tektite::testing {
namespace {

using ir::Attr;
using ir::DType;
using ir::Op;
using ir::Value;
using ops::FuncBuilder;
using Ints = std::vector<int64_t>;

constexpr DType kTypes[] = {DType::kF32, DType::kF64};
Tolerance RoundingOf(DType dtype) {
  return Tolerance::Relative(dtype == DType::kF32 ? 3e-5 : 1e-13);
}

Value Adjoint(FuncBuilder& b, Value x) {
  std::vector<int64_t> order;
  for (int i = 0; i < x.shape().rank(); ++i) order.push_back(i);
  std::swap(order[order.size() - 2], order[order.size() - 1]);
  return b.Transpose(x, order);
}

// A parameter's matrices, with more on their diagonals.
Value WithDiagonal(FuncBuilder& b, Value x, double more) {
  const ir::Dims& dims = x.shape().dims();
  const int rank = x.shape().rank();
  Value diagonal =
      b.Compare(b.Iota(DType::kS32, dims, rank - 2), b.Iota(DType::kS32, dims, rank - 1), "eq");
  return b.Select(diagonal, b.Add(x, b.FullLike(x, more)), x);
}

Value Positive(FuncBuilder& b, Value x) { return WithDiagonal(b, b.MatMul(x, Adjoint(b, x)), 4); }

const Ints kSquares[] = {{1, 1}, {2, 2}, {17, 17}, {3, 5, 5}, {2, 3, 40, 40}, {0, 3, 3}};
const Ints kShapes[] = {{1, 1}, {5, 5}, {7, 4}, {4, 7}, {3, 20, 6}, {2, 2, 6, 20}};

CompileOptions Fixed() {
  CompileOptions options;
  options.symbolic = false;
  return options;
}

CONFORMANCE_TEST(Cholesky) {
  for (DType dtype : kTypes) {
    for (const Ints& sizes : kSquares) {
      FuncBuilder b;
      Value x = b.Parameter(Of(dtype, sizes));
      b.Return(b.AddMulti(Op::kCholesky, {Positive(b, x)}));
      Check(b, RoundingOf(dtype));
    }
  }
}

CONFORMANCE_TEST(CholeskyOfIndefiniteMatrices) {
  FuncBuilder b;
  Value x = b.Parameter(Of(DType::kF32, {5, 6, 6}));
  Value sign = b.Iota(DType::kF32, x.shape().dims(), 0);
  Value a = b.Mul(Positive(b, x), b.Sub(b.FullLike(sign, 2.5), sign));
  b.Return({b.AddMulti(Op::kCholesky, {a})[1]});
  Check(b);
}

CONFORMANCE_TEST(TriangularSolve) {
  for (DType dtype : kTypes) {
    for (const Ints& sizes : kSquares) {
      for (int which : {0, 1, 2, 3}) {
        Ints sides = sizes;
        sides.back() = which == 0 ? 1 : 3;
        FuncBuilder b;
        Value x = b.Parameter(Of(dtype, sizes)), y = b.Parameter(Of(dtype, sides));
        Value a = WithDiagonal(b, b.Mul(x, b.FullLike(x, 0.125)), 6);
        b.Return(b.AddMulti(Op::kTriangularSolve, {a, y},
                            {{Attr::lower, which % 2 == 0}, {Attr::transpose_a, which / 2 == 0}}));
        Check(b, RoundingOf(dtype));
      }
    }
  }
}

CONFORMANCE_TEST(SolveByElimination) {
  for (DType dtype : kTypes) {
    for (const Ints& sizes : kSquares) {
      Ints sides = sizes;
      sides.back() = 3;
      FuncBuilder b;
      Value x = b.Parameter(Of(dtype, sizes)), y = b.Parameter(Of(dtype, sides));
      b.Return(b.AddMulti(Op::kSolve, {Positive(b, x), y}));
      Check(b, RoundingOf(dtype), Fixed());
    }
  }
}

// Zeros everywhere: no pivot is left.
CONFORMANCE_TEST(SolversOfSingularMatrices) {
  FuncBuilder b;
  Value x = b.Parameter(Of(DType::kF64, {3, 3})), y = b.Parameter(Of(DType::kF64, {3, 2}));
  Value zeros = b.FullLike(x, 0);
  Value triangular = b.AddMulti(Op::kTriangularSolve, {zeros, y}, {{Attr::lower, true}})[1];
  Value tridiagonal = b.AddMulti(Op::kTridiagonalSolve, {zeros, y}, {{Attr::pivots, true}})[1];
  b.Return({b.AddMulti(Op::kSolve, {zeros, y})[1], triangular, tridiagonal});
  Check(b, {}, Fixed());
}

CONFORMANCE_TEST(Qr) {
  for (DType dtype : kTypes) {
    for (const Ints& sizes : kShapes) {
      for (bool full : {false, true}) {
        FuncBuilder b;
        Value x = b.Parameter(Of(dtype, sizes));
        const std::vector<Value> r = b.AddMulti(Op::kQr, {x}, {{Attr::full, full}});
        b.Return({b.MatMul(r[0], r[1]), b.MatMul(Adjoint(b, r[0]), r[0]), b.Abs(r[1]), r[2]});
        CompileOptions options = Fixed();
        Check(b, RoundingOf(dtype), options);
      }
    }
  }
}

CONFORMANCE_TEST(Eigh) {
  for (DType dtype : kTypes) {
    for (const Ints& sizes : kSquares) {
      for (bool vectors : {false, true}) {
        FuncBuilder b;
        Value x = b.Parameter(Of(dtype, sizes));
        const std::vector<Value> r =
            b.AddMulti(Op::kEigh, {b.Add(x, Adjoint(b, x))}, {{Attr::vectors, vectors}});
        std::vector<Value> outputs = {r[0], r.back()};
        if (vectors) {
          ir::Dims row = r[0].shape().dims();
          row.insert(row.end() - 1, ir::Dim(1));
          Value scaled = b.Mul(r[1], b.BroadcastTo(b.Reshape(r[0], row), r[1].shape().dims()));
          outputs.push_back(b.MatMul(scaled, Adjoint(b, r[1])));
          outputs.push_back(b.MatMul(Adjoint(b, r[1]), r[1]));
        }
        b.Return(outputs);
        Check(b, RoundingOf(dtype), Fixed());
      }
    }
  }
}

CONFORMANCE_TEST(Svd) {
  for (DType dtype : kTypes) {
    for (const Ints& sizes : kShapes) {
      for (int which : {0, 1, 2}) {
        const bool vectors = which > 0, full = which > 1;
        FuncBuilder b;
        Value x = b.Parameter(Of(dtype, sizes));
        const std::vector<Value> r =
            b.AddMulti(Op::kSvd, {x}, {{Attr::full, full}, {Attr::vectors, vectors}});
        std::vector<Value> outputs = {r[0], r.back()};
        if (vectors) {
          outputs.push_back(b.MatMul(Adjoint(b, r[1]), r[1]));
          outputs.push_back(b.MatMul(Adjoint(b, r[2]), r[2]));
        }
        if (vectors && !full) {
          ir::Dims row = r[0].shape().dims();
          row.insert(row.end() - 1, ir::Dim(1));
          Value scaled = b.Mul(r[1], b.BroadcastTo(b.Reshape(r[0], row), r[1].shape().dims()));
          outputs.push_back(b.MatMul(scaled, Adjoint(b, r[2])));
        }
        b.Return(outputs);
        Check(b, RoundingOf(dtype), Fixed());
      }
    }
  }
}

CONFORMANCE_TEST(TridiagonalSolve) {
  for (DType dtype : kTypes) {
    for (const Ints& sizes : {Ints{3, 1}, Ints{3, 2}, Ints{3, 9}, Ints{4, 3, 33}}) {
      for (bool pivots : {false, true}) {
        Ints sides = sizes;
        sides[sides.size() - 2] = sizes.back();
        sides.back() = 3;
        FuncBuilder b;
        Value x = b.Parameter(Of(dtype, sizes)), y = b.Parameter(Of(dtype, sides));
        Value main = b.Compare(b.Iota(DType::kS32, x.shape().dims(), x.shape().rank() - 2),
                               b.Full(DType::kS32, 1, x.shape().dims()), "eq");
        // With pivots the main diagonal is the smallest of the three.
        Value scaled = b.Mul(x, b.FullLike(x, pivots ? 0.25 : 0.03125));
        Value shifted = b.Add(x, b.FullLike(x, pivots ? 3 : 8));
        Value d = pivots ? b.Select(main, scaled, shifted) : b.Select(main, shifted, scaled);
        b.Return(b.AddMulti(Op::kTridiagonalSolve, {d, y}, {{Attr::pivots, pivots}}));
        Check(b, Tolerance::Relative(dtype == DType::kF32 ? 3e-4 : 1e-12), Fixed());
      }
    }
  }
}

}  // namespace
}  // namespace tektite::testing
