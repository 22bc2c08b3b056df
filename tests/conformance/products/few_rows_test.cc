// Products with at most four rows, which read the right-hand side where it lies.
#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/conformance/harness.h"

namespace tektite::testing {
namespace {

using ir::Attr;
using ir::Dim;
using ir::DType;
using ir::Shape;
using ir::Value;
using ops::FuncBuilder;

Value MaybeWeight(FuncBuilder& b, Shape shape, bool weight) {
  Value w = b.Parameter(std::move(shape));
  if (weight) w.node->attrs().Set(Attr::weight, true);
  return w;
}

CONFORMANCE_TEST(FewRowsOfEverySize) {
  int count = 0;
  for (int64_t m : {1, 2, 3, 4, 5}) {
    for (int64_t n : {0, 1, 7, 16, 17, 300, 1000}) {
      for (int64_t k : {0, 1, 5, 16, 37, 300}) {
        for (bool transposed : {false, true}) {
          if (++count % 3 != 0) continue;  // another part of the product for each m
          SCOPED_TRACE(absl::StrCat(m, "x", k, "x", n, transposed ? " transposed" : ""));
          FuncBuilder b;
          Value x = b.Parameter(Of(DType::kF32, {m, k}));
          Shape shape = transposed ? Of(DType::kF32, {n, k}) : Of(DType::kF32, {k, n});
          Value y = b.MatMul(x, MaybeWeight(b, shape, count % 2 == 0), false, transposed);
          Value biased = b.Add(y, b.Parameter(Of(DType::kF32, {n})));
          b.Return({b.Max(biased, b.FullLike(biased, 0)), y});
          CompileOptions options;
          options.symbolic = count % 7 == 0;
          Check(b, Tolerance::Relative(1e-6), options);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// Beyond the size from which the code fetches ahead.
CONFORMANCE_TEST(FewRowsOfALargeMatrix) {
  for (auto [m, k, n] : {std::tuple<int64_t, int64_t, int64_t>{1, 301, 1003},
                         {1, 7, 40000},
                         {4, 1000, 260},
                         {2, 6000, 33}}) {
    for (bool transposed : {false, true}) {
      SCOPED_TRACE(absl::StrCat(m, "x", k, "x", n, transposed ? " transposed" : ""));
      FuncBuilder b;
      Value x = b.Parameter(Of(DType::kF32, {m, k}));
      Shape shape = transposed ? Of(DType::kF32, {n, k}) : Of(DType::kF32, {k, n});
      b.Return({b.MatMul(x, MaybeWeight(b, shape, true), false, transposed)});
      Check(b, Tolerance::Relative(1e-6));
    }
  }
}

// Weights that are read where they lie until they are packed: the harness compares the two.  With a
// last panel that is not full, one that the panels fill, and values that are not finite.
CONFORMANCE_TEST(FewRowsOfWeightsThatArePackedLater) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (auto [m, k, n] : {std::tuple<int64_t, int64_t, int64_t>{1, 700, 768},
                         {1, 1500, 1003},
                         {1, 901, 640},
                         {2, 801, 633},
                         {3, 800, 700},
                         {4, 1000, 640}}) {
    SCOPED_TRACE(absl::StrCat(m, "x", k, "x", n));
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, {m, k}));
    const Value w = MaybeWeight(b, Of(DType::kF32, {k, n}), true);
    const Value y = b.Add(b.MatMul(x, w, false, false), b.Parameter(Of(DType::kF32, {n})));
    b.Return({b.Max(y, b.FullLike(y, 0))});
    auto graph = b.Build();
    ASSERT_TRUE(graph.ok()) << graph.status();
    if (GetParam().backend == "cpu") {
      auto executable = Compile(**graph, "shape0", {});
      ASSERT_TRUE(executable.ok()) << executable.status();
      EXPECT_NE((*executable)->PlanText().find("late "), std::string::npos);
    }
    std::vector<ir::Literal> inputs = PlainInputs(**graph, 3);
    Check(**graph, inputs, Tolerance::Relative(1e-6));
    float* values = inputs[1].mutable_data<float>();
    values[0] = kInf;
    values[k * n - 1] = kNan;
    values[(k / 2) * n + n / 2] = -kInf;
    Check(**graph, inputs, Tolerance::Relative(1e-6));
  }
}

// Weights of several products that are packed: they take more than half of any L2.
CONFORMANCE_TEST(FewRowsOfPackedWeights) {
  for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 768}, {2, 633}, {3, 700}, {4, 640}}) {
    SCOPED_TRACE(absl::StrCat(m, "x", n, "x", n));
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, {m, n}));
    const Value w = MaybeWeight(b, Of(DType::kF32, {n, n}), true);
    const Value bias = b.Parameter(Of(DType::kF32, {n}));
    // As many products as make packing pay.
    for (int i = 0; i < 8; ++i) {
      const Value y = b.Add(b.MatMul(x, w, false, false), bias);
      x = b.Mul(y, b.FullLike(y, 1.0 / 256));
    }
    b.Return({x});
    Check(b, Tolerance::Relative(1e-5));
  }
}

