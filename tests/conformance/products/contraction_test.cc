// dot_general: sizes, layouts, weights and what follows.
#include "absl/strings/str_cat.h"
#include "tests/conformance/harness.h"

namespace tektite::testing {
namespace {

using ir::Attr;
using ir::Dim;
using ir::DType;
using ir::Op;
using ir::Shape;
using ir::Value;
using ops::FuncBuilder;

Value Weight(FuncBuilder& b, Shape shape) {
  Value w = b.Parameter(std::move(shape));
  w.node->attrs().Set(Attr::weight, true);
  return w;
}

// Inputs are multiples of 1/8, so sums are exact in f32 and the order of additions is free.
Value Gelu(FuncBuilder& b, Value x) {
  Value half = b.Mul(x, b.FullLike(x, 0.5));
  return b.Mul(half, b.Add(b.Erf(b.Mul(x, b.FullLike(x, 0.70710678))), b.FullLike(x, 1)));
}

// k of several blocks of sums, and of so many that their sums are added up in between, as CPUs do
// (SumCascade); GPUs add up slices of k, of which they have enough sooner.
CONFORMANCE_TEST(ProductsOfManyBlocks) {
  for (int64_t k : {769, 1537, is_gpu() ? 5000 : 40000}) {
    for (int64_t m : {1, 3, 9}) {
      FuncBuilder b;
      Value x = b.Parameter(Of(DType::kF32, {m, k})), y = b.Parameter(Of(DType::kF32, {k, 19}));
      Value z = b.Parameter(Of(DType::kF32, {19, k})), t = b.Parameter(Of(DType::kF32, {k, m}));
      ops::DotDims plain, rows, columns;
      plain.lhs_contracting = {1}, plain.rhs_contracting = {0};
      rows.lhs_contracting = {1}, rows.rhs_contracting = {1};
      columns.lhs_contracting = {0}, columns.rhs_contracting = {0};
      b.Return({b.DotGeneral(x, y, plain), b.DotGeneral(x, z, rows), b.DotGeneral(t, y, columns)});
      Check(b, Tolerance::Relative(1e-6));
    }
  }
}

// What an epilogue reads and writes is fetched row by row while a tile runs through k, where k is
// long enough: k just below and above that, whole and ragged tiles, arrays read and several
// written.
CONFORMANCE_TEST(EpiloguesOfLargeArrays) {
  for (int64_t k : {96, 127, 128, 133, 200, 800}) {
    for (int64_t m : {1, 97, 132}) {
      SCOPED_TRACE(absl::StrCat(m, "x", k));
      const Shape result = Of(DType::kF32, {m, 200});
      FuncBuilder b;
      Value x = b.Parameter(Of(DType::kF32, {m, k})), w = b.Parameter(Of(DType::kF32, {200, k}));
      Value y = b.Parameter(result), z = b.Parameter(result);
      Value d = b.MatMul(x, w, false, true);
      b.Return({b.Sub(b.Mul(d, y), b.Mul(b.Mul(d, z), b.Exp(b.Neg(b.Mul(z, z)))))});
      Check(b, Tolerance::Relative(1e-6));
      FuncBuilder several;
      x = several.Parameter(Of(DType::kF32, {m, k}));
      w = several.Parameter(Of(DType::kF32, {200, k}));
      d = several.MatMul(x, w, false, true);
      several.Return({d, several.Neg(d), several.Mul(d, d)});
      Check(several, Tolerance::Relative(1e-6));
      if (HasFatalFailure()) return;
    }
  }
}

// Rows that lie one after the other are fetched ahead, and a single result, where both are larger
// than half of L2: k of whole lines and of parts of them, m and n of whole tiles and of ragged
// ones.
CONFORMANCE_TEST(LargeProductsOfAShortK) {
  constexpr int64_t kHalfOfL2 = 512 << 10;  // or more
  for (int64_t k : {15, 16, 33, 128}) {
    const int64_t m = kHalfOfL2 / 4 / k + 97, n = k + 5;
    for (bool is_convolution : {false, true}) {
      SCOPED_TRACE(absl::StrCat(m, "x", k, "x", n));
      FuncBuilder b;
      if (is_convolution) {
        Value x = b.Parameter(Of(DType::kF32, {2, 37, m / 64, k}));
        b.Return({b.Convolution(x, Weight(b, Of(DType::kF32, {1, 1, k, n})), {})});
      } else {
        Value x = b.Parameter(Of(DType::kF32, {m, k}));
        b.Return({b.MatMul(x, Weight(b, Of(DType::kF32, {k, n})))});
      }
      Check(b, Tolerance::Relative(1e-6));
      if (HasFatalFailure()) return;
    }
  }
}

CONFORMANCE_TEST(DotSizes) {
  const int64_t sizes[] = {0, 1, 2, 3, 7, 16, 17, 48, 49, 100, 200};
  int count = 0;
  for (int64_t m : sizes) {
    for (int64_t n : sizes) {
      for (int64_t k : sizes) {
        // A part of the product, other sizes with every step.
        if (++count % 13 != 0 && m * n * k != 0 && count % 11 != 0) continue;
        if ((m * n * k == 0 && count % 4 != 0) || !HasTurn(count / 5)) continue;
        SCOPED_TRACE(absl::StrCat(m, "x", k, "x", n));
        FuncBuilder b;
        Value x = b.Parameter(Of(DType::kF32, {m, k}));
        const bool transpose = count % 2 == 0;
        Shape shape = transpose ? Of(DType::kF32, {n, k}) : Of(DType::kF32, {k, n});
        Value w = count % 3 == 0 ? b.Parameter(shape) : Weight(b, shape);
        b.Return({b.MatMul(x, w, false, transpose)});
        CompileOptions options;
        options.symbolic = count % 5 == 0;
        Check(b, Tolerance::Relative(1e-9), options);  // a zero's sign is free
        if (HasFatalFailure()) return;
      }
    }
  }
}

CONFORMANCE_TEST(DotTypes) {
  for (DType dtype :
       {DType::kF16, DType::kBF16, DType::kF64, DType::kS32, DType::kS64, DType::kU8, DType::kS8}) {
    for (bool weight : {false, true}) {
      for (bool transpose : {false, true}) {
        for (int64_t m : {3, 70}) {
          SCOPED_TRACE(absl::StrCat(ir::DTypeName(dtype), weight, transpose, m));
          FuncBuilder b;
          Value x = b.Parameter(Of(dtype, {m, 19}));
          Shape shape = transpose ? Of(dtype, {37, 19}) : Of(dtype, {19, 37});
          Value w = weight ? Weight(b, shape) : b.Parameter(shape);
          Value y = b.MatMul(x, w, false, transpose);
          b.Return({b.Add(y, y)});
          Check(b, Tolerance::Ulps(1));
        }
      }
    }
  }
}

CONFORMANCE_TEST(DotDimensions) {
  struct Case {
    std::vector<int64_t> lhs, rhs;
    ops::DotDims dims;
  };
  const std::vector<Case> cases = {
      // batch in front, behind, in the middle
      {{5, 6, 7}, {5, 7, 9}, {{0}, {0}, {2}, {1}, {}, {}}},
      {{6, 7, 5}, {7, 9, 5}, {{2}, {2}, {1}, {0}, {}, {}}},
      {{6, 5, 7}, {9, 5, 7}, {{1}, {1}, {2}, {2}, {}, {}}},
      {{4, 33, 3, 16}, {4, 35, 3, 16}, {{0, 2}, {0, 2}, {3}, {3}, {}, {}}},  // attention scores
      {{4, 3, 33, 35}, {4, 35, 3, 16}, {{0, 1}, {0, 2}, {3}, {1}, {}, {}}},  // and values
      {{2, 3, 5, 7}, {3, 2, 7, 11}, {{0, 1}, {1, 0}, {3}, {2}, {}, {}}},
      // several free and contracting dimensions
      {{3, 4, 5}, {5, 6, 7}, {{}, {}, {2}, {0}, {}, {}}},
      {{3, 4, 5}, {4, 5, 6}, {{}, {}, {1, 2}, {0, 1}, {}, {}}},
      {{3, 4, 5}, {5, 6, 4}, {{}, {}, {1, 2}, {2, 0}, {}, {}}},
      {{3, 4, 5}, {5, 6, 4}, {{}, {}, {2, 1}, {0, 2}, {}, {}}},
      {{4, 5, 3}, {6, 4, 5}, {{}, {}, {0, 1}, {1, 2}, {}, {}}},
      {{4, 3, 5}, {6, 4, 2, 5}, {{}, {}, {0, 2}, {1, 3}, {}, {}}},
      {{7}, {7}, {{}, {}, {0}, {0}, {}, {}}},
      {{7, 20}, {7}, {{}, {}, {0}, {0}, {}, {}}},
      {{7}, {7, 20}, {{}, {}, {0}, {0}, {}, {}}},
      {{4}, {6}, {{}, {}, {}, {}, {}, {}}},
      {{40, 3}, {40, 50}, {{}, {}, {0}, {0}, {}, {}}},  // both transposed or neither
      {{3, 40}, {50, 40}, {{}, {}, {1}, {1}, {}, {}}},
      {{1, 1, 64}, {64, 1, 64}, {{}, {}, {2}, {0}, {}, {}}},
      {{0, 5, 7}, {0, 7, 3}, {{0}, {0}, {2}, {1}, {}, {}}},
      {{2, 5, 0}, {2, 0, 3}, {{0}, {0}, {2}, {1}, {}, {}}},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    for (int variant = 0; variant < 3; ++variant) {
      if (variant != 0 && !HasTurn(i + variant)) continue;
      SCOPED_TRACE(absl::StrCat("case ", i, " variant ", variant));
      FuncBuilder b;
      Value x = b.Parameter(Of(DType::kF32, cases[i].lhs));
      Shape shape = Of(DType::kF32, cases[i].rhs);
      Value w = variant == 1 ? Weight(b, shape) : b.Parameter(shape);
      Value y = b.DotGeneral(x, w, cases[i].dims);
      if (variant == 2) {
        // With an epilogue that reads something of the result's shape and a vector of columns.
        Value residual = b.Parameter(y.shape());
        Value z = b.Add(b.Neg(y), residual);
        if (y.shape().rank() > 0) {
          z = b.Mul(z, b.Parameter(Shape(DType::kF32, {y.shape().dim(y.shape().rank() - 1)})));
        }
        y = z;
      }
      b.Return({y});
      Check(b);
    }
  }
}

CONFORMANCE_TEST(DotEpilogues) {
  for (int64_t m : {1, 5, 64}) {
    for (int64_t n : {1, 17, 100}) {
      for (int variant = 0; variant < 7; ++variant) {
        if (!HasTurn(m / 5 + n / 17 + variant)) continue;
        SCOPED_TRACE(absl::StrCat(m, "x", n, " variant ", variant));
        FuncBuilder b;
        Value x = b.Parameter(Of(DType::kF32, {m, 33}));
        Value w = Weight(b, Of(DType::kF32, {33, n}));
        Value bias = b.Parameter(Of(DType::kF32, {n}));
        Value y = b.MatMul(x, w);
        Value biased = b.Add(y, bias);
        Value relu = b.Max(biased, b.FullLike(biased, 0));
        switch (variant) {
          case 0:
            b.Return({relu});
            break;
          case 1:
            b.Return({Gelu(b, biased)});
            break;
          case 2:
            b.Return({b.Add(biased, b.Parameter(Of(DType::kF32, {m, n})))});
            break;
          case 3:  // what comes before the activation leaves, too
            b.Return({relu, biased, y});
            break;
          case 4:  // used twice, by another type and by a row vector
            b.Return({b.Compare(relu, y, "eq"), b.Convert(biased, DType::kF64)});
            break;
          case 5:
            b.Return({b.Mul(b.Convert(y, DType::kBF16), b.Convert(b.Neg(y), DType::kBF16)),
                      b.Mul(y, b.Parameter(Of(DType::kF32, {m, 1})))});
            break;
          default:  // heads split off behind the bias, as in attention
            if (n % 4 != 0) continue;
            b.Return({b.Transpose(b.Reshape(biased, {Dim(m), Dim(4), Dim(n / 4)}), {1, 0, 2})});
        }
        Check(b, Tolerance::Relative(1e-6));
      }
    }
  }
}

// A last vector of columns that is half empty holds those of two rows; the last of an odd number of
// rows has it for itself.
CONFORMANCE_TEST(DotWhoseRowsShareAVector) {
  for (DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kS32}) {
    for (int64_t n : {1, 4, 8, 12, 20, 24, 33, 40}) {
      for (int64_t m : {5, 6, 29, 70}) {
        if (!HasTurn(m + n + static_cast<size_t>(dtype))) continue;
        SCOPED_TRACE(absl::StrCat(ir::DTypeName(dtype), " ", m, "x", n));
        FuncBuilder b;
        Value x = b.Parameter(Of(dtype, {m, 19}));
        Shape shape = Of(dtype, {19, n});
        Value y = b.MatMul(x, n % 3 == 0 ? b.Parameter(shape) : Weight(b, shape));
        Value biased = b.Add(y, b.Parameter(Of(dtype, {n})));
        b.Return({b.Max(biased, b.FullLike(biased, 0)), y});
        CompileOptions options;
        options.symbolic = m % 2 == 0 && dtype == DType::kF32;
        Check(b, Tolerance::Relative(1e-6), options);
      }
    }
  }
}

CONFORMANCE_TEST(ChainsOfDots) {
  FuncBuilder b;
  Value x = b.Parameter(Of(DType::kF32, {2, 9, 24}));
  Value h = x;
  for (int layer = 0; layer < 3; ++layer) {
    Value up = b.DotGeneral(h, Weight(b, Of(DType::kF32, {24, 40})), {{}, {}, {2}, {0}, {}, {}});
    up = b.Mul(b.Max(up, b.FullLike(up, 0)), b.FullLike(up, 0.125));
    Value down = b.DotGeneral(up, Weight(b, Of(DType::kF32, {24, 40})), {{}, {}, {2}, {1}, {}, {}});
    h = b.Add(h, b.Mul(down, b.FullLike(down, 0.015625)));
  }
  b.Return({h});
  Check(b, Tolerance::Relative(2e-6));
}

// The left-hand side is stored [k, m], as in a layer's weight gradient.
CONFORMANCE_TEST(DotOfATransposedLeftHandSide) {
  for (int64_t m : {1, 4, 5, 8, 13, 16, 40, 333}) {
    for (int64_t k : {1, 7, 8, 33, 100}) {
      for (int64_t n : {1, 17, 100}) {
        if (((m + k + n) % 3 == 0 || !HasTurn(m / 4 + k / 7 + n / 17)) && m != 333) continue;
        for (DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
          if (dtype != DType::kF32 && m != 40) continue;
          SCOPED_TRACE(absl::StrCat(ir::DTypeName(dtype), m, "x", k, "x", n));
          FuncBuilder b;
          Value x = b.Parameter(Of(dtype, {k, m})), y = b.Parameter(Of(dtype, {k, n}));
          Value z = b.DotGeneral(x, y, {{}, {}, {0}, {0}, {}, {}});
          b.Return({b.Add(z, b.Parameter(Of(dtype, {n})))});
          Check(b, dtype == DType::kBF16 ? Tolerance::Ulps(1) : Tolerance::Relative(1e-9));
        }
      }
    }
  }
  FuncBuilder b;  // several chunks of rows and of columns, and a batch
  Value x = b.Parameter(Of(DType::kF32, {2, 64, 700})),
        y = b.Parameter(Of(DType::kF32, {2, 64, 500}));
  b.Return({b.DotGeneral(x, y, {{0}, {0}, {1}, {1}, {}, {}})});
  Check(b, Tolerance::Relative(1e-9));
}

// Long enough for packed rows: several blocks of rows, ragged tiles and panels, a batch, and more
// pieces of k than one level of sums holds.
CONFORMANCE_TEST(LongDotOfATransposedLeftHandSide) {
  struct Sizes {
    int64_t batch, m, k, n;
  };
  for (const auto& [batch, m, k, n] : std::vector<Sizes>{{1, 61, 3000, 100},
                                                         {1, 300, 3072, 50},
                                                         {2, 64, 3072, 48},
                                                         {1, 67, 17408, 17},
                                                         {1, 64, 3072, 0}}) {
    SCOPED_TRACE(absl::StrCat(batch, " of ", m, "x", k, "x", n));
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, {batch, k, m}));
    Value y = b.Parameter(Of(DType::kF32, {batch, k, n}));
    Value z = b.DotGeneral(x, y, {{0}, {0}, {1}, {1}, {}, {}});
    b.Return({b.Sub(b.Parameter(z.shape()), b.Mul(z, b.FullLike(z, 0.125))), z});
    Check(b, Tolerance::Relative(1e-6));
  }
}

