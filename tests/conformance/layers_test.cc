// Layers of products and row kernels that follow each other.
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/conformance/harness.h"

namespace tektite::testing {
namespace {

using ir::Attr;
using ir::DType;
using ir::Value;
using ops::FuncBuilder;

Value Weight(FuncBuilder& b, std::vector<int64_t> dims) {
  Value w = b.Parameter(Of(DType::kF32, std::move(dims)));
  w.node->attrs().Set(Attr::weight, true);
  return w;
}

// x / (1 + the sum of its row's squares)
Value Normalized(FuncBuilder& b, Value x) {
  Value sum = b.ReduceKeep(b.Mul(x, x), {x.shape().rank() - 1}, "add");
  return b.Div(x, b.Add(sum, b.FullLike(sum, 1)));
}

Value Layers(FuncBuilder& b, Value x, int count) {
  const Value first = x;
  const int64_t width = x.shape().dim(1).value();
  for (int layer = 0; layer < count; ++layer) {
    x = b.MatMul(x, Weight(b, {width, width}), false, false);
    x = b.Max(b.Add(x, Weight(b, {width})), b.FullLike(x, 0));
    x = Normalized(b, x);
    if (layer == 1) x = b.Add(x, first);  // read from outside
  }
  return x;
}

CONFORMANCE_TEST(LayersOfEverySize) {
  for (int64_t rows : {0, 1, 2, 127, 3000, 9001}) {
    for (int64_t width : {1, 16, 33}) {
      SCOPED_TRACE(absl::StrCat(rows, "x", width));
      FuncBuilder b;
      b.Return({Layers(b, b.Parameter(Of(DType::kF32, {rows, width})), 3)});
      Check(b, Tolerance::Relative(1e-5));
    }
  }
}

CONFORMANCE_TEST(LayersOfManyRows) {
  FuncBuilder b;
  b.Return({Layers(b, b.Parameter(Of(DType::kF32, {70001, 64})), 2)});
  Check(b, Tolerance::Relative(1e-5));
}

// A layer's value is a result as well, or is read once more at the end.
CONFORMANCE_TEST(LayersThatAreResults) {
  FuncBuilder b;
  Value x = b.Parameter(Of(DType::kF32, {9000, 24}));
  Value a = Normalized(b, b.MatMul(x, Weight(b, {24, 24}), false, false));
  Value c = b.MatMul(a, Weight(b, {24, 8}), false, false);
  Value d = Normalized(b, c);
  Value sums = b.Reduce(a, {0}, "add");
  b.Return({d, c,
            b.Add(b.MatMul(d, Weight(b, {8, 24}), false, false),
                  b.BroadcastInDim(sums, a.shape().dims(), {1}))});
  Check(b, Tolerance::Relative(1e-5));
}

CONFORMANCE_TEST(LayersOverPixels) {
  for (int64_t images : {1, 3}) {
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, {images * 64 * 48, 16}));
    Value y = b.MatMul(x, Weight(b, {16, 32}), false, false);
    y = b.Max(y, b.FullLike(y, 0));
    y = b.MatMul(y, Weight(b, {32, 16}), false, false);
    b.Return({b.Reshape(b.Add(y, x), Of(DType::kF32, {images, 64, 48, 16}).dims())});
    Check(b, Tolerance::Relative(1e-5));
  }
}

}  // namespace
}  // namespace tektite::testing
