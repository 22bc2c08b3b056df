// Attention: softmax(scale * query x key + mask) x value as one kernel.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/conformance/harness.h"

namespace tektite::testing {
namespace {

using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::Literal;
using ir::Op;
using ir::Value;
using ops::DotDims;
using ops::FuncBuilder;

Value Softmax(FuncBuilder& b, Value x) {
  const int last = x.shape().rank() - 1;
  Value e = b.Exp(b.Sub(x, b.ReduceKeep(x, {last}, "max")));
  return b.Div(e, b.ReduceKeep(e, {last}, "add"));
}

struct Case {
  int64_t batch, heads, rows, keys, width, columns;
  friend std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << c.batch << "x" << c.heads << " heads, " << c.rows << " rows, " << c.keys
               << " keys, " << c.width << " -> " << c.columns;
  }
};

// [batch, length, heads, width] operands and result, as projections leave and want them.
Value Attend(FuncBuilder& b, Value q, Value k, Value v, Value mask = {}) {
  Value s = b.DotGeneral(q, k, {{0, 2}, {0, 2}, {3}, {3}, {}, {}});
  s = b.Mul(s, b.Scalar(DType::kF32, 0.125));
  if (mask) s = b.Add(s, mask);
  Value o = b.DotGeneral(Softmax(b, s), v, {{0, 1}, {0, 2}, {3}, {1}, {}, {}});
  return b.Transpose(o, {0, 2, 1, 3});
}

struct Operands {
  Value q, k, v;
};
Operands Parameters(FuncBuilder& b, const Case& c) {
  return {b.Parameter(Of(DType::kF32, {c.batch, c.rows, c.heads, c.width})),
          b.Parameter(Of(DType::kF32, {c.batch, c.keys, c.heads, c.width})),
          b.Parameter(Of(DType::kF32, {c.batch, c.keys, c.heads, c.columns}))};
}

const Case kCases[] = {{1, 1, 5, 1, 1, 1},       {1, 2, 7, 3, 5, 6},       {2, 3, 12, 16, 16, 16},
                       {1, 1, 13, 31, 8, 33},    {1, 2, 25, 33, 64, 48},   {1, 1, 50, 197, 64, 64},
                       {2, 2, 128, 128, 64, 64}, {1, 1, 61, 300, 20, 70},  {1, 1, 260, 40, 16, 8},
                       {1, 1, 9, 385, 16, 16},   {1, 1, 30, 1000, 32, 17}, {3, 1, 5, 512, 256, 256},
                       {1, 2, 23, 700, 24, 32},  {1, 1, 8, 2500, 8, 16},   {1, 1, 6, 0, 8, 8},
                       {1, 0, 6, 8, 8, 8},       {0, 1, 6, 8, 8, 8}};

// Kernels of kind `attention` that the graph becomes: what is compared below is not three kernels.
int AttentionKernels(compiler::Compiler& compiler, const ir::Graph& graph) {
  std::unique_ptr<ir::Graph> copy = graph.Clone();
  EXPECT_TRUE(compiler.RunPasses(*copy, {}).ok());
  int count = 0;
  for (const auto& node : copy->nodes()) {
    count += node->IsFusion(ir::FusionKind::kAttention);
  }
  return count;
}

CONFORMANCE_TEST(AttentionOfEveryShape) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(::testing::PrintToString(c));
    FuncBuilder b;
    const Operands p = Parameters(b, c);
    b.Return({Attend(b, p.q, p.k, p.v)});
    // One key has all the weight.
    EXPECT_EQ(AttentionKernels(CompilerFor(true), *b.graph()), c.keys > 1 ? 1 : 0);
    Check(b, Tolerance::Relative(2e-6));
    if (HasFatalFailure()) return;
  }
}

