// Pooling and its gradients.
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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

CONFORMANCE_TEST(Pooling) {
  for (const char* reducer : {"max", "add", "min", "mul"}) {
    for (int64_t channels : {1, 5, 33}) {
      for (int variant = 0; variant < 4; ++variant) {
        SCOPED_TRACE(absl::StrCat(reducer, " ", channels, " variant ", variant));
        FuncBuilder b;
        Value x = b.Parameter(Of(DType::kF32, {2, 9, 8, channels}));
        ops::WindowDims w;
        w.window = {1, 3, 2, 1};
        if (variant >= 1) w.strides = {1, 2, 2, 1};
        if (variant == 2) {
          w.low = {0, 1, 0, 0};
          w.high = {0, 1, 1, 0};
        }
        if (variant == 3) {
          w.window = {2, 2, 1, channels > 2 ? 3 : 1};
          w.strides = {1, 1, 3, 2};
          w.low = {1, 0, 0, 2};
          w.high = {0, 2, 0, 1};
          w.window_dilation = {1, 2, 1, 1};
        }
        Value y = b.ReduceWindow(x, reducer, w);
        b.Return({b.Mul(y, b.FullLike(y, 0.5)), y});
        Check(b, Tolerance::Relative(1e-6));
      }
    }
  }
  {
    FuncBuilder b;  // padding behind the innermost dimension
    Value x = b.Parameter(Of(DType::kF32, {3, 7}));
    ops::WindowDims w;
    w.window = {2, 1};
    w.high = {0, 20};
    b.Return({b.ReduceWindow(x, "max", w), b.ReduceWindow(x, "add", w)});
    Check(b);
  }
  for (DType dtype : {DType::kBF16, DType::kF64, DType::kS32, DType::kU8}) {
    FuncBuilder b;
    Value x = b.Parameter(Of(dtype, {2, 7, 35}));
    ops::WindowDims w;
    w.window = {1, 3, 1};
    w.strides = {1, 2, 1};
    b.Return({b.ReduceWindow(x, "max", w), b.ReduceWindow(x, "add", w)});
    Check(b, Tolerance::Ulps(1));
  }
}

// The gradient of average pooling: an image that is spread out by strides.
CONFORMANCE_TEST(PoolingOfSpreadImage) {
  struct Case {
    Ints x, window, dilation, low, high;
  };
  const Case cases[] = {
      {{2, 6, 5, 33}, {1, 2, 2, 1}, {1, 2, 2, 1}, {0, 1, 1, 0}, {0, 1, 2, 0}},
      {{2, 6, 5, 3}, {1, 3, 3, 1}, {1, 2, 2, 1}, {0, 2, 1, 0}, {0, 2, 3, 0}},
      {{1, 3, 4, 8}, {1, 3, 3, 1}, {1, 3, 3, 1}, {0, 1, 2, 0}, {0, 2, 2, 0}},
      // Fewer elements in a window than between two of the image, and more of both.
      {{1, 4, 4, 8}, {1, 1, 1, 1}, {1, 2, 2, 1}, {0, 0, 0, 0}, {0, 1, 0, 0}},
      {{1, 4, 4, 8}, {1, 2, 2, 1}, {1, 5, 3, 1}, {0, 1, 1, 0}, {0, 4, 0, 0}},
      {{1, 2, 2, 8}, {1, 9, 8, 1}, {1, 9, 8, 1}, {0, 8, 7, 0}, {0, 8, 7, 0}},
      // The last dimension, one that keeps a window, and volumes.
      {{3, 7}, {2, 3}, {2, 2}, {1, 2}, {1, 2}},
      {{3, 7, 9}, {2, 3, 1}, {2, 1, 1}, {1, 1, 0}, {1, 1, 0}},
      {{1, 3, 2, 4, 5}, {1, 2, 2, 2, 1}, {1, 2, 2, 2, 1}, {0, 1, 1, 1, 0}, {0, 1, 1, 1, 0}},
      {{0, 3, 3, 4}, {1, 2, 2, 1}, {1, 2, 2, 1}, {0, 1, 1, 0}, {0, 1, 1, 0}},
  };
  for (const Case& c : cases) {
    for (DType dtype : {DType::kF32, DType::kF16}) {
      SCOPED_TRACE(absl::StrCat(ir::DTypeName(dtype), " ", absl::StrJoin(c.x, "x"), " ",
                                absl::StrJoin(c.window, "x")));
      FuncBuilder b;
      ops::WindowDims w;
      w.window = c.window;
      w.lhs_dilation = c.dilation;
      w.low = c.low;
      w.high = c.high;
      Value y = b.ReduceWindow(b.Parameter(Of(dtype, c.x)), "add", w);
      b.Return({b.Mul(y, b.FullLike(y, 0.25))});
      Check(b, Tolerance::Ulps(1));
    }
  }
}

