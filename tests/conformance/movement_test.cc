// Data movement: alone, in chains, and between elementwise work.
#include <numeric>

#include "absl/strings/str_cat.h"
#include "tests/conformance/harness.h"

namespace tektite::testing {
namespace {

using ir::Dim;
using ir::DType;
using ir::Value;
using ops::FuncBuilder;

const DType kTypes[] = {DType::kBool, DType::kS8,   DType::kU16, DType::kS32,
                        DType::kS64,  DType::kBF16, DType::kF32, DType::kF64};

CONFORMANCE_TEST(MovementOfEveryType) {
  for (bool fuse : {true, false}) {
    for (DType dtype : kTypes) {
      FuncBuilder b;
      Value x = b.Parameter(Of(dtype, {3, 19, 5})), y = b.Parameter(Of(dtype, {3, 2, 5}));
      std::vector<Value> out = {
          b.Transpose(x, {2, 0, 1}),
          b.SliceDim(x, 1, 2, 18, 3),
          b.SliceDim(x, 2, 1, 4),
          b.Reverse(x, {0, 2}),
          b.Reverse(x, {1}),
          b.Concatenate({y, x, y}, 1),
          b.Pad(x, b.Scalar(dtype, 1), {1, -2, 0}, {0, 3, 2}, {0, 1, 2}),
          b.BroadcastInDim(y, {Dim(3), Dim(4), Dim(2), Dim(5)}, {0, 2, 3}),
          b.Reshape(x, {Dim(19), Dim(15)}),
      };
      if (dtype != DType::kBool) out.push_back(b.Iota(dtype, {Dim(3), Dim(21)}, 1));
      b.Return(out);
      CompileOptions options;
      options.fuse = fuse;
      Check(b, {}, options);
    }
  }
}

// Read along one dimension and written along another, a square of vectors at a time: squares that
// are whole, and ragged on either side.
CONFORMANCE_TEST(TransposesInSquares) {
  for (DType dtype : {DType::kF32, DType::kS32, DType::kF64}) {
    for (int64_t rows : {8, 32, 37}) {
      for (int64_t columns : {8, 48, 51}) {
        if (!HasTurn(rows + columns + static_cast<size_t>(dtype))) continue;
        FuncBuilder b;
        Value x = b.Parameter(Of(dtype, {3, rows, columns}));
        b.Return(
            {b.Transpose(x, {0, 2, 1}), b.Transpose(x, {2, 0, 1}), b.Transpose(x, {2, 1, 0}),
             b.Transpose(b.Reverse(b.Add(x, x), {0, 1}), {0, 2, 1}),
             b.Mul(b.Transpose(x, {1, 2, 0}),
                   b.BroadcastInDim(b.Scalar(dtype, 3), {Dim(rows), Dim(columns), Dim(3)}, {}))});
        Check(b, {});
      }
    }
  }
}

// On GPUs a tile of what is transposed passes through shared memory: beside what is read as it
// lies, of types of every width at once, into several results, and more of them than there are
// tiles for.
CONFORMANCE_TEST(TransposesInTiles) {
  for (DType dtype : {DType::kF32, DType::kBF16, DType::kS8, DType::kF64}) {
    for (int64_t images : {1, 2}) {
      for (int64_t rows : {15, 32, 64, 70}) {
        for (int64_t columns : {16, 33, 128}) {
          if (!HasTurn(rows + columns + images + static_cast<size_t>(dtype))) continue;
          FuncBuilder b;
          const std::vector<int64_t> sizes = {images, rows, columns};
          Value x = b.Parameter(Of(dtype, sizes)), y = b.Parameter(Of(dtype, sizes));
          Value z = b.Parameter(Of(dtype, {images, columns, rows}));
          Value wide = b.Parameter(Of(DType::kS32, sizes));
          const auto turned = [&](Value v) { return b.Transpose(v, {0, 2, 1}); };
          Value sum = b.Add(turned(b.Mul(x, y)), z);
          Value many = z;
          for (int64_t i = 0; i < 5; ++i) {
            many = b.Max(many, turned(b.Add(x, b.FullLike(x, static_cast<double>(i)))));
          }
          b.Return(
              {turned(x), sum, b.Add(turned(x), turned(y)), b.Mul(sum, sum), many,
               b.Select(b.Compare(turned(wide), b.FullLike(turned(wide), 1), "lt"), turned(x), z),
               b.Transpose(x, {2, 0, 1}), b.Transpose(x, {1, 2, 0})});
          Check(b, {});
        }
      }
    }
  }
}

CONFORMANCE_TEST(Permutations) {
  std::vector<int64_t> permutation = {0, 1, 2, 3};
  FuncBuilder b;
  Value x = b.Parameter(Of(DType::kF32, {2, 7, 33, 5}));
  std::vector<Value> out;
  do {
    Value t = b.Transpose(x, permutation);
    out.push_back(b.Add(t, t));
  } while (std::next_permutation(permutation.begin(), permutation.end()));
  b.Return(out);
  Check(b);
}

CONFORMANCE_TEST(ReshapesBetweenElementwiseWork) {
  const std::vector<std::vector<int64_t>> shapes = {{6, 20, 4}, {120, 4}, {6, 80},       {24, 20},
                                                    {480},      {4, 120}, {3, 2, 10, 8}, {480, 1}};
  for (const auto& from : shapes) {
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, from));
    std::vector<Value> out;
    for (const auto& to : shapes) {
      ir::Dims dims;
      for (int64_t d : to) dims.push_back(Dim(d));
      Value r = b.Reshape(b.Mul(x, b.FullLike(x, 2)), dims);
      std::vector<int64_t> back(to.size());
      std::iota(back.rbegin(), back.rend(), 0);
      out.push_back(b.Add(b.Transpose(r, back), b.FullLike(b.Transpose(r, back), 1)));
    }
    b.Return(out);
    Check(b);
  }
}