CONFORMANCE_TEST(FewRowsOfEveryType) {
  for (DType dtype :
       {DType::kF16, DType::kBF16, DType::kF64, DType::kS32, DType::kS64, DType::kU8}) {
    for (int64_t m : {1, 3}) {
      for (bool transposed : {false, true}) {
        SCOPED_TRACE(absl::StrCat(ir::DTypeName(dtype), " ", m, transposed ? " transposed" : ""));
        FuncBuilder b;
        Value x = b.Parameter(Of(dtype, {m, 19}));
        Shape shape = transposed ? Of(dtype, {37, 19}) : Of(dtype, {19, 37});
        b.Return({b.MatMul(x, b.Parameter(shape), false, transposed)});
        Check(b, Tolerance::Ulps(1));
      }
    }
  }
}

Value ProductWithBytes(FuncBuilder& b, Value x, Value w, const ops::DotDims& dims,
                       bool nibbles = false) {
  ir::Attributes attrs;
  attrs.Set(Attr::dtype, DType::kF32);
  attrs.Set(Attr::lhs_batch, dims.lhs_batch);
  attrs.Set(Attr::rhs_batch, dims.rhs_batch);
  attrs.Set(Attr::lhs_contracting, dims.lhs_contracting);
  attrs.Set(Attr::rhs_contracting, dims.rhs_contracting);
  if (nibbles) attrs.Set(Attr::nibbles, true);
  return b.AddOne(ir::Op::kDotGeneral, {x, w}, attrs);
}

// f32 times weights of s8: of few rows and of more, where weights lie and from panels.
CONFORMANCE_TEST(FewRowsOfWeightsInBytes) {
  int count = 0;
  for (auto [m, k, n] : {std::tuple<int64_t, int64_t, int64_t>{1, 37, 300},
                         {2, 16, 1},
                         {3, 0, 17},
                         {4, 5, 0},
                         {1, 1500, 1003},
                         {3, 2000, 640},
                         {5, 300, 70},
                         {40, 33, 65},
                         {1, 1, 1}}) {
    for (const bool transposed : {false, true}) {
      // Rows without elements, one behind the other: the interpreter's, as of any bytes.
      if (transposed && k == 0) continue;
      SCOPED_TRACE(absl::StrCat(m, "x", k, "x", n, transposed ? " transposed" : ""));
      FuncBuilder b;
      const Value x = b.Parameter(Of(DType::kF32, {m, k}));
      const Shape shape = transposed ? Of(DType::kS8, {n, k}) : Of(DType::kS8, {k, n});
      const Value w = MaybeWeight(b, shape, ++count % 3 != 0);
      const Value y = ProductWithBytes(b, x, w, {{}, {}, {1}, {transposed ? 1 : 0}, {}, {}});
      const Value scale = b.Parameter(Of(DType::kF32, {n}));
      b.Return({b.Mul(y, b.BroadcastInDim(scale, y.shape().dims(), {1}))});
      CompileOptions options;
      options.symbolic = count % 2 == 0;
      Check(b, Tolerance::Relative(1e-6), options);
      if (HasFatalFailure()) return;
    }
  }
}

// As factor_scales makes them.
CONFORMANCE_TEST(FewRowsOfWeightsInGroupsOfBytes) {
  for (auto [m, groups, k, n] : {std::tuple<int64_t, int64_t, int64_t, int64_t>{1, 6, 128, 640},
                                 {2, 3, 32, 33},
                                 {4, 2, 17, 300}}) {
    SCOPED_TRACE(absl::StrCat(m, "x", groups, "x", k, "x", n));
    FuncBuilder b;
    const Value x = b.Parameter(Of(DType::kF32, {m, groups, k}));
    const Value w = MaybeWeight(b, Of(DType::kS8, {groups, k, n}), true);
    const Value y = ProductWithBytes(b, x, w, {{1}, {0}, {2}, {1}, {}, {}});
    const Value scales = MaybeWeight(b, Of(DType::kF32, {groups, n}), true);
    const Value scaled = b.Mul(y, b.BroadcastInDim(scales, y.shape().dims(), {0, 2}));
    b.Return({b.Reduce(scaled, {0}, "add")});
    Check(b, Tolerance::Relative(1e-6));
    if (HasFatalFailure()) return;
  }
}

