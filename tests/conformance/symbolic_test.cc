// Code for every size: one kernel each, run at sizes that meet its tails, its edges and nothing.
#include "absl/strings/str_cat.h"
#include "jit/ops/infer.h"
#include "tests/conformance/harness.h"

namespace tektite::testing {
namespace {

using ir::Attr;
using ir::Dim;
using ir::DType;
using ir::Shape;
using ir::Value;
using ops::FuncBuilder;
using Ints = std::vector<int64_t>;

const Dim kN = Dim::Symbol("n"), kM = Dim::Symbol("m");

CompileOptions MustBeSymbolic() {
  CompileOptions options;
  options.must_be_symbolic = true;
  return options;
}

Value Weight(FuncBuilder& b, Shape shape) {
  Value w = b.Parameter(std::move(shape));
  w.node->attrs().Set(Attr::weight, true);
  return w;
}

std::vector<SizeValues> EachOf(const std::string& symbol, const std::vector<int64_t>& values) {
  std::vector<SizeValues> all;
  for (int64_t v : values) all.push_back({{symbol, v}});
  return all;
}

std::vector<SizeValues> PairsOf(const std::vector<std::pair<int64_t, int64_t>>& pairs) {
  std::vector<SizeValues> all;
  for (auto [n, m] : pairs) all.push_back({{"n", n}, {"m", m}});
  return all;
}

Value Softmax(FuncBuilder& b, Value x) {
  const int last = x.shape().rank() - 1;
  Value e = b.Exp(b.Sub(x, b.ReduceKeep(x, {last}, "max")));
  return b.Div(e, b.ReduceKeep(e, {last}, "add"));
}

// Every size of a last tile, and blocks of k where the panel is larger than the caches like.
CONFORMANCE_TEST(SymbolicRowsTimesWeights) {
  for (auto [k, n] : std::vector<std::pair<int64_t, int64_t>>{{40, 48}, {24, 33}, {3072, 20}}) {
    for (DType dtype : {DType::kF32, DType::kBF16}) {
      if (dtype == DType::kBF16 && k > 1000) continue;
      SCOPED_TRACE(absl::StrCat(k, "x", n));
      FuncBuilder b;
      Value x = b.Parameter(Shape(dtype, {kN, k}));
      Value y = b.MatMul(x, Weight(b, Shape(dtype, {k, n})));
      Value residual = b.Parameter(Shape(dtype, {kN, n}));
      b.Return({b.Add(b.Add(y, b.Parameter(Shape(dtype, {n}))), residual)});
      auto graph = b.Build();
      ASSERT_TRUE(graph.ok()) << graph.status();
      std::vector<int64_t> rows = {1, 0, 37, 100};
      for (int64_t r = 2; r < 18 && k < 1000; ++r) rows.push_back(r);
      CheckSizes(**graph, EachOf("n", rows),
                 Tolerance::Relative(dtype == DType::kF32 ? 1e-6 : 2e-2), MustBeSymbolic());
    }
  }
}

CONFORMANCE_TEST(SymbolicAttention) {
  FuncBuilder b;
  const Shape shape(DType::kF32, {kN, 2, kM, 24});
  Value q = b.Parameter(shape), k = b.Parameter(shape), v = b.Parameter(shape);
  Value mask = b.Parameter(Shape(DType::kF32, {kN, 1, 1, kM}));
  b.Return({b.MatMul(Softmax(b, b.Add(b.MatMul(q, k, false, true), mask)), v)});
  auto graph = b.Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  CheckSizes(**graph, PairsOf({{2, 5}, {1, 1}, {0, 3}, {3, 16}, {1, 33}, {2, 70}}),
             Tolerance::Relative(2e-6), MustBeSymbolic());
}

CONFORMANCE_TEST(SymbolicRows) {
  FuncBuilder b;
  Value x = b.Parameter(Shape(DType::kF32, {kN, kM}));
  Value mean = b.Div(b.ReduceKeep(x, {1}, "add"), b.FullLike(b.ReduceKeep(x, {1}, "add"), 7));
  Value centred = b.Sub(x, mean);
  Value variance = b.ReduceKeep(b.Mul(centred, centred), {1}, "add");
  b.Return({Softmax(b, x), b.Mul(centred, b.Rsqrt(b.Add(variance, b.FullLike(variance, 1))))});
  auto graph = b.Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  CheckSizes(**graph,
             PairsOf({{3, 5}, {1, 1}, {0, 4}, {4, 0}, {2, 16}, {33, 64}, {301, 64}, {2, 300}}),
             Tolerance::Relative(2e-6), MustBeSymbolic());
}

CONFORMANCE_TEST(SymbolicColumns) {
  FuncBuilder b;
  Value x = b.Parameter(Shape(DType::kF32, {kN, 3, kM}));
  b.Return({b.Reduce(x, {0}, "add"), b.Reduce(x, {0, 1}, "max"), b.Reduce(x, {0, 1, 2}, "add"),
            b.Reduce(x, {1}, "min")});
  auto graph = b.Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  CheckSizes(**graph, PairsOf({{2, 5}, {1, 1}, {0, 4}, {4, 0}, {3, 64}, {2, 65}, {5, 200}}),
             Tolerance::Relative(1e-6), MustBeSymbolic());
}

// Spaces that are one long row, and many short ones.
CONFORMANCE_TEST(SymbolicElementwise) {
  FuncBuilder b;
  Value x = b.Parameter(Shape(DType::kF32, {kN, kM}));
  Value row = b.Parameter(Shape(DType::kF32, {kM})),
        column = b.Parameter(Shape(DType::kF32, {kN, 1}));
  b.Return({b.Tanh(x), b.Mul(b.Add(x, row), column), b.Transpose(x, {1, 0})});
  auto graph = b.Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  CheckSizes(**graph, PairsOf({{3, 5}, {1, 1}, {0, 4}, {4, 0}, {1, 40000}, {300, 1}, {17, 33}}),
             Tolerance::Ulps(4), MustBeSymbolic());
}

// Sizes that are sums, products, quotients and maxima of symbols.
CONFORMANCE_TEST(SymbolicExpressions) {
  FuncBuilder b;
  Value x = b.Parameter(Shape(DType::kF32, {kN, 2 * kM})),
        y = b.Parameter(Shape(DType::kF32, {kM, kN}));
  Value joined = b.Concatenate({b.Reshape(x, {2 * kN * kM}), b.Reshape(y, {kN * kM})}, 0);
  Value regrouped = b.Reshape(joined, {3, kM, kN});
  Value half = b.SliceDim(x, 1, 0, FloorDiv(2 * kM + Dim(1), 3), 1);
  Value padded = b.Pad(b.Neg(y), b.Scalar(DType::kF32, 2), {1, 0}, {2, 3});
  Value inner = b.Mul(b.Concatenate({x, half, x}, 1), b.Scalar(DType::kF32, 3));
  b.Return({b.Neg(regrouped), b.Exp(half), padded, b.Reverse(inner, {0, 1}),
            b.Reduce(inner, {1}, "add"), b.Iota(DType::kS32, {kN + kM, kM}, 0)});
  auto graph = b.Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  CheckSizes(**graph, PairsOf({{3, 5}, {1, 1}, {0, 4}, {4, 0}, {7, 16}, {2, 33}}),
             Tolerance::Relative(2e-6), MustBeSymbolic());
}

CONFORMANCE_TEST(SymbolicIndexing) {
  FuncBuilder b;
  Value table = b.Parameter(Shape(DType::kF32, {kM, 24}));
  Value ids = b.Parameter(Shape(DType::kS32, {kN, 3}));
  Value flat = b.Reshape(ids, {3 * kN, 1});
  Value rows = b.AddOne(ir::Op::kGather, {table, flat},
                        {{Attr::offset_dims, Ints{1}},
                         {Attr::collapsed_slice_dims, Ints{0}},
                         {Attr::start_index_map, Ints{0}},
                         {Attr::index_vector_dim, int64_t{1}},
                         {Attr::slice_sizes, ir::Dims{1, 24}}});
  Value start = b.Parameter(Shape(DType::kS32, {}));
  Value zero = b.Scalar(DType::kS32, 0);
  b.Return({rows, b.DynamicSlice(rows, {start, zero}, {kN, 24}),
            b.DynamicUpdateSlice(rows, b.Slice(rows, {0, 0}, {kN, 24}), {start, zero}),
            b.Cumulative(rows, 0, "add", false, true), b.Cumulative(rows, 1, "max", true, false)});
  auto graph = b.Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  CheckSizes(**graph, PairsOf({{2, 5}, {1, 1}, {0, 4}, {17, 9}}), Tolerance::Relative(1e-6),
             MustBeSymbolic());
}

// More sets of sizes than kernels are kept for.
CONFORMANCE_TEST(SymbolicSorting) {
  FuncBuilder b;
  Value x = b.Parameter(Shape(DType::kF32, {kN, kM}));
  std::vector<Value> results = b.AddMulti(ir::Op::kTopK, {x}, {{Attr::k, int64_t{2}}});
  for (Value v :
       b.AddMulti(ir::Op::kSort, {x}, {{Attr::dimension, int64_t{0}}, {Attr::descending, false}})) {
    results.push_back(v);
  }
  b.Return(results);
  auto graph = b.Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  CheckSizes(**graph,
             PairsOf({{2, 5},
                      {1, 2},
                      {0, 4},
                      {3, 16},
                      {5, 3},
                      {7, 7},
                      {9, 2},
                      {4, 9},
                      {2, 8},
                      {2, 5},
                      {3, 600},
                      {700, 3}}),
             {}, MustBeSymbolic());
}

CONFORMANCE_TEST(SymbolicConvolutions) {
  for (int64_t groups : {1, 8}) {
    for (int64_t stride : {1, 2}) {
      for (int64_t pad : {0, 1}) {
        SCOPED_TRACE(absl::StrCat(groups, " groups, stride ", stride, ", padding ", pad));
        FuncBuilder b;
        Value x = b.Parameter(Shape(DType::kF32, {kN, kM, kM + Dim(1), 8}));
        Value w = Weight(b, Shape(DType::kF32, {3, 3, 8 / groups, 8}));
        FuncBuilder::ConvOptions options;
        options.strides = {stride, stride};
        options.low = options.high = {pad, pad};
        options.feature_groups = groups;
        Value y = b.Convolution(x, w, options);
        b.Return({b.Max(b.Add(y, b.Parameter(Shape(DType::kF32, {8}))), b.FullLike(y, 0))});
        auto graph = b.Build();
        ASSERT_TRUE(graph.ok()) << graph.status();
        CheckSizes(**graph, PairsOf({{2, 5}, {1, 3}, {0, 4}, {3, 17}, {1, 30}}),
                   Tolerance::Relative(1e-6), MustBeSymbolic());
      }
    }
  }
}

// Of images of unknown number, and of unknown sizes: what a filter of 3x3 reads has 2 pixels more.
CONFORMANCE_TEST(SymbolicFilterGradients) {
  for (int64_t groups : {1, 2, 8, 16}) {
    for (bool any_size : {false, true}) {
      for (int64_t stride : {1, 2}) {
        SCOPED_TRACE(
            absl::StrCat(groups, " groups, ", any_size ? "any" : "one", " size, stride ", stride));
        FuncBuilder b;
        const Dim size = any_size ? kM : Dim(6);
        const Dim reach = ops::Dilated(size, stride) + Dim(2);
        Value x = b.Parameter(Shape(DType::kF32, {kN, reach, reach, std::max<int64_t>(groups, 8)}));
        Value dy = b.Parameter(Shape(DType::kF32, {kN, size, size, 16}));
        FuncBuilder::ConvOptions options;
        options.input_layout = "f01b";
        options.kernel_layout = "i01o";
        options.output_layout = "01bf";
        options.rhs_dilation = {stride, stride};
        options.batch_groups = groups;
        Value df = b.Convolution(x, dy, options);
        ASSERT_EQ(df.shape(), Shape(DType::kF32, {3, 3, std::max<int64_t>(8 / groups, 1), 16}));
        b.Return({df});
        auto graph = b.Build();
        ASSERT_TRUE(graph.ok()) << graph.status();
        CheckSizes(**graph, PairsOf({{2, 5}, {1, 1}, {0, 4}, {3, 17}, {7, 0}}),
                   Tolerance::Relative(1e-6), MustBeSymbolic());
      }
    }
  }
}

// The last tile of a block holds any number of rows: it wrote into the sums of another row, where
// it held fewer than it has room for and the number of images was not known.
CONFORMANCE_TEST(SymbolicFilterGradientsOfAnyRows) {
  for (int64_t channels : {1, 3, 5, 6}) {
    SCOPED_TRACE(absl::StrCat(channels, " channels"));
    FuncBuilder b;
    const Dim two_more = kM + Dim(2);
    Value x = b.Parameter(Shape(DType::kF32, {kN, two_more, kM + Dim(1), two_more, channels}));
    Value dy = b.Parameter(Shape(DType::kF32, {kN, kM, kM, kM, 8}));
    FuncBuilder::ConvOptions options;
    options.input_layout = "f012b";
    options.kernel_layout = "i012o";
    options.output_layout = "012bf";
    b.Return({b.Convolution(x, dy, options)});
    auto graph = b.Build();
    ASSERT_TRUE(graph.ok()) << graph.status();
    CheckSizes(**graph, PairsOf({{2, 7}, {1, 1}, {3, 4}}), Tolerance::Relative(1e-6),
               MustBeSymbolic());
  }
}

// One query against a cache of any length, and any number of them, of which one has code of its
// own.
CONFORMANCE_TEST(SymbolicQueries) {
  for (const Dim& queries : {Dim(1), Dim(3), kN}) {
    SCOPED_TRACE(queries.ToString());
    FuncBuilder b;
    Value q = b.Parameter(Shape(DType::kF32, {2, 3, queries, 20}));
    Value p = b.Parameter(Shape(DType::kF32, {2, 3, queries, kM}));
    Value keys = b.Parameter(Shape(DType::kF32, {2, 3, kM, 20}));
    Value spread = b.Parameter(Shape(DType::kF32, {2, kM, 3, 20}));
    Value turned = b.Parameter(Shape(DType::kF32, {2, 3, 20, kM}));
    Value scores = b.DotGeneral(q, spread, {{0, 1}, {0, 2}, {3}, {3}, {}, {}});
    b.Return({b.DotGeneral(q, keys, {{0, 1}, {0, 1}, {3}, {3}, {}, {}}),
              b.Mul(scores, b.Parameter(scores.shape())),
              b.DotGeneral(p, keys, {{0, 1}, {0, 1}, {3}, {2}, {}, {}}),
              b.DotGeneral(p, spread, {{0, 1}, {0, 2}, {3}, {1}, {}, {}}),
              b.DotGeneral(p, turned, {{0, 1}, {0, 1}, {3}, {3}, {}, {}}),
              b.DotGeneral(q, turned, {{0, 1}, {0, 1}, {3}, {2}, {}, {}})});
    auto graph = b.Build();
    ASSERT_TRUE(graph.ok()) << graph.status();
    CheckSizes(**graph, PairsOf({{1, 33}, {1, 1}, {5, 16}, {0, 4}, {1, 0}, {2, 7}, {1, 300}}),
               Tolerance::Relative(1e-6), MustBeSymbolic());
  }
}

// Terms that count as many, in pieces whose number a call tells: of columns, whose neighbours are
// read at once or not, and of rows.
CONFORMANCE_TEST(SymbolicSumsInPieces) {
  for (int64_t columns : {1, 6, 16}) {
    FuncBuilder b;
    Value x = b.Parameter(Shape(DType::kF32, {kN, kM, columns}));
    Value y = b.Parameter(Shape(DType::kF32, {kN, kM, 1}));
    Value product = b.Mul(x, b.BroadcastTo(y, {kN, kM, columns}));
    Value sum = b.Reduce(x, {0, 1}, "add"), both = b.Reduce(product, {0, 1}, "add");
    b.Return({b.Div(sum, both), both, b.Reduce(b.Neg(x), {0, 1}, "max"),
              b.Reduce(x, {0, 1, 2}, "add"), b.Reduce(x, {0}, "add"), b.Reduce(x, {1, 2}, "min")});
    auto graph = b.Build();
    ASSERT_TRUE(graph.ok()) << graph.status();
    CheckSizes(**graph, PairsOf({{2, 5}, {1, 1}, {0, 3}, {3, 700}, {129, 17}, {1, 8192}}),
               Tolerance::Relative(1e-6), MustBeSymbolic());
  }
}

// Sums of floats end a block here, and other reductions go on.
CONFORMANCE_TEST(SymbolicSumsOfManyBlocks) {
  FuncBuilder b;
  Value x = b.Parameter(Shape(DType::kF32, {kN, kM}));
  Value sum = b.Reduce(x, {1}, "add"), most = b.Reduce(x, {1}, "max");
  b.Return({b.Mul(sum, most), most, b.Reduce(b.Mul(x, x), {1}, "add")});
  auto graph = b.Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  CheckSizes(**graph, PairsOf({{2, 3}, {1, 131072}, {2, 131073}, {1, 400000}}),
             Tolerance::Relative(1e-6), MustBeSymbolic());
}

CONFORMANCE_TEST(SymbolicPooling) {
  for (const char* reducer : {"max", "add"}) {
    FuncBuilder b;
    Value x = b.Parameter(Shape(DType::kF32, {kN, kM, kM, 5}));
    ops::WindowDims window;
    window.window = {1, 3, 2, 1};
    window.strides = {1, 2, 1, 1};
    window.low = {0, 1, 0, 0};
    window.high = {0, 1, 1, 0};
    b.Return({b.ReduceWindow(x, reducer, window)});
    auto graph = b.Build();
    ASSERT_TRUE(graph.ok()) << graph.status();
    CheckSizes(**graph, PairsOf({{2, 5}, {1, 2}, {0, 4}, {3, 16}}), Tolerance::Relative(1e-6),
               MustBeSymbolic());
  }
}

}  // namespace
}  // namespace tektite::testing