// Masks are read where they lie, in any shape, or computed.
CONFORMANCE_TEST(AttentionWithMasks) {
  for (const Case& c :
       {Case{2, 2, 19, 37, 16, 16}, Case{1, 3, 50, 50, 8, 24}, Case{1, 1, 6, 400, 8, 8}}) {
    for (int kind = 0; kind < 5; ++kind) {
      SCOPED_TRACE(absl::StrCat(::testing::PrintToString(c), ", mask ", kind));
      FuncBuilder b;
      const Operands p = Parameters(b, c);
      const Dims space = {c.batch, c.heads, c.rows, c.keys};
      Value mask;
      if (kind == 0) {
        mask = b.Parameter(Of(DType::kF32, {c.batch, 1, 1, c.keys}));
      } else if (kind == 1) {
        mask = b.Parameter(Of(DType::kF32, {c.rows, c.keys}));
      } else if (kind == 2) {
        mask = b.Parameter(Of(DType::kF32, {c.batch, c.heads, c.rows, c.keys}));
      } else if (kind == 3) {  // causal
        Value late = b.Compare(b.Iota(DType::kS32, space, 3), b.Iota(DType::kS32, space, 2), "gt");
        mask = b.Select(late, b.Full(DType::kF32, -1e9, space), b.Full(DType::kF32, 0, space));
      } else {  // what is kept, as a mask of tf.keras
        Value kept =
            b.Convert(b.Parameter(Of(DType::kBool, {c.batch, 1, c.rows, c.keys})), DType::kF32);
        mask = b.Mul(b.Sub(b.Scalar(DType::kF32, 1), kept), b.Scalar(DType::kF32, -1e9));
      }
      b.Return({Attend(b, p.q, p.k, p.v, mask)});
      EXPECT_EQ(AttentionKernels(CompilerFor(true), *b.graph()), 1);
      Check(b, Tolerance::Relative(2e-6));
      if (HasFatalFailure()) return;
    }
  }
}

// Operands in other orders, and without a batch.
CONFORMANCE_TEST(AttentionOfEveryLayout) {
  const int64_t b0 = 2, h = 3, rows = 21, keys = 45, width = 20, columns = 36;
  const auto f32 = [](std::vector<int64_t> sizes) { return Of(DType::kF32, sizes); };
  struct Layout {
    ir::Shape q, k, v;
    DotDims scores, context;
  };
  const Layout layouts[] = {// [batch, heads, length, width]
                            {f32({b0, h, rows, width}),
                             f32({b0, h, keys, width}),
                             f32({b0, h, keys, columns}),
                             {{0, 1}, {0, 1}, {3}, {3}, {}, {}},
                             {{0, 1}, {0, 1}, {3}, {2}, {}, {}}},
                            // keys and values with their width before their length, queries too
                            {f32({b0, h, width, rows}),
                             f32({b0, h, width, keys}),
                             f32({b0, h, columns, keys}),
                             {{0, 1}, {0, 1}, {2}, {2}, {}, {}},
                             {{0, 1}, {0, 1}, {3}, {3}, {}, {}}},
                            // neither the keys' width nor their length innermost
                            {f32({rows, width, b0, h}),
                             f32({keys, width, b0, h}),
                             f32({keys, columns, b0, h}),
                             {{2, 3}, {2, 3}, {1}, {1}, {}, {}},
                             {{0, 1}, {2, 3}, {3}, {0}, {}, {}}},
                            // one product, of rows in two dimensions
                            {f32({3, 7, width}),
                             f32({keys, width}),
                             f32({keys, columns}),
                             {{}, {}, {2}, {1}, {}, {}},
                             {{}, {}, {2}, {0}, {}, {}}},
                            // keys that all heads share
                            {f32({b0, rows, h, width}),
                             f32({b0, keys, width}),
                             f32({b0, keys, columns}),
                             {{0}, {0}, {3}, {2}, {}, {}},
                             {{0}, {0}, {3}, {1}, {}, {}}}};
  int number = 0;
  for (const Layout& layout : layouts) {
    SCOPED_TRACE(number++);
    FuncBuilder b;
    Value q = b.Parameter(layout.q), k = b.Parameter(layout.k), v = b.Parameter(layout.v);
    Value s = b.Mul(b.DotGeneral(q, k, layout.scores), b.Scalar(DType::kF32, 0.2));
    b.Return({b.DotGeneral(Softmax(b, s), v, layout.context)});
    EXPECT_EQ(AttentionKernels(CompilerFor(true), *b.graph()), 1);
    Check(b, Tolerance::Relative(2e-6));
    if (HasFatalFailure()) return;
  }
}