// Windows along the innermost dimension, of which vectors take neighbours.
CONFORMANCE_TEST(PoolingOfRows) {
  for (int64_t length : {1, 7, 40, 333}) {
    for (int64_t stride : {1, 2, 5}) {
      for (int64_t low : {0, 2}) {
        SCOPED_TRACE(absl::StrCat(length, " stride ", stride, " low ", low));
        FuncBuilder b;
        Value x = b.Parameter(Of(DType::kF32, {3, length}));
        ops::WindowDims w;
        w.window = {1, 3};
        w.strides = {1, stride};
        w.low = {0, low};
        w.high = {0, 2};
        w.window_dilation = {1, low + 1};
        if (length + low + 2 < 2 * (low + 1) + 1) continue;
        b.Return({b.ReduceWindow(x, "max", w), b.ReduceWindow(x, "add", w)});
        Check(b, Tolerance::Ulps(1));
      }
    }
  }
}

struct PoolCase {
  Ints x, source, window, strides, low, high;
};

Value SelectAndScatter(FuncBuilder& b, Value x, Value source, const PoolCase& c) {
  return b.AddOne(Op::kSelectAndScatter, {x, source},
                  {{Attr::window, c.window},
                   {Attr::strides, c.strides},
                   {Attr::low, c.low},
                   {Attr::high, c.high}});
}

Value SelectAndScatter(FuncBuilder& b, DType dtype, const PoolCase& c) {
  Value x = b.Parameter(Of(dtype, c.x)), source = b.Parameter(Of(dtype, c.source));
  return SelectAndScatter(b, x, source, c);
}

// Inputs of a few different values, so that most windows have several greatest elements.
std::vector<Literal> TiedInputs(const ir::Graph& graph) {
  std::vector<Literal> inputs = PlainInputs(graph, 3);
  Literal& x = inputs[0];
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    x.mutable_data<float>()[i] = static_cast<float>(static_cast<int64_t>(x.data<float>()[i]) % 2);
  }
  return inputs;
}

const PoolCase kPoolCases[] = {
    {{2, 8, 8, 70}, {2, 4, 4, 70}, {1, 2, 2, 1}, {1, 2, 2, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}},
    // Elements that no window has, behind the last and between two.
    {{1, 11, 9, 32}, {1, 5, 3, 32}, {1, 2, 2, 1}, {1, 2, 3, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}},
    {{1, 7, 9, 3}, {1, 4, 5, 3}, {1, 3, 3, 1}, {1, 2, 2, 1}, {0, 1, 1, 0}, {0, 1, 1, 0}},
    {{2, 12, 10, 17}, {2, 5, 4, 17}, {1, 3, 3, 1}, {1, 2, 2, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}},
    {{1, 6, 5, 16}, {1, 6, 5, 16}, {1, 3, 3, 1}, {1, 1, 1, 1}, {0, 1, 1, 0}, {0, 1, 1, 0}},
    // Apart, and padded on one side.
    {{2, 7, 7, 20}, {2, 4, 4, 20}, {1, 2, 2, 1}, {1, 2, 2, 1}, {0, 0, 0, 0}, {0, 1, 1, 0}},
    {{1, 10, 10, 4}, {1, 4, 4, 4}, {1, 3, 3, 1}, {1, 3, 3, 1}, {0, 1, 1, 0}, {0, 1, 1, 0}},
    // Windows that hold padding alone.
    {{1, 3, 2, 5}, {1, 4, 3, 5}, {1, 2, 2, 1}, {1, 3, 3, 1}, {0, 5, 3, 0}, {0, 4, 3, 0}},
    // More elements than have code of their own, apart and overlapping.
    {{1, 14, 14, 9}, {1, 2, 2, 9}, {1, 7, 7, 1}, {1, 7, 7, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}},
    {{1, 13, 13, 9}, {1, 13, 13, 9}, {1, 9, 9, 1}, {1, 1, 1, 1}, {0, 4, 4, 0}, {0, 4, 4, 0}},
    // A sequence, long enough for several units of work.
    {{1, 1, 3000, 8}, {1, 1, 1499, 8}, {1, 1, 3, 1}, {1, 1, 2, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}},
    // Volumes.
    {{1, 6, 4, 8, 5},
     {1, 3, 2, 4, 5},
     {1, 2, 2, 2, 1},
     {1, 2, 2, 2, 1},
     {0, 0, 0, 0, 0},
     {0, 0, 0, 0, 0}},
    {{2, 5, 6, 7, 3},
     {2, 3, 3, 4, 3},
     {1, 3, 3, 3, 1},
     {1, 2, 2, 2, 1},
     {0, 1, 0, 1, 0},
     {0, 1, 1, 1, 0}},
    // Channels first, and a window over everything.
    {{2, 3, 5, 6}, {2, 3, 3, 2}, {1, 1, 3, 3}, {1, 1, 1, 3}, {0, 0, 0, 0}, {0, 0, 0, 0}},
    {{2, 3, 8, 40}, {2, 3, 4, 20}, {1, 1, 2, 2}, {1, 1, 2, 2}, {0, 0, 0, 0}, {0, 0, 0, 0}},
    {{4, 5}, {3, 4}, {2, 2}, {1, 1}, {0, 0}, {0, 0}},
    {{0, 4, 4, 2}, {0, 2, 2, 2}, {1, 2, 2, 1}, {1, 2, 2, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}},
    {{2, 4, 4, 0}, {2, 2, 2, 0}, {1, 3, 3, 1}, {1, 2, 2, 1}, {0, 1, 0, 0}, {0, 0, 1, 0}},
    {{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}},
    // Too few elements for any window.
    {{1, 2, 2, 3}, {1, 0, 0, 3}, {1, 3, 3, 1}, {1, 1, 1, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}},
};

