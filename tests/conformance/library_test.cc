// Ops whose kernels are compiled with the back end: sort, top_k.
#include <limits>

#include "tests/conformance/harness.h"

namespace tektite::testing {
namespace {

using ir::Attr;
using ir::DType;
using ir::Literal;
using ir::Op;
using ir::Value;
using ops::FuncBuilder;
using Ints = std::vector<int64_t>;

CONFORMANCE_TEST(SortWithCompanions) {
  for (bool descending : {false, true}) {
    for (int64_t dimension : {0, 1, 2}) {
      for (Ints sizes : {Ints{3, 37, 5}, Ints{1, 1, 1}, Ints{2, 0, 3}}) {
        FuncBuilder b;
        Value key = b.Parameter(Of(DType::kF32, sizes)), a = b.Parameter(Of(DType::kS8, sizes)),
              c = b.Parameter(Of(DType::kF64, sizes));
        b.Return(b.AddMulti(Op::kSort, {key, a, c},
                            {{Attr::dimension, dimension}, {Attr::descending, descending}}));
        Check(b);
      }
    }
  }
}

CONFORMANCE_TEST(TopK) {
  for (DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kF16, DType::kS32, DType::kU8,
                      DType::kS64, DType::kU64}) {
    for (int64_t k : {0, 1, 4, 33}) {
      FuncBuilder b;
      Value x = b.Parameter(Of(dtype, {3, 5, 33}));
      b.Return(b.AddMulti(Op::kTopK, {x}, {{Attr::k, k}}));
      Check(b);
    }
  }
}

// In the order of a heap, which the reference has of the same algorithm; tests/importer compares it
// with TensorFlow.
CONFORMANCE_TEST(TopKOfAHeap) {
  for (DType dtype : {DType::kF32, DType::kBF16, DType::kU8, DType::kS64}) {
    for (int64_t k : {0, 1, 2, 9, 32, 33}) {
      FuncBuilder b;
      Value x = b.Parameter(Of(dtype, {3, 5, 33}));
      b.Return(b.AddMulti(Op::kTopK, {x}, {{Attr::k, k}, {Attr::heap, true}}));
      Check(b);
    }
  }
}

// Rows that are searched rather than sorted, most of whose elements are passed over in blocks.
CONFORMANCE_TEST(TopKOfLongRows) {
  for (DType dtype : {DType::kF32, DType::kS64, DType::kBF16}) {
    for (int64_t k : {1, 7, 700}) {
      FuncBuilder b;
      Value x = b.Parameter(Of(dtype, {2, 5003}));
      b.Return(b.AddMulti(Op::kTopK, {x}, {{Attr::k, k}}));
      CompileOptions options;
      options.symbolic = false;
      Check(b, {}, options);
    }
  }
}

// tf.sort is a top_k whose places nothing reads.
CONFORMANCE_TEST(TopKForOneOfItsResults) {
  for (int result : {0, 1}) {
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, {3, 33}));
    b.Return({b.AddMulti(Op::kTopK, {x}, {{Attr::k, int64_t{33}}})[result]});
    Check(b);
  }
}

// Any NaN is greater than every number, and equal to every NaN; both zeros are equal, too.
CONFORMANCE_TEST(TopKOfNaNAndZeros) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = 1 / 0.0f;
  const std::vector<float> some = {0, -0.0f, nan, 1, inf, -inf, -nan, 0, 1e-40f, -1, nan};
  for (int64_t n : {11, 1100}) {
    for (int64_t k : {1, 5, 11}) {
      FuncBuilder b;
      Value x = b.Parameter(Of(DType::kF32, {n}));
      b.Return(b.AddMulti(Op::kTopK, {x}, {{Attr::k, k}}));
      auto graph = b.Build();
      ASSERT_TRUE(graph.ok()) << graph.status();
      std::vector<float> values;
      for (int64_t i = 0; i < n; ++i) values.push_back(some[i % 11]);
      Check(**graph, {Literal::FromVector<float>({n}, values)});
    }
  }
}

// Lines that are sorted in pieces: values of which there are many, few, and one.
CONFORMANCE_TEST(SortLongLines) {
  constexpr int64_t kLength = 70001;
  for (int64_t values : {1, 3, 40000}) {
    for (bool descending : {false, true}) {
      FuncBuilder b;
      Value x = b.Parameter(Of(DType::kF32, {kLength}));
      Value places = b.Iota(DType::kS32, x.shape().dims(), 0);
      b.Return(b.AddMulti(Op::kSort, {x, places},
                          {{Attr::dimension, int64_t{0}}, {Attr::descending, descending}}));
      auto graph = b.Build();
      ASSERT_TRUE(graph.ok()) << graph.status();
      Literal x_values = Literal::Allocate(DType::kF32, {kLength});
      for (int64_t i = 0; i < kLength; ++i) {
        x_values.mutable_data<float>()[i] = static_cast<float>(i * 7919 % values) - 2;
      }
      CompileOptions options;
      options.symbolic = false;
      Check(**graph, {x_values}, {}, options);
    }
  }
}

}  // namespace
}  // namespace tektite::testing
