// gather, scatter, cumulative, sort and similar ops.
#include <memory>
#include <utility>

#include "tests/conformance/harness.h"

namespace tektite::testing {
namespace {

using ir::Attr;
using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::Literal;
using ir::Op;
using ir::Value;
using ops::FuncBuilder;
using Ints = std::vector<int64_t>;

CONFORMANCE_TEST(GatherRows) {
  for (DType index : {DType::kS32, DType::kS64, DType::kU8}) {
    for (int64_t d : {1, 5, 16, 33}) {
      FuncBuilder b;
      Value x = b.Parameter(Of(DType::kF32, {9, d})), i = b.Parameter(Of(index, {3, 4, 1}));
      // Indices run beyond both ends and are clamped.
      Value g = b.AddOne(Op::kGather, {x, i},
                         {{Attr::offset_dims, Ints{2}},
                          {Attr::collapsed_slice_dims, Ints{0}},
                          {Attr::start_index_map, Ints{0}},
                          {Attr::index_vector_dim, int64_t{2}},
                          {Attr::slice_sizes, Dims{Dim(1), Dim(d)}}});
      b.Return({g, b.Neg(b.Add(g, g))});
      Check(b);
    }
  }
}

CONFORMANCE_TEST(GatherElementsAndColumns) {
  FuncBuilder b;
  Value x = b.Parameter(Of(DType::kF32, {7, 20})), i = b.Parameter(Of(DType::kS32, {2, 18}));
  Value pairs = b.Parameter(Of(DType::kS32, {21, 2}));
  Value elements = b.AddOne(Op::kGather, {x, pairs},
                            {{Attr::offset_dims, Ints{}},
                             {Attr::collapsed_slice_dims, Ints{0, 1}},
                             {Attr::start_index_map, Ints{1, 0}},
                             {Attr::index_vector_dim, int64_t{1}},
                             {Attr::slice_sizes, Dims{Dim(1), Dim(1)}}});
  Value columns = b.AddOne(Op::kGather, {b.Neg(x), i},
                           {{Attr::offset_dims, Ints{0}},
                            {Attr::collapsed_slice_dims, Ints{1}},
                            {Attr::start_index_map, Ints{1}},
                            {Attr::index_vector_dim, int64_t{2}},
                            {Attr::slice_sizes, Dims{Dim(7), Dim(1)}}});
  Value windows = b.AddOne(Op::kGather, {x, pairs},
                           {{Attr::offset_dims, Ints{1, 2}},
                            {Attr::collapsed_slice_dims, Ints{}},
                            {Attr::start_index_map, Ints{0, 1}},
                            {Attr::index_vector_dim, int64_t{1}},
                            {Attr::slice_sizes, Dims{Dim(3), Dim(17)}}});
  b.Return({elements, columns, windows, b.Add(windows, windows)});
  Check(b);
}

CONFORMANCE_TEST(ScatterRows) {
  for (const char* reducer : {"add", "max", "min", "mul", "replace"}) {
    for (int64_t d : {1, 19}) {
      FuncBuilder b;
      Value x = b.Parameter(Of(DType::kF32, {9, d})), i = b.Parameter(Of(DType::kS32, {30, 1}));
      Value u = b.Parameter(Of(DType::kF32, {30, d}));
      Value s = b.AddOne(Op::kScatter, {x, i, u},
                         {{Attr::offset_dims, Ints{1}},
                          {Attr::collapsed_slice_dims, Ints{0}},
                          {Attr::scatter_dims_to_operand_dims, Ints{0}},
                          {Attr::index_vector_dim, int64_t{1}},
                          {Attr::reducer, std::string(reducer)}});
      b.Return({b.Neg(s), x});
      Check(b, Tolerance::Relative(1e-6));
    }
  }
}

// Enough work for several chunks, each of which applies the updates of its own rows in their order;
// some indices lie outside.  The result begins as one value, or as what is in memory.
CONFORMANCE_TEST(ScatterManyRows) {
  constexpr int64_t kRows = 700, kUpdates = 3000;
  for (const char* reducer : {"add", "replace"}) {
    for (int variant = 0; variant < 3; ++variant) {
      SCOPED_TRACE(absl::StrCat(reducer, " variant ", variant));
      FuncBuilder b;
      Value i = b.Parameter(Of(DType::kS32, {kUpdates, 1}));
      Value u = b.Parameter(Of(DType::kF32, {kUpdates, 19}));
      Value x = b.Full(DType::kF32, 0, {kRows, 19});
      if (variant == 1) x = b.Parameter(Of(DType::kF32, {kRows, 19}));
      if (variant == 2) {
        x = b.BroadcastInDim(b.Parameter(Of(DType::kF32, {})), {Dim(kRows), Dim(19)}, {});
      }
      b.Return({b.AddOne(Op::kScatter, {x, i, u},
                         {{Attr::offset_dims, Ints{1}},
                          {Attr::collapsed_slice_dims, Ints{0}},
                          {Attr::scatter_dims_to_operand_dims, Ints{0}},
                          {Attr::index_vector_dim, int64_t{1}},
                          {Attr::reducer, std::string(reducer)}})});
      auto graph = b.Build();
      ASSERT_TRUE(graph.ok()) << graph.status();
      std::vector<ir::Literal> inputs = PlainInputs(**graph, 5);
      for (int64_t k = 0; k < kUpdates; ++k) {
        inputs[0].mutable_data<int32_t>()[k] = static_cast<int32_t>(k * 7919 % (kRows + 4) - 2);
      }
      Check(**graph, inputs, Tolerance::Relative(1e-6));
    }
  }
}

// An optimizer's step on rows: (w, m) -> (w - rate * (m + g)^2, m + g), in the order of the
// updates.
std::vector<Value> UpdateRows(FuncBuilder& b, DType dtype, const Dims& dims, int64_t updates,
                              DType index) {
  Dims update_dims = dims;
  update_dims[0] = updates;
  const Value w = b.Parameter(ir::Shape(dtype, dims)), m = b.Parameter(ir::Shape(dtype, dims));
  const Value i = b.Parameter(Of(index, {updates}));
  const Value g = b.Parameter(ir::Shape(dtype, update_dims));
  const Value rate = b.Parameter(ir::Shape(dtype, Dims()));
  FuncBuilder rule("rule");
  std::vector<Value> p;
  for (int k = 0; k < 4; ++k) p.push_back(rule.Parameter(ir::Shape(dtype, Dims())));
  const Value sum = rule.Add(p[1], p[2]);
  rule.Return({rule.Sub(p[0], rule.Mul(p[3], rule.Mul(sum, sum))), sum});
  std::vector<std::unique_ptr<ir::Graph>> regions;
  regions.push_back(std::move(*rule.Build()));
  return b.AddMulti(Op::kUpdateRows, {w, m, i, g, rate}, {}, std::move(regions));
}

// Equal indices meet, and indices outside are left out.
CONFORMANCE_TEST(UpdateRows) {
  for (DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
    for (int64_t width : {-1, 1, 19, 64}) {
      for (int64_t updates : {0, 1, 30}) {
        SCOPED_TRACE(absl::StrCat(ir::DTypeName(dtype), " ", width, " ", updates));
        FuncBuilder b;
        const Dims dims = width < 0 ? Dims{Dim(9)} : Dims{Dim(9), Dim(width)};
        const std::vector<Value> all =
            UpdateRows(b, dtype, dims, updates, updates == 1 ? DType::kS64 : DType::kS32);
        b.Return({all[0], all[1]});
        Check(b, Tolerance::Relative(dtype == DType::kBF16 ? 0.1 : 1e-5));
      }
    }
  }
}

// Several chunks, each of which takes the updates of its own rows.
CONFORMANCE_TEST(UpdateManyRows) {
  constexpr int64_t kRows = 700, kUpdates = 2000;
  FuncBuilder b;
  const std::vector<Value> all =
      UpdateRows(b, DType::kF32, {Dim(kRows), Dim(19)}, kUpdates, DType::kS32);
  b.Return({all[0], all[1]});
  auto graph = b.Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::vector<ir::Literal> inputs = PlainInputs(**graph, 5);
  for (int64_t k = 0; k < kUpdates; ++k) {
    inputs[2].mutable_data<int32_t>()[k] = static_cast<int32_t>(k * 7919 % (kRows + 4) - 2);
  }
  Check(**graph, inputs, Tolerance::Relative(1e-5));
}

CONFORMANCE_TEST(ScatterElementsAndWindows) {
  FuncBuilder b;
  Value x = b.Parameter(Of(DType::kS32, {7, 20})), pairs = b.Parameter(Of(DType::kS64, {40, 2}));
  Value u = b.Parameter(Of(DType::kS32, {40})), w = b.Parameter(Of(DType::kS32, {40, 2, 5}));
  Value elements = b.AddOne(Op::kScatter, {x, pairs, u},
                            {{Attr::offset_dims, Ints{}},
                             {Attr::collapsed_slice_dims, Ints{0, 1}},
                             {Attr::scatter_dims_to_operand_dims, Ints{1, 0}},
                             {Attr::index_vector_dim, int64_t{1}},
                             {Attr::reducer, std::string("add")}});
  Value windows = b.AddOne(Op::kScatter, {x, pairs, w},
                           {{Attr::offset_dims, Ints{1, 2}},
                            {Attr::collapsed_slice_dims, Ints{}},
                            {Attr::scatter_dims_to_operand_dims, Ints{0, 1}},
                            {Attr::index_vector_dim, int64_t{1}},
                            {Attr::reducer, std::string("max")}});
  b.Return({elements, windows});
  Check(b);
}

CONFORMANCE_TEST(Cumulative) {
  for (const char* reducer : {"add", "mul", "max", "min"}) {
    for (int dimension : {0, 1, 2}) {
      FuncBuilder b;
      Value x = b.Parameter(Of(DType::kF32, {3, 18, 37}));
      Value s = b.Parameter(Of(DType::kS64, {3, 18, 37}));
      std::vector<Value> out;
      for (bool exclusive : {false, true}) {
        for (bool reverse : {false, true}) {
          out.push_back(b.Cumulative(x, dimension, reducer, exclusive, reverse));
          out.push_back(b.Cumulative(s, dimension, reducer, exclusive, reverse));
        }
      }
      b.Return(out);
      Check(b, Tolerance::Relative(1e-5));
    }
  }
}

// Lines that are cut into pieces, of which the last ones are not full.
CONFORMANCE_TEST(CumulativeOfLongLines) {
  struct Case {
    Ints sizes;
    int dimension;
  };
  for (const Case& c : {Case{{2, 9001}, 1}, {{2, 700, 3}, 1}, {{5000}, 0}}) {
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, c.sizes)), s = b.Parameter(Of(DType::kS64, c.sizes));
    b.Return({b.Cumulative(x, c.dimension, "add", false, false),
              b.Cumulative(x, c.dimension, "max", true, true),
              b.Cumulative(s, c.dimension, "add", true, false),
              b.Cumulative(s, c.dimension, "mul", false, true)});
    Check(b, Tolerance::Relative(1e-6));
  }
}