// Numbers of 16 in a row, from -8, -23 or 100 on: two to a byte on CPUs.
CONFORMANCE_TEST(FewRowsOfWeightsOfFourBits) {
  for (auto [m, groups, k, n] : {std::tuple<int64_t, int64_t, int64_t, int64_t>{1, 6, 128, 640},
                                 {2, 3, 32, 33},
                                 {4, 2, 18, 300},
                                 {1, 2, 2, 1},
                                 {3, 5, 4, 0},
                                 {1, 3, 0, 20},
                                 {2, 4, 7, 40},
                                 {1, 1, 64, 96},
                                 {6, 2, 64, 32}}) {
    SCOPED_TRACE(absl::StrCat(m, "x", groups, "x", k, "x", n));
    FuncBuilder b;
    const Value x = b.Parameter(Of(DType::kF32, {m, groups, k}));
    const Value bytes = MaybeWeight(b, Of(DType::kS8, {groups, k, n}), true);
    const Value low = b.Binary(ir::Op::kAnd, bytes, b.FullLike(bytes, 15));
    const Value w = b.Add(low, b.FullLike(low, m == 1 ? -8 : m == 2 ? -23 : 100));
    const Value y = ProductWithBytes(b, x, w, {{1}, {0}, {2}, {1}, {}, {}}, /*nibbles=*/true);
    const Value scales = MaybeWeight(b, Of(DType::kF32, {groups, n}), true);
    b.Return({b.Mul(y, b.BroadcastInDim(scales, y.shape().dims(), {0, 2}))});
    Check(b, Tolerance::Relative(1e-6));
    if (HasFatalFailure()) return;
  }
}

// One query against a cache of keys and values, the heads in front or in the middle.
CONFORMANCE_TEST(FewRowsInBatches) {
  for (int64_t t : {1, 15, 33, 256}) {
    SCOPED_TRACE(absl::StrCat(t));
    FuncBuilder b;
    Value q = b.Parameter(Of(DType::kF32, {2, 3, 1, 20}));
    Value keys = b.Parameter(Of(DType::kF32, {2, 3, t, 20}));
    Value spread = b.Parameter(Of(DType::kF32, {2, t, 3, 20}));
    Value p = b.Parameter(Of(DType::kF32, {2, 3, 1, t}));
    b.Return({b.DotGeneral(q, keys, {{0, 1}, {0, 1}, {3}, {3}, {}, {}}),
              b.DotGeneral(q, spread, {{0, 1}, {0, 2}, {3}, {3}, {}, {}}),
              b.DotGeneral(p, keys, {{0, 1}, {0, 1}, {3}, {2}, {}, {}}),
              b.DotGeneral(p, spread, {{0, 1}, {0, 2}, {3}, {1}, {}, {}})});
    Check(b, Tolerance::Relative(1e-9));  // a zero's sign is free
  }
}

// A column that is not finite must not reach its neighbours, nor what lies beside the end of a row.
CONFORMANCE_TEST(FewRowsWithoutFiniteValues) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (bool transposed : {false, true}) {
    for (int64_t n : {5, 21, 40}) {
      FuncBuilder b;
      Value x = b.Parameter(Of(DType::kF32, {2, 11}));
      Shape shape = transposed ? Of(DType::kF32, {n, 11}) : Of(DType::kF32, {11, n});
      b.Return({b.MatMul(x, b.Parameter(shape), false, transposed)});
      auto graph = b.Build();
      ASSERT_TRUE(graph.ok()) << graph.status();
      std::vector<ir::Literal> inputs = PlainInputs(**graph, 3);
      float* w = inputs[1].mutable_data<float>();
      auto at = [&](int64_t k, int64_t column) {
        return transposed ? column * 11 + k : k * n + column;
      };
      w[at(0, 0)] = kInf;
      w[at(10, n - 1)] = kNan;
      w[at(4, n / 2)] = -kInf;
      Check(**graph, inputs, Tolerance::Relative(1e-6));
    }
  }
}

}  // namespace
}  // namespace tektite::testing
