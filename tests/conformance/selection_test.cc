// compact, nonzero, unique.  Rows behind those that count are not defined, so the test replaces
// them before it compares.
#include <limits>

#include "tests/conformance/harness.h"

namespace tektite::testing {
namespace {

using ir::Attr;
using ir::Dims;
using ir::DType;
using ir::Literal;
using ir::Op;
using ir::Value;
using ops::FuncBuilder;
using Ints = std::vector<int64_t>;

// Rows that do not count become zero.
Value Counting(FuncBuilder& b, Value rows, Value count) {
  const Dims& dims = rows.shape().dims();
  Value counts = b.Compare(b.Iota(DType::kS64, dims, 0), b.BroadcastTo(count, dims), "lt");
  return b.Select(counts, rows, b.FullLike(rows, 0));
}

// Some hundred in a row that are false, and then many that are true.
Value Mask(FuncBuilder& b, Value x) { return b.Compare(x, b.FullLike(x, 0.5), "gt"); }

CONFORMANCE_TEST(Compact) {
  for (DType dtype : {DType::kBool, DType::kBF16, DType::kF32, DType::kS64}) {
    for (const Ints& sizes :
         {Ints{37}, Ints{37, 5}, Ints{8, 2, 3}, Ints{1}, Ints{0, 3}, Ints{5, 0}}) {
      FuncBuilder b;
      Value x = b.Parameter(Of(dtype, sizes)), m = b.Parameter(Of(DType::kF32, {sizes[0]}));
      const std::vector<Value> r = b.AddMulti(Op::kCompact, {Mask(b, m), x});
      b.Return({Counting(b, r[0], r[1]), r[1]});
      Check(b);
    }
  }
}

CONFORMANCE_TEST(Nonzero) {
  for (const Ints& sizes :
       {Ints{37}, Ints{3, 11}, Ints{2, 9, 17}, Ints{1, 1}, Ints{4, 0}, Ints{}}) {
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, sizes));
    const std::vector<Value> r = b.AddMulti(Op::kNonzero, {Mask(b, x)});
    b.Return({Counting(b, r[0], r[1]), r[1]});
    Check(b);
  }
}

CONFORMANCE_TEST(NonzeroOfMasksThatAreAllTheSame) {
  for (bool value : {false, true}) {
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kBool, {3, 20}));
    const std::vector<Value> r = b.AddMulti(Op::kNonzero, {x});
    b.Return({Counting(b, r[0], r[1]), r[1]});
    auto graph = b.Build();
    ASSERT_TRUE(graph.ok()) << graph.status();
    Literal mask = Literal::Allocate(DType::kBool, {3, 20});
    std::fill_n(mask.mutable_data<bool>(), 60, value);
    Check(**graph, {mask});
  }
}

// Masks that are worked on in pieces: dense, mixed and sparse.
CONFORMANCE_TEST(SelectionsOfManyElements) {
  constexpr int64_t kSize = 19 * 5177;
  for (int64_t every : {1, 2, 3, 100, 50000, 200000}) {
    Literal mask = Literal::Allocate(DType::kBool, {kSize});
    for (int64_t i = 0; i < kSize; ++i) {
      // Either one of `every`, or all but one of `every`.
      mask.mutable_data<bool>()[i] = ((i * 7919) % every == 0) != (every % 2 == 0);
    }
    for (DType dtype : {DType::kF32, DType::kS64}) {
      FuncBuilder b;
      Value m = b.Parameter(Of(DType::kBool, {kSize}));
      Value x = b.Iota(dtype, m.shape().dims(), 0);
      const std::vector<Value> r = b.AddMulti(Op::kCompact, {m, x});
      const std::vector<Value> places = b.AddMulti(Op::kNonzero, {m});
      const std::vector<Value> plane =
          b.AddMulti(Op::kNonzero, {b.Reshape(m, {ir::Dim(19), ir::Dim(kSize / 19)})});
      b.Return({Counting(b, r[0], r[1]), Counting(b, places[0], places[1]),
                Counting(b, plane[0], plane[1]), plane[1]});
      auto graph = b.Build();
      ASSERT_TRUE(graph.ok()) << graph.status();
      CompileOptions options;
      options.symbolic = false;
      Check(**graph, {mask}, {}, options);
    }
  }
}

CONFORMANCE_TEST(UniqueRows) {
  for (DType dtype : {DType::kU8, DType::kF32, DType::kS64}) {
    for (const Ints& sizes :
         {Ints{37, 2}, Ints{300, 1, 1}, Ints{9, 0}, Ints{0, 2}, Ints{20, 3, 2}}) {
      FuncBuilder b;
      Value x = b.Parameter(Of(dtype, sizes));
      const std::vector<Value> r = b.AddMulti(Op::kUnique, {x}, {{Attr::dtype, DType::kS32}});
      b.Return({Counting(b, r[0], r[3]), r[1], Counting(b, r[2], r[3]), r[3]});
      Check(b);
    }
  }
}

CONFORMANCE_TEST(IsMember) {
  for (DType dtype : {DType::kBool, DType::kU8, DType::kF32, DType::kS64}) {
    for (int64_t n : {0, 1, 37, 300}) {
      for (int64_t m : {0, 5}) {
        FuncBuilder b;
        Value x = b.Parameter(Of(dtype, {n})), y = b.Parameter(Of(dtype, {m}));
        b.Return({b.AddOne(Op::kIsMember, {x, y})});
        Check(b);
      }
    }
  }
}