// Vectors run along the last dimension that has several elements.
CONFORMANCE_TEST(RowsBeforeDimensionsOfOne) {
  for (int64_t n : {1, 7, 40}) {
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, {2, 3, n, 1, 1}));
    Value padded = b.Pad(x, b.Scalar(DType::kF32, 3), {0, 1, 1, 0, 0}, {0, 1, 1, 0, 0});
    Value sum = b.Add(b.SliceDim(padded, 2, 0, n), b.SliceDim(padded, 2, 2, n + 2));
    std::vector<Value> columns;
    for (int i = 0; i < 6; ++i) columns.push_back(b.Mul(x, b.FullLike(x, i)));
    b.Return({sum, b.Concatenate(columns, 3), b.Concatenate({x, x, x, x, x}, 4)});
    Check(b);
  }
}

CONFORMANCE_TEST(MovementFusedIntoElementwise) {
  for (int64_t n : {1, 2, 7, 16, 17, 40}) {
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, {4, n})), y = b.Parameter(Of(DType::kF32, {4, n}));
    Value e = b.Mul(x, y);
    Value padded = b.Pad(e, b.Scalar(DType::kF32, 3), {0, 2}, {1, 1});
    Value joined = b.Concatenate({b.Neg(x), e, b.Add(x, y)}, 1);
    Value joined_rows = b.Concatenate({b.Neg(x), y}, 0);
    Value sliced = b.SliceDim(joined, 1, 1, 2 * n);
    Value reversed = b.Reverse(b.Add(x, y), {1});
    Value stacked = b.Concatenate(
        {b.Reshape(x, {Dim(4), Dim(1), Dim(n)}), b.Reshape(y, {Dim(4), Dim(1), Dim(n)})}, 1);
    b.Return({b.Neg(padded), b.Add(joined, joined), b.Neg(joined_rows), b.Neg(sliced),
              b.Sub(reversed, x), b.Neg(b.Transpose(e, {1, 0})), b.Add(stacked, stacked)});
    Check(b);
  }
}

CONFORMANCE_TEST(DynamicSlices) {
  for (int start : {-3, 0, 2, 100}) {
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, {6, 37}));
    Value u = b.Parameter(Of(DType::kF32, {2, 18}));
    Value i = b.Scalar(DType::kS32, start), j = b.Scalar(DType::kS32, start + 1);
    Value p = b.Parameter(Of(DType::kS32, {}));
    b.Return({b.DynamicSlice(x, {i, j}, {Dim(3), Dim(17)}),
              b.Neg(b.DynamicSlice(b.Add(x, x), {p, j}, {Dim(1), Dim(37)})),
              b.DynamicUpdateSlice(x, u, {i, j}), b.Neg(b.DynamicUpdateSlice(x, u, {p, p})),
              b.DynamicUpdateSlice(x, b.Neg(x), {p, p})});
    Check(b);
  }
}

CONFORMANCE_TEST(AFusionMayReadItsOwnOperandAtTwoPlaces) {
  FuncBuilder b;
  Value x = b.Parameter(Of(DType::kF32, {40, 40}));
  Value e = b.Neg(x);
  b.Return({b.Add(e, b.Transpose(e, {1, 0})), b.Sub(x, b.Reverse(x, {0}))});
  Check(b);
}

// Rows of a few elements run on behind each other, with what is read by the column alone.
CONFORMANCE_TEST(RowsNarrowerThanAVector) {
  for (DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kS32, DType::kU8}) {
    for (int64_t width : {2, 3, 4, 7, 9}) {
      for (int64_t rows : {0, 1, 5, 16, 32, 101}) {
        if (!HasTurn(rows + width + static_cast<size_t>(dtype))) continue;
        SCOPED_TRACE(absl::StrCat(ir::DTypeName(dtype), " ", rows, "x", width));
        FuncBuilder b;
        Value x = b.Parameter(Of(dtype, {rows, width})), y = b.Parameter(Of(dtype, {width}));
        Value one = b.Parameter(Of(dtype, {1, width})), scalar = b.Parameter(Of(dtype, {}));
        Value choice = b.Parameter(Of(DType::kBool, {width}));
        Value both = b.SelectImplicit(choice, b.Max(x, y), b.Add(y, x));
        b.Return({both, b.CompareImplicit(b.Min(both, one), scalar, "lt")});
        CompileOptions options;
        options.symbolic = rows % 2 == 1;
        Check(b, {}, options);
      }
    }
  }
}

