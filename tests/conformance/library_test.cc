// Ops whose kernels are compiled with the back end: max pooling's gradient, sort, top_k.
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

struct PoolCase {
  Ints x, source, window, strides, low, high;
};

Value SelectAndScatter(FuncBuilder& b, DType dtype, const PoolCase& c) {
  Value x = b.Parameter(Of(dtype, c.x)), source = b.Parameter(Of(dtype, c.source));
  return b.AddOne(Op::kSelectAndScatter, {x, source},
                  {{Attr::window, c.window},
                   {Attr::strides, c.strides},
                   {Attr::low, c.low},
                   {Attr::high, c.high}});
}

CONFORMANCE_TEST(SelectAndScatter) {
  const PoolCase cases[] = {
      {{2, 8, 8, 70}, {2, 4, 4, 70}, {1, 2, 2, 1}, {1, 2, 2, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}},
      {{1, 7, 9, 3}, {1, 4, 5, 3}, {1, 3, 3, 1}, {1, 2, 2, 1}, {0, 1, 1, 0}, {0, 1, 1, 0}},
      // Channels first, and a window over everything.
      {{2, 3, 5, 6}, {2, 3, 3, 2}, {1, 1, 3, 3}, {1, 1, 1, 3}, {0, 0, 0, 0}, {0, 0, 0, 0}},
      {{4, 5}, {3, 4}, {2, 2}, {1, 1}, {0, 0}, {0, 0}},
      {{0, 4, 4, 2}, {0, 2, 2, 2}, {1, 2, 2, 1}, {1, 2, 2, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}},
      {{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}},
  };
  for (const PoolCase& c : cases) {
    for (DType dtype : {DType::kF32, DType::kF64, DType::kS32}) {
      FuncBuilder b;
      b.Return({SelectAndScatter(b, dtype, c)});
      Check(b, Tolerance::Ulps(1));
    }
  }
}

// One buffer is both operands then.
CONFORMANCE_TEST(SelectAndScatterOfOneOperand) {
  FuncBuilder b;
  Value x = b.Parameter(Of(DType::kF32, {3, 5}));
  b.Return({b.AddOne(Op::kSelectAndScatter, {x, x},
                     {{Attr::window, Ints{1, 1}},
                      {Attr::strides, Ints{1, 1}},
                      {Attr::low, Ints{0, 0}},
                      {Attr::high, Ints{0, 0}}})});
  Check(b);
}

CONFORMANCE_TEST(SelectAndScatterOfNaN) {
  FuncBuilder b;
  b.Return({SelectAndScatter(b, DType::kF32, {{6}, {3}, {2}, {2}, {0}, {0}})});
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = 1 / 0.0f;
  auto graph = b.Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  Check(**graph, {Literal::FromVector<float>({6}, {nan, 1, 2, nan, -inf, -inf}),
                  Literal::FromVector<float>({3}, {1, 2, 3})});
}

CONFORMANCE_TEST(SortWithCompanions) {
  for (bool descending : {false, true}) {
    for (int64_t dimension : {0, 1, 2}) {
      for (Ints sizes : {Ints{3, 37, 5}, Ints{1, 1, 1}, Ints{2, 0, 3}}) {
        FuncBuilder b;
        Value key = b.Parameter(Of(DType::kF32, sizes)), a = b.Parameter(Of(DType::kS8, sizes)),
              c = b.Parameter(Of(DType::kF64, sizes));
        b.Return(b.AddMulti(
            Op::kSort, {key, a, c},
            {{Attr::dimension, dimension}, {Attr::descending, descending}, {Attr::stable, true}}));
        Check(b);
      }
    }
  }
}

CONFORMANCE_TEST(TopK) {
  for (DType dtype : {DType::kF32, DType::kF64, DType::kS32, DType::kU8, DType::kS64}) {
    for (int64_t k : {0, 1, 4, 33}) {
      FuncBuilder b;
      Value x = b.Parameter(Of(dtype, {3, 5, 33}));
      b.Return(b.AddMulti(Op::kTopK, {x}, {{Attr::k, k}}));
      Check(b);
    }
  }
}

}  // namespace
}  // namespace tektite::testing