// One value, which other kernels would take in as an immediate.
CONFORMANCE_TEST(SelectionsOfConstants) {
  FuncBuilder b;
  Value x = b.Parameter(Of(DType::kF32, {40})), mask = b.Parameter(Of(DType::kBool, {1}));
  Value one = b.Constant(Literal::FromVector<float>({1}, {1}));
  const std::vector<Value> r = b.AddMulti(Op::kCompact, {mask, one});
  b.Return({b.AddOne(Op::kIsMember, {b.AddOne(Op::kRoundEven, {x}), one}), Counting(b, r[0], r[1]),
            r[1]});
  Check(b);
}

// Boxes, some of which overlap, one in `wild` not finite; scores with ties.
std::vector<Literal> Boxes(int64_t n, int64_t wild, const std::vector<float>& limits) {
  Literal boxes = Literal::Allocate(DType::kF32, {n, 4});
  Literal scores = Literal::Allocate(DType::kF32, {n});
  const float odd[] = {std::numeric_limits<float>::quiet_NaN(), 1 / 0.0f, -1 / 0.0f, 3e38f};
  for (int64_t i = 0; i < n; ++i) {
    float* const box = boxes.mutable_data<float>() + 4 * i;
    for (int k = 0; k < 4; ++k) box[k] = static_cast<float>((i * 7919 + k * 104729) % 97) / 16;
    if (wild > 0 && i % wild == wild - 1) box[i % 4] = odd[i / wild % 4];
    scores.mutable_data<float>()[i] = static_cast<float>(i * 31 % 23) / 8 - 1;
    if (wild > 0 && i % 13 == 5) scores.mutable_data<float>()[i] = odd[i % 3];
  }
  return {boxes,
          scores,
          Literal::FromVector<int32_t>({}, {static_cast<int32_t>(limits[0])}),
          Literal::FromVector<float>({}, {limits[1]}),
          Literal::FromVector<float>({}, {limits[2]}),
          Literal::FromVector<float>({}, {limits[3]})};
}

CONFORMANCE_TEST(NonMaxSuppression) {
  // Interpreted, a thread has several boxes as well.
  const Ints counts = {0, 1, 40, is_gpu() ? 300 : 1500};
  for (int64_t n : counts) {
    for (int64_t wild : {0, 11, 1000}) {
      for (float most : {0.0f, 5.0f, 2000.0f}) {
        for (float overlap : {0.0f, 0.4f, 1.0f}) {
          for (float sigma : {0.0f, 0.5f}) {
            if (sigma > 0 && overlap > 0) continue;  // it does not count then
            FuncBuilder b;
            std::vector<Value> in = {b.Parameter(Of(DType::kF32, {n, 4})),
                                     b.Parameter(Of(DType::kF32, {n})),
                                     b.Parameter(Of(DType::kS32, {}))};
            for (int i = 0; i < 3; ++i) in.push_back(b.Parameter(Of(DType::kF32, {})));
            const std::vector<Value> r =
                b.AddMulti(Op::kNonMaxSuppression, in, {{Attr::shape, Dims{ir::Dim(n)}}});
            b.Return({Counting(b, r[0], r[2]), Counting(b, r[1], r[2]), r[2]});
            auto graph = b.Build();
            ASSERT_TRUE(graph.ok()) << graph.status();
            CompileOptions options;
            options.symbolic = false;
            Check(**graph, Boxes(n, wild, {most, overlap, -0.5f, sigma}), {}, options);
          }
        }
      }
    }
  }
}

CONFORMANCE_TEST(Unique) {
  for (DType dtype :
       {DType::kBool, DType::kU8, DType::kS64, DType::kF16, DType::kF32, DType::kF64}) {
    for (DType numbers : {DType::kS32, DType::kS64}) {
      for (int64_t n : {0, 1, 37, 1000}) {
        FuncBuilder b;
        Value x = b.Parameter(Of(dtype, {n}));
        const std::vector<Value> r = b.AddMulti(Op::kUnique, {x}, {{Attr::dtype, numbers}});
        b.Return({Counting(b, r[0], r[3]), r[1], Counting(b, r[2], r[3]), r[3]});
        Check(b);
      }
    }
  }
}

// More values than the table begins with, and results that nothing reads.
CONFORMANCE_TEST(UniqueOfManyValues) {
  FuncBuilder b;
  Value x = b.Parameter(Of(DType::kF32, {5000}));
  const std::vector<Value> r = b.AddMulti(Op::kUnique, {x}, {{Attr::dtype, DType::kS32}});
  b.Return({Counting(b, r[0], r[3])});
  auto graph = b.Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  Literal values = Literal::Allocate(DType::kF32, {5000});
  for (int64_t i = 0; i < 5000; ++i) {
    values.mutable_data<float>()[i] = static_cast<float>(i * 7919 % 3001) / 8;
  }
  Check(**graph, {values});
}

CONFORMANCE_TEST(UniqueOfNaNAndZeros) {
  FuncBuilder b;
  Value x = b.Parameter(Of(DType::kF32, {6}));
  const std::vector<Value> r = b.AddMulti(Op::kUnique, {x}, {{Attr::dtype, DType::kS32}});
  b.Return({Counting(b, r[0], r[3]), r[1], r[3]});
  auto graph = b.Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Check(**graph, {Literal::FromVector<float>({6}, {nan, 0, -0.0f, nan, 1, 0})});
}

}  // namespace
}  // namespace tektite::testing
