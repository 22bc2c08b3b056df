// Products whose columns are read in groups: gates of recurrent cells, halves of gated layers.  A
// call runs enough products of the same weights that they are packed for it.
#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/conformance/harness.h"
#include "tests/conformance/some_targets.h"

namespace tektite::testing {
namespace {

using ir::Attr;
using ir::DType;
using ir::Value;
using ops::FuncBuilder;

constexpr int kSteps = 8;
// By the number of its groups: 1 none, 2 a gated layer, 3 a GRU, 4 an LSTM, 5 too many.
constexpr int64_t kCells[] = {1, 2, 3, 4, 5};

struct Layer {
  int64_t groups = 4, m = 1, k = 1, n = 1;
  DType dtype = DType::kF32;
  bool transposed = false;
  std::string Describe() const {
    return absl::StrCat(groups, " groups ", m, "x", k, "x", n, transposed ? " transposed" : "");
  }
};

std::vector<Value> GroupsOf(FuncBuilder& b, Value z, const Layer& layer) {
  std::vector<Value> groups;
  for (int64_t g = 0; g < layer.groups; ++g) {
    groups.push_back(b.SliceDim(z, 1, g * layer.n, (g + 1) * layer.n));
  }
  return groups;
}

Value Cell(FuncBuilder& b, const Layer& layer, Value product, Value input, Value* state) {
  if (layer.groups == 3) {
    const std::vector<Value> p = GroupsOf(b, input, layer), q = GroupsOf(b, product, layer);
    const Value z = b.Logistic(b.Add(p[0], q[0])), r = b.Logistic(b.Add(p[1], q[1]));
    const Value candidate = b.Tanh(b.Add(p[2], b.Mul(r, q[2])));
    return *state = b.Add(b.Mul(z, *state), b.Mul(b.Sub(b.FullLike(z, 1), z), candidate));
  }
  const std::vector<Value> z = GroupsOf(b, b.Add(product, input), layer);
  if (layer.groups == 4) {
    *state = b.Add(b.Mul(b.Logistic(z[1]), *state), b.Mul(b.Logistic(z[0]), b.Tanh(z[2])));
    return b.Mul(b.Logistic(z[3]), b.Tanh(*state));
  }
  Value sum = *state;
  for (const Value group : z) sum = b.Add(b.Mul(group, b.Logistic(sum)), group);
  return sum;
}

// Parameters: weights, then of each step the left-hand side and what is added to the product.
void Build(FuncBuilder& b, const Layer& layer) {
  const int64_t columns = layer.groups * layer.n;
  const Value w = b.Parameter(layer.transposed ? Of(layer.dtype, {columns, layer.k})
                                               : Of(layer.dtype, {layer.k, columns}));
  w.node->attrs().Set(Attr::weight, true);
  Value state = b.Parameter(Of(layer.dtype, {layer.m, layer.n}));
  std::vector<Value> results;
  for (int step = 0; step < kSteps; ++step) {
    const Value x = b.Parameter(Of(layer.dtype, {layer.m, layer.k}));
    const Value input = b.Parameter(Of(layer.dtype, {layer.m, columns}));
    results.push_back(Cell(b, layer, b.MatMul(x, w, false, layer.transposed), input, &state));
  }
  results.push_back(state);
  b.Return(results);
}

class ColumnGroupsTest : public ConformanceTest {
 protected:
  void CheckLayer(const Layer& layer, const Tolerance& tolerance) {
    SCOPED_TRACE(layer.Describe());
    FuncBuilder b;
    Build(b, layer);
    CompileOptions options;
    options.symbolic = false;
    Check(b, tolerance, options);
  }
};

// Of the host's memory: no card's list has such a row.
bool IsHost(const ConformanceTarget& target) {
  return target.backend != kGpu && target.backend != kGpuCard;
}

INSTANTIATE_TEST_SUITE_P(, ColumnGroupsTest, ::testing::ValuesIn(TargetsWhere(IsHost)),
                         [](const auto& info) { return info.param.name; });

// Whole vectors, and such as no kernel has groups for; tiles of one to four vectors of a group.
TEST_P(ColumnGroupsTest, LayersOfEverySize) {
  size_t count = 0;
  for (const int64_t groups : kCells) {
    for (int64_t m : {0, 1, 2, 3, 4, 5}) {
      for (int64_t n : {1, 16, 21, 48, 80, 256}) {
        for (int64_t k : {1, 37}) {
          if (++count % 5 != 0 || !HasTurn(count / 5)) continue;
          CheckLayer({groups, m, k, n, DType::kF32, count % 4 == 0}, Tolerance::Relative(1e-5));
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_P(ColumnGroupsTest, LayersOfEveryType) {
  for (DType dtype : {DType::kF16, DType::kBF16, DType::kF64}) {
    for (const int64_t groups : kCells) {
      for (int64_t m : {1, 3}) {
        // A last bit of a gate's sum may round the other way.
        const double bits = dtype == DType::kF64 ? 1e-6 : dtype == DType::kF16 ? 4e-3 : 3e-2;
        CheckLayer({groups, m, 19, 32, dtype}, Tolerance::Relative(bits));
      }
    }
  }
}

// Sums are added in the order in which a kernel of the product alone adds them: equal bits.
TEST_P(ColumnGroupsTest, TheSameAsAKernelForEachOp) {
  for (const int64_t groups : {2, 3, 4}) {
    for (int64_t m : {1, 2}) {
      const Layer layer = {groups, m, 700, 256};
      SCOPED_TRACE(layer.Describe());
      FuncBuilder b;
      Build(b, layer);
      const auto graph = b.Build();
      ASSERT_TRUE(graph.ok()) << graph.status();
      const std::vector<ir::Literal> inputs = PlainInputs(**graph, 3);
      CompileOptions apart;
      apart.fuse = false;
      const auto fused = CompileAndRun(**graph, inputs),
                 alone = CompileAndRun(**graph, inputs, apart);
      ASSERT_TRUE(fused.ok() && alone.ok()) << fused.status() << alone.status();
      for (size_t i = 0; i < fused->size(); ++i) {
        EXPECT_EQ(Difference((*fused)[i], (*alone)[i], Tolerance::Exact()), "") << "result " << i;
      }
    }
  }
}

// A column that is not finite must not reach its neighbours, nor another group's.
TEST_P(ColumnGroupsTest, ColumnsWithoutFiniteValues) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const int64_t groups : kCells) {
    for (int64_t n : {5, 48}) {
      const Layer layer = {groups, 2, 11, n};
      SCOPED_TRACE(layer.Describe());
      FuncBuilder b;
      Build(b, layer);
      const auto graph = b.Build();
      ASSERT_TRUE(graph.ok()) << graph.status();
      std::vector<ir::Literal> inputs = PlainInputs(**graph, 3);
      float* const w = inputs[0].mutable_data<float>();
      const int64_t columns = groups * n;
      w[0] = kInf;
      w[3 * columns + n - 1] = kNan;
      w[10 * columns + columns - 1] = -kInf;
      CompileOptions options;
      options.symbolic = false;
      Check(**graph, inputs, Tolerance::Relative(1e-6), options);
    }
  }
}

// What must stay apart: a product that is read whole as well, groups that are not equal, and code
// that moves elements between the groups' columns.
TEST_P(ColumnGroupsTest, ColumnsReadInOtherWays) {
  for (int64_t m : {1, 3}) {
    FuncBuilder b;
    std::vector<Value> weights, results;
    for (int i = 0; i < 4; ++i) {
      weights.push_back(b.Parameter(Of(DType::kF32, {9, 96})));
      weights.back().node->attrs().Set(Attr::weight, true);
    }
    const auto part = [&](Value z, int64_t first) { return b.SliceDim(z, 1, first, first + 48); };
    for (int step = 0; step < kSteps; ++step) {
      const Value x = b.Parameter(Of(DType::kF32, {m, 9}));
      std::vector<Value> z;
      for (const Value w : weights) z.push_back(b.MatMul(x, w));
      results.push_back(b.Mul(part(z[0], 0), part(z[0], 48)));
      results.push_back(b.Tanh(z[0]));
      results.push_back(b.Mul(part(z[1], 0), part(z[1], 24)));
      results.push_back(b.Add(b.Reverse(part(z[2], 0), {1}), part(z[2], 48)));
      const Value both = b.Add(part(z[3], 0), part(z[3], 48));
      results.push_back(b.Reduce(both, {1}, "max"));
    }
    b.Return(results);
    CompileOptions options;
    options.symbolic = false;
    Check(b, Tolerance::Relative(1e-6), options);
  }
}

}  // namespace
}  // namespace tektite::testing