// Results of a mask of -inf: a row without any key is NaN, blocks of keys without any are not.
CONFORMANCE_TEST(AttentionOfSpecialValues) {
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::nanf("");
  for (const Case& c : {Case{1, 2, 20, 40, 16, 16}, Case{1, 1, 13, 900, 8, 8}}) {
    SCOPED_TRACE(::testing::PrintToString(c));
    FuncBuilder b;
    const Operands p = Parameters(b, c);
    Value mask = b.Parameter(Of(DType::kF32, {c.rows, c.keys}));
    b.Return({Attend(b, p.q, p.k, p.v, mask)});
    std::vector<Literal> inputs = PlainInputs(*b.graph(), 3);
    float* m = inputs[3].mutable_data<float>();
    for (int64_t key = 0; key < c.keys; ++key) {
      m[key] = -kInf;                                  // nothing
      m[c.keys + key] = key < c.keys - 3 ? -kInf : 0;  // the last three
      m[2 * c.keys + key] = key > 2 ? -kInf : 0;       // the first three
      m[3 * c.keys + key] = key == c.keys / 2 ? kInf : 0;
      m[4 * c.keys + key] = key == c.keys - 1 ? kNan : 0;
      m[5 * c.keys + key] = key == 0 ? kNan : -kInf;
      m[6 * c.keys + key] = static_cast<float>(key) * 100 - 40000;  // weights that vanish
      m[7 * c.keys + key] = 3e38f;
      m[8 * c.keys + key] = key % 2 == 0 ? -3e38f : -kInf;
    }
    inputs[0].mutable_data<float>()[9 * c.heads * c.width] = kNan;  // a query
    Check(*b.graph(), inputs, Tolerance::Relative(2e-6));
    if (HasFatalFailure()) return;
    inputs = PlainInputs(*b.graph(), 3);
    inputs[2].mutable_data<float>()[c.columns] = kInf;  // a value: its column alone
    Check(*b.graph(), inputs, Tolerance::Relative(2e-6));
    if (HasFatalFailure()) return;
  }
}

// One kernel for every batch and length.
CONFORMANCE_TEST(AttentionOfUnknownSizes) {
  FuncBuilder b;
  const Dim batch = Dim::Symbol("b"), length = Dim::Symbol("n"), keys = Dim::Symbol("k");
  Value q = b.Parameter(ir::Shape(DType::kF32, {batch, length, 2, 24}));
  Value k = b.Parameter(ir::Shape(DType::kF32, {batch, keys, 2, 24}));
  Value v = b.Parameter(ir::Shape(DType::kF32, {batch, keys, 2, 16}));
  Value mask = b.Parameter(ir::Shape(DType::kF32, {batch, 1, 1, keys}));
  b.Return(
      {Attend(b, q, k, v,
              b.BroadcastInDim(b.Reshape(mask, {batch, keys}), {batch, 2, length, keys}, {0, 3}))});
  ASSERT_TRUE(b.status().ok()) << b.status();
  EXPECT_EQ(AttentionKernels(CompilerFor(true), *b.graph()), 1);
  CompileOptions options;
  options.must_be_symbolic = true;
  std::vector<SizeValues> sizes;
  for (auto [batches, rows, columns] : {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1},
                                        {2, 7, 31},
                                        {1, 140, 256},
                                        {3, 12, 257},
                                        {1, 5, 700},
                                        {0, 4, 4},
                                        {2, 0, 4},
                                        {2, 3, 0},
                                        {1, 23, 512}}) {
    sizes.push_back({{"b", batches}, {"n", rows}, {"k", columns}});
  }
  CheckSizes(*b.graph(), sizes, Tolerance::Relative(2e-6), options);
}

}  // namespace
}  // namespace tektite::testing
