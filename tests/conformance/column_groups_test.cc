// Products whose columns are read in groups: gates of recurrent cells, halves of gated layers.
#include <limits>

#include "absl/strings/str_cat.h"
#include "jit/base/rounding.h"
#include "tests/conformance/harness.h"

namespace tektite::testing {
namespace {

using ir::Attr;
using ir::DType;
using ir::Shape;
using ir::Value;
using ops::FuncBuilder;

enum class Cell { kLstm, kGru, kGated };
constexpr Cell kCells[] = {Cell::kLstm, Cell::kGru, Cell::kGated};

struct Layer {
  Cell cell = Cell::kLstm;
  int64_t m = 1, k = 1, n = 1;
  DType dtype = DType::kF32;
  bool weight = true, transposed = false;
  int64_t groups() const { return cell == Cell::kLstm ? 4 : cell == Cell::kGru ? 3 : 2; }
  std::string Describe() const {
    return absl::StrCat(groups(), " groups ", m, "x", k, "x", n, weight ? " weight" : "",
                        transposed ? " transposed" : "");
  }
};

std::vector<Value> GroupsOf(FuncBuilder& b, Value z, const Layer& layer) {
  std::vector<Value> groups;
  const int last = z.shape().rank() - 1;
  for (int64_t g = 0; g < layer.groups(); ++g) {
    groups.push_back(b.SliceDim(z, last, g * layer.n, (g + 1) * layer.n));
  }
  return groups;
}

// The product's parameters come first.
void Build(FuncBuilder& b, const Layer& layer) {
  const int64_t columns = layer.groups() * layer.n;
  const Value x = b.Parameter(Of(layer.dtype, {layer.m, layer.k}));
  const Value w = b.Parameter(layer.transposed ? Of(layer.dtype, {columns, layer.k})
                                               : Of(layer.dtype, {layer.k, columns}));
  if (layer.weight) w.node->attrs().Set(Attr::weight, true);
  const Value product = b.MatMul(x, w, false, layer.transposed);
  if (layer.cell == Cell::kGated) {
    const std::vector<Value> z = GroupsOf(b, product, layer);
    return b.Return({b.Mul(b.Mul(z[0], b.Logistic(z[0])), z[1])});
  }
  const Value input = b.Parameter(Of(layer.dtype, {layer.m, columns}));
  const Value state = b.Parameter(Of(layer.dtype, {layer.m, layer.n}));
  if (layer.cell == Cell::kGru) {
    const std::vector<Value> p = GroupsOf(b, input, layer);
    const Value biased = b.Add(product, b.Parameter(Of(layer.dtype, {columns})));
    const std::vector<Value> q = GroupsOf(b, biased, layer);
    const Value z = b.Logistic(b.Add(p[0], q[0])), r = b.Logistic(b.Add(p[1], q[1]));
    const Value candidate = b.Tanh(b.Add(p[2], b.Mul(r, q[2])));
    return b.Return({b.Add(b.Mul(z, state), b.Mul(b.Sub(b.FullLike(z, 1), z), candidate))});
  }
  const std::vector<Value> z = GroupsOf(b, b.Add(product, input), layer);
  const Value kept = b.Mul(b.Logistic(z[1]), state);
  const Value c = b.Add(kept, b.Mul(b.Logistic(z[0]), b.Tanh(z[2])));
  const Value mask =
      b.CompareImplicit(b.Parameter(Of(layer.dtype, {layer.m, 1})), b.FullLike(c, 0), "gt");
  return b.Return({b.Mul(b.Logistic(z[3]), b.Tanh(c)), b.Select(mask, c, state)});
}

class ColumnGroupsTest : public ConformanceTest {
 protected:
  void CheckLayer(Layer layer, const Tolerance& tolerance, bool symbolic) {
    // Groups of a single row are parts of memory (jit/ir/part.h), which the GPU's loops read 16
    // bytes at once.
    if (is_gpu() && layer.m == 1) layer.n = RoundUp(layer.n, 8);
    SCOPED_TRACE(layer.Describe());
    FuncBuilder b;
    Build(b, layer);
    CompileOptions options;
    options.symbolic = symbolic;
    Check(b, tolerance, options);
  }
};

INSTANTIATE_TEST_SUITE_P(, ColumnGroupsTest, ::testing::ValuesIn(ConformanceTargets()),
                         [](const auto& info) { return info.param.name; });

TEST_P(ColumnGroupsTest, LayersOfEverySize) {
  size_t count = 0;
  for (const Cell cell : kCells) {
    for (int64_t m : {0, 1, 2, 5, 33}) {
      for (int64_t n : {1, 3, 16, 17, 100, 256}) {
        for (int64_t k : {1, 5, 37}) {
          if (++count % 2 != 0 || !HasTurn(count / 2)) continue;
          Layer layer;
          layer.cell = cell, layer.m = m, layer.n = n, layer.k = k;
          layer.weight = count % 3 != 0, layer.transposed = count % 4 == 0;
          CheckLayer(layer, Tolerance::Relative(1e-6), count % 8 == 0);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_P(ColumnGroupsTest, LayersOfEveryType) {
  for (DType dtype : {DType::kF16, DType::kBF16, DType::kF64}) {
    for (const Cell cell : kCells) {
      for (int64_t m : {1, 7}) {
        Layer layer;
        layer.cell = cell, layer.m = m, layer.n = 21, layer.k = 19, layer.dtype = dtype;
        // A last bit of a gate's sum may round the other way.
        const double bits = dtype == DType::kF64 ? 1e-6 : dtype == DType::kF16 ? 4e-3 : 3e-2;
        CheckLayer(layer, Tolerance::Relative(bits), m == 7);
      }
    }
  }
}

// k of several blocks of sums.
TEST_P(ColumnGroupsTest, LayersOfALongK) {
  for (const Cell cell : kCells) {
    for (int64_t m : {1, 3}) {
      Layer layer;
      layer.cell = cell, layer.m = m, layer.n = 40, layer.k = is_gpu() ? 800 : 3072;
      CheckLayer(layer, Tolerance::Relative(1e-5), false);
    }
  }
}

// A column that is not finite must not reach its neighbours, nor another group's.
TEST_P(ColumnGroupsTest, ColumnsWithoutFiniteValues) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const Cell cell : kCells) {
    for (int64_t m : {2, 9}) {
      for (int64_t n : {5, 21}) {
        Layer layer;
        layer.cell = cell, layer.m = m, layer.n = n, layer.k = 11;
        SCOPED_TRACE(layer.Describe());
        FuncBuilder b;
        Build(b, layer);
        auto graph = b.Build();
        ASSERT_TRUE(graph.ok()) << graph.status();
        std::vector<ir::Literal> inputs = PlainInputs(**graph, 3);
        float* w = inputs[1].mutable_data<float>();
        const int64_t columns = layer.groups() * n;
        w[0] = kInf;
        w[3 * columns + n - 1] = kNan;
        w[10 * columns + columns - 1] = -kInf;
        Check(**graph, inputs, Tolerance::Relative(1e-6));
      }
    }
  }
}

// What must stay apart: a product that is read whole as well, groups that are not equal, and code
// that moves elements between the groups' columns.
TEST_P(ColumnGroupsTest, ColumnsReadInOtherWays) {
  for (int64_t m : {1, 6}) {
    FuncBuilder b;
    const Value x = b.Parameter(Of(DType::kF32, {m, 9}));
    const auto product = [&](int64_t columns) {
      const Value w = b.Parameter(Of(DType::kF32, {9, columns}));
      w.node->attrs().Set(Attr::weight, true);
      return b.MatMul(x, w, false, false);
    };
    const auto part = [&](Value z, int64_t first, int64_t limit) {
      return b.SliceDim(z, 1, first, limit);
    };
    const Value whole = product(48), uneven = product(48), turned = product(48);
    const Value shared = product(72);
    const Value r = b.Reverse(part(turned, 0, 24), {1});
    b.Return({b.Mul(part(whole, 0, 24), part(whole, 24, 48)), b.Tanh(whole),
              b.Mul(part(uneven, 0, 24), part(uneven, 12, 36)), b.Add(r, part(turned, 24, 48)),
              b.Mul(part(shared, 0, 24), part(shared, 48, 72)),
              b.Reduce(b.Add(part(shared, 24, 48), part(shared, 0, 24)), {1}, "max")});
    Check(b, Tolerance::Relative(1e-6));
  }
}

}  // namespace
}  // namespace tektite::testing