// argmax as TensorFlow means it: the first of equal ones.
Value ArgExtreme(FuncBuilder& b, Value x, int64_t dimension, const char* direction) {
  FuncBuilder r("argmax");
  const DType dtype = x.dtype();
  Value v1 = r.Parameter(Of(dtype, {})), i1 = r.Parameter(Of(DType::kS64, {}));
  Value v2 = r.Parameter(Of(dtype, {})), i2 = r.Parameter(Of(DType::kS64, {}));
  Value better = r.Compare(v1, v2, direction), same = r.Compare(v1, v2, "eq");
  Value first = r.Binary(Op::kOr, better, r.Binary(Op::kAnd, same, r.Compare(i1, i2, "lt")));
  r.Return({r.Select(first, v1, v2), r.Select(first, i1, i2)});
  std::vector<std::unique_ptr<ir::Graph>> regions;
  regions.push_back(*r.Build());
  Value index = b.Iota(DType::kS64, x.shape().dims(), static_cast<int>(dimension));
  Value lowest =
      b.Constant(direction[0] == 'g' ? Literal::LowestOf(dtype) : Literal::HighestOf(dtype));
  return b.AddMulti(Op::kReduce, {x, index, lowest, b.Scalar(DType::kS64, 0)},
                    {{Attr::dimensions, Ints{dimension}}}, std::move(regions))[1];
}

// Rows that several warps share.
CONFORMANCE_TEST(ReductionsOfLongRowsWithARegion) {
  for (int64_t length : {1025, 5000}) {
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, {3, length}));
    b.Return({ArgExtreme(b, x, 1, "gt"), ArgExtreme(b, x, 1, "lt")});
    Check(b);
  }
}

CONFORMANCE_TEST(ReductionsWithARegion) {
  for (DType dtype : {DType::kF32, DType::kS32, DType::kF64}) {
    FuncBuilder b;
    Value x = b.Parameter(Of(dtype, {5, 23, 9}));
    b.Return({ArgExtreme(b, x, 0, "gt"), ArgExtreme(b, x, 1, "gt"), ArgExtreme(b, x, 2, "lt")});
    Check(b);
  }
}

}  // namespace
}  // namespace tektite::testing
