// compact, nonzero, unique.  What lies behind the rows that count is not defined, so it is replaced
// before it is compared.
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

// More values than the table begins with, and results that nobody reads.
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