// Large enough for the code that fetches what the epilogue reads, and for wide chunks.
CONFORMANCE_TEST(DotWithStreamedEpilogue) {
  for (int64_t n : {499, 512}) {
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, {40, 301})), y = b.Parameter(Of(DType::kF32, {40, n}));
    Value z = b.DotGeneral(x, y, {{}, {}, {0}, {0}, {}, {}});
    Value first = b.Parameter(z.shape()), second = b.Parameter(z.shape());
    b.Return({b.Sub(z, first), b.Add(b.Mul(z, z), second)});
    Check(b, Tolerance::Relative(1e-6));
  }
}

// A recurrent layer's product adds a row of another array, which its epilogue reads where it lies,
// at a place that only the call knows; places out of range are clamped.
CONFORMANCE_TEST(DotThatReadsARowOfAnArray) {
  for (DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
    for (int64_t m : {1, 5, 32}) {
      for (int64_t n : {1, 17, 100}) {
        for (bool rows : {false, true}) {
          SCOPED_TRACE(absl::StrCat(ir::DTypeName(dtype), " ", m, "x", n, rows ? " rows" : ""));
          FuncBuilder b;
          Value x = b.Parameter(Of(dtype, {m, 33})), w = Weight(b, Of(dtype, {33, n}));
          Value i = b.Parameter(Of(DType::kS32, {})), zero = b.Scalar(DType::kS32, 0);
          Value row;
          if (rows) {
            Value all = b.Parameter(Of(dtype, {m + 3, n}));
            row = b.DynamicSlice(all, {i, zero}, {Dim(m), Dim(n)});
          } else {
            // The largest are fetched ahead.
            Value all = b.Parameter(Of(dtype, {m == 32 ? 40 : 4, m, n}));
            row = b.Reshape(b.DynamicSlice(all, {i, zero, zero}, {Dim(1), Dim(m), Dim(n)}),
                            {Dim(m), Dim(n)});
          }
          Value y = b.Add(b.MatMul(x, w), row);
          b.Return({b.Tanh(b.Add(y, b.Parameter(Of(dtype, {n})))), y});
          CompileOptions options;
          options.symbolic = m == 5 && dtype == DType::kF32;
          Check(b, dtype == DType::kBF16 ? Tolerance::Ulps(1) : Tolerance::Relative(1e-6), options);
        }
      }
    }
  }
}