CONFORMANCE_TEST(SelectAndScatter) {
  for (const PoolCase& c : kPoolCases) {
    for (DType dtype : {DType::kF32, DType::kBF16, DType::kF64, DType::kS32}) {
      const auto place = static_cast<size_t>(&c - kPoolCases) + static_cast<size_t>(dtype);
      if (dtype != DType::kF32 && !HasTurn(place)) continue;
      SCOPED_TRACE(absl::StrCat(ir::DTypeName(dtype), " ", absl::StrJoin(c.x, "x"), " ",
                                absl::StrJoin(c.window, "x")));
      FuncBuilder b;
      b.Return({SelectAndScatter(b, dtype, c)});
      Check(b, Tolerance::Ulps(1));
    }
  }
}

// The first of equal elements is chosen, and the mask of the ReLU before it, worked out in the same
// kernel, meets the right element.
CONFORMANCE_TEST(SelectAndScatterOfTies) {
  for (const PoolCase& c : kPoolCases) {
    SCOPED_TRACE(absl::StrCat(absl::StrJoin(c.x, "x"), " ", absl::StrJoin(c.window, "x")));
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, c.x)), source = b.Parameter(Of(DType::kF32, c.source));
    Value y = SelectAndScatter(b, x, source, c);
    b.Return({b.Select(b.Compare(x, b.FullLike(x, 0), "gt"), y, b.FullLike(x, 0))});
    auto graph = b.Build();
    ASSERT_TRUE(graph.ok()) << graph.status();
    Check(**graph, TiedInputs(**graph));
  }
}

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

// As TensorFlow's kernel for graphs: NaN is never chosen beside a number, and where there is none
// the first element is, as it is among elements that are all -inf.
CONFORMANCE_TEST(SelectAndScatterOfNaN) {
  FuncBuilder b;
  b.Return({SelectAndScatter(b, DType::kF32, {{12}, {6}, {2}, {2}, {0}, {0}})});
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = 1 / 0.0f;
  auto graph = b.Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto x =
      Literal::FromVector<float>({12}, {nan, 1, 2, nan, -inf, -inf, nan, nan, -inf, nan, 0, -0.0f});
  const auto dy = Literal::FromVector<float>({6}, {1, 2, 3, 4, 5, 6});
  Check(**graph, {x, dy});
  auto got = CompileAndRun(**graph, {x, dy});
  if (IsRefusal(got.status())) return;
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(Difference((*got)[0],
                       Literal::FromVector<float>({12}, {0, 1, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0}), {}),
            "");
}

}  // namespace
}  // namespace tektite::testing