// Rows that do not run on behind each other, in more strips than one and in part of one.
CONFORMANCE_TEST(RowsOfPaddedImages) {
  for (int64_t width : {1, 3, 4, 9}) {
    SCOPED_TRACE(width);
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, {2, 5, 130, width}));
    Value y = b.Parameter(Of(DType::kF32, {2, 5, 64, width}));
    Value e = b.Exp(x);
    b.Return({b.Pad(x, b.Scalar(DType::kF32, 3), {0, 1, 1, 0}, {0, 0, 2, 0}),
              b.Concatenate({y, b.Neg(x), y}, 2),
              b.Slice(e, {Dim(0), Dim(1), Dim(3), Dim(0)}, {Dim(2), Dim(4), Dim(128), Dim(width)},
                      {1, 2, 1, 1})});
    Check(b, Tolerance::Ulps(4));
  }
}

// Columns of narrow rows, worked on side by side: what they are taken from is computed, too, and is
// another one for each image.  With five columns each is a sweep of its own.
CONFORMANCE_TEST(ColumnsOfPixels) {
  for (DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kS32, DType::kU8}) {
    for (int width : {2, 3, 4, 5}) {
      for (const auto& sizes :
           std::vector<std::vector<int64_t>>{{0, 3}, {1, 1}, {1, 16}, {3, 19}, {2, 33}, {2, 16}}) {
        if (!HasTurn(sizes[1] + width + static_cast<size_t>(dtype))) continue;
        SCOPED_TRACE(absl::StrCat(ir::DTypeName(dtype), " ", sizes[0], "x", sizes[1], "x", width));
        FuncBuilder b;
        Value x = b.Parameter(Of(dtype, {sizes[0], sizes[1], 2, width}));
        Value shift = b.Parameter(Of(dtype, {sizes[0], 1, 1, width}));
        Value shifted = b.Add(x, shift);
        std::vector<Value> taken, mixed;
        for (int c = 0; c < width; ++c) taken.push_back(b.SliceDim(shifted, 3, c, c + 1));
        Value most = taken[0];
        for (Value v : taken) most = b.Max(most, v);
        for (int c = width; c-- > 0;) mixed.push_back(b.Sub(most, taken[c]));
        mixed.back() = b.FullLike(mixed.back(), 3);
        Value joined = b.Concatenate(mixed, 3);
        b.Return({joined, b.Add(joined, joined), b.Mul(taken[1], taken[0])});
        CompileOptions options;
        options.symbolic = sizes[1] == 19;
        Check(b, {}, options);
      }
    }
  }
}

// Two vectors at a time.
CONFORMANCE_TEST(ColumnsOfCostlyFunctions) {
  for (int64_t rows : {7, 64, 101}) {
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, {rows, 3}));
    Value first = b.Exp(b.SliceDim(x, 1, 2, 3)), second = b.Tanh(b.SliceDim(x, 1, 0, 1));
    b.Return({b.Concatenate({first, b.Max(first, second), second}, 1)});
    Check(b, Tolerance::Ulps(4));
  }
}

// Columns of rows whose length is another dimension's, and of a single row.
CONFORMANCE_TEST(ColumnsOfEveryRank) {
  for (const auto& sizes :
       std::vector<std::vector<int64_t>>{{3}, {1, 3}, {3, 3}, {3, 1, 3}, {1, 3, 3, 3}}) {
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, sizes));
    const int last = static_cast<int>(sizes.size()) - 1;
    Value first = b.SliceDim(x, last, 0, 1), second = b.SliceDim(x, last, 1, 2);
    b.Return({b.Concatenate({b.Mul(first, second), b.Neg(first), second}, last),
              b.Concatenate({b.Abs(second), b.Reshape(b.Sub(first, second), first.shape().dims())},
                            last)});
    Check(b);
  }
}

CONFORMANCE_TEST(BroadcastsOfComputedValues) {
  FuncBuilder b;
  Value x = b.Parameter(Of(DType::kF32, {8, 8})), v = b.Parameter(Of(DType::kF32, {8}));
  Value w = b.Add(v, v);
  Value rows = b.BroadcastInDim(w, {Dim(8), Dim(8)}, {0});
  Value columns = b.BroadcastInDim(b.Exp(v), {Dim(8), Dim(8)}, {1});
  b.Return({b.Mul(b.Add(x, rows), columns), w});
  Check(b, Tolerance::Ulps(4));
}

}  // namespace
}  // namespace tektite::testing