// The first tile of a chunk packs panels while it multiplies: from near and from memory (more than
// half of L2), whole and ragged panels and tiles, a last chunk of fewer rows, one or more blocks of
// sums, batches, rows 4 KB apart, which take smaller tiles, and either layout of the left-hand
// side.
CONFORMANCE_TEST(DotThatPacksAlongTheWay) {
  struct Sizes {
    DType dtype;
    int64_t batch, m, k, n;
  };
  for (const auto& [dtype, batch, m, k, n] : std::vector<Sizes>{{DType::kF32, 1, 64, 1024, 320},
                                                                {DType::kF32, 1, 130, 1024, 300},
                                                                {DType::kF32, 1, 515, 769, 200},
                                                                {DType::kF32, 1, 200, 2048, 129},
                                                                {DType::kF32, 3, 50, 1030, 33},
                                                                {DType::kF32, 2, 64, 64, 64},
                                                                {DType::kF32, 5, 61, 1, 40},
                                                                {DType::kF64, 1, 90, 512, 140},
                                                                {DType::kF64, 2, 33, 77, 50},
                                                                {DType::kBF16, 1, 96, 512, 96}}) {
    for (bool transposed : {false, true}) {
      SCOPED_TRACE(absl::StrCat(ir::DTypeName(dtype), " ", batch, " of ", m, "x", k, "x", n,
                                transposed ? " transposed" : ""));
      FuncBuilder b;
      Value x = b.Parameter(transposed ? Of(dtype, {batch, k, m}) : Of(dtype, {batch, m, k}));
      Value y = b.Parameter(Of(dtype, {batch, k, n}));
      Value z = b.DotGeneral(x, y, {{0}, {0}, {transposed ? 1 : 2}, {1}, {}, {}});
      b.Return({z});
      Check(b, dtype == DType::kBF16 ? Tolerance::Ulps(1) : Tolerance::Relative(1e-6));
      if (HasFatalFailure()) return;
    }
  }
}

CONFORMANCE_TEST(ALargeDotInBlocks) {
  for (bool weight : {false, true}) {
    for (auto [m, k, n] : {std::tuple<int64_t, int64_t, int64_t>{150, 3000, 40},
                           {700, 64, 30},
                           {2, 4096, 100},
                           {40, 300, 3000}}) {
      FuncBuilder b;
      Value x = b.Parameter(Of(DType::kF32, {m, k}));
      Value w = weight ? Weight(b, Of(DType::kF32, {k, n})) : b.Parameter(Of(DType::kF32, {k, n}));
      Value y = b.MatMul(x, w);
      b.Return({b.Add(y, b.Parameter(Of(DType::kF32, {n})))});
      Check(b, Tolerance::Relative(1e-6));
    }
  }
}

}  // namespace
}  // namespace tektite::testing
