// Executables of graphs with symbols: one serves all sizes, in bounded memory.
#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "jit/ir/symbols.h"
#include "jit/runtime/executable.h"
#include "jit/runtime/sized_calls.h"
#include "tests/runtime/fake_kernels.h"

namespace tektite::runtime {
namespace {

using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::Shape;

// y[i] = x[0][i] + x[1][i] + ... over as many elements as the first symbol says.
class SumKernel : public backend::HostKernel {
 public:
  explicit SumKernel(int operands) : operands_(operands) {}
  backend::LaunchConfig Configure(absl::Span<const int64_t> sizes) const override {
    ++plans;
    return {1, 64 * sizes[0], static_cast<double>(sizes[0])};
  }
  void Run(const backend::KernelFrame& frame, int64_t begin, int64_t end) const override {
    auto* y = static_cast<float*>(frame.buffers[operands_]);
    for (int64_t i = 0; i < frame.sizes[0]; ++i) {
      float sum = 0;
      for (int o = 0; o < operands_; ++o) sum += static_cast<const float*>(frame.buffers[o])[i];
      y[i] = sum;
    }
  }
  bool CanRunInPlace(int, int) const override { return true; }

  static inline std::atomic<int> plans{0};  // made, of all kernels

 private:
  int operands_;
};

struct SymbolicGraph {
  ir::Graph graph;
  KernelMap kernels;

  ir::Value Parameter(Shape shape) { return graph.AddParameter(std::move(shape)); }
  ir::Value Sum(std::vector<ir::Value> operands) {
    const Shape shape = operands[0].shape();
    ir::Node* node = graph.Append(ir::Op::kFusion, operands, {}, {shape});
    auto region = std::make_unique<ir::Graph>();
    for (ir::Value v : operands) region->AddParameter(v.shape());
    node->AddRegion(std::move(region));
    kernels[node] = OnTestDevice(std::make_shared<SumKernel>(static_cast<int>(operands.size())));
    return node->result();
  }
  std::shared_ptr<Executable> Make(std::vector<ir::Value> outputs) {
    graph.SetOutputs(std::move(outputs));
    auto steps = StepGraph::Create(graph, kernels);
    EXPECT_TRUE(steps.ok()) << steps.status();
    return Executable::Create(*std::move(steps), TestOptions());
  }
};

const Dim kN = Dim::Symbol("n");

TEST(Symbolic, OneExecutableServesAllSizes) {
  SymbolicGraph g;
  ir::Value x = g.Parameter(Shape(DType::kF32, {kN}));
  ir::Value a = g.Sum({x, x}), b = g.Sum({a, x}), c = g.Sum({a, b});  // 2x, 3x, 5x
  auto e = g.Make({c, x, g.Sum({c, c})});
  for (int64_t n : {1, 7, 1000, 7, 64, 1, 100000}) {
    std::vector<float> input(n);
    std::iota(input.begin(), input.end(), 0.0f);
    TestHost host;
    ASSERT_TRUE(e->Run({Argument{input.data(), 0, &n}}, host).ok());
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(host.results[0][i], 5 * input[i]);
      ASSERT_EQ(host.results[2][i], 10 * input[i]);
    }
    EXPECT_EQ(host.forwarded[1], 0);
  }
}

TEST(Symbolic, SizesThatTheCodeDoesNotFitAreRefusedBeforeAnythingIsAskedOfTheHost) {
  SymbolicGraph g;
  ir::Value x = g.Parameter(Shape(DType::kF32, {kN}));
  ir::Value y = g.Parameter(Shape(DType::kF32, {Dim::Symbol("m")}));
  g.graph.guards().push_back({kN, Dim::Symbol("m")});
  auto e = g.Make({g.Sum({x, y})});
  const std::vector<float> data(8, 1);
  const int64_t three = 3, five = 5;
  TestHost host;
  EXPECT_TRUE(
      e->Run({Argument{data.data(), 0, &three}, Argument{data.data(), 0, &three}}, host).ok());
  host.results.clear();
  const absl::Status status =
      e->Run({Argument{data.data(), 0, &three}, Argument{data.data(), 0, &five}}, host);
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(status.message(), "the code needs n == m, here 3 and 5");
  EXPECT_TRUE(host.results.empty());
}

TEST(Symbolic, ElementsOfAnArgumentAreSizesToo) {
  SymbolicGraph g;
  ir::Value shape = g.Parameter(Shape(DType::kS32, {Dim(2)}));
  shape.node->attrs().Set(ir::Attr::sizes, Dims{Dim(4), Dim::Symbol("v")});
  ir::Value sizes =
      g.graph
          .Append(ir::Op::kSizeValue, {}, {{ir::Attr::sizes, Dims{Dim::Symbol("v") * 2, Dim(3)}}},
                  {Shape(DType::kS64, {Dim(2)})})
          ->result();
  auto e = g.Make({sizes});
  for (int32_t v : {5, 9}) {
    const int32_t values[] = {4, v};
    TestHost host;
    ASSERT_TRUE(e->Run({Argument{values, 0}}, host).ok());
    EXPECT_EQ(reinterpret_cast<const int64_t*>(host.results[0].data())[0], 2 * v);
  }
}

TEST(Symbolic, ASymbolWithoutSourceIsRefused) {
  SymbolicGraph g;
  g.Parameter(Shape(DType::kF32, {kN * 2}));
  g.graph.SetOutputs({g.graph.parameter(0)->result()});
  EXPECT_EQ(StepGraph::Create(g.graph, g.kernels).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// As many kernels as a BERT of 12 layers, each with a matrix of its own size class.
TEST(Symbolic, PlansForNewSizesAreMadeOnceAndForgotten) {
  SymbolicGraph g;
  const Dim m = Dim::Symbol("m");
  ir::Value x = g.Parameter(Shape(DType::kF32, {kN, m, Dim(8)}));
  ir::Value v = x;
  for (int layer = 0; layer < 12; ++layer) {
    ir::Value skip = v;
    for (int step = 0; step < 10; ++step) {
      v = g.Sum(step % 3 == 0 ? std::vector<ir::Value>{v, skip} : std::vector<ir::Value>{v});
    }
  }
  g.graph.SetOutputs({v});
  auto steps = StepGraph::Create(g.graph, g.kernels);
  ASSERT_TRUE(steps.ok());
  const std::shared_ptr<backend::Device> device = TestDevice();
  const Residence residence{&device->memory()};
  const SizedCalls plan(*steps, residence, AssignBuffers(*steps, {}, {}));
  const int before = SumKernel::plans;
  const auto first = plan.For({4, 6});
  EXPECT_EQ(SumKernel::plans, before + 120);  // of each kernel one
  EXPECT_EQ(plan.For({4, 6}), first);
  EXPECT_EQ(SumKernel::plans, before + 120);
  constexpr int kShapes = 300;
  std::vector<std::weak_ptr<const SizedCall>> made;
  for (int64_t n = 0; n < kShapes; ++n) {
    const auto sized = plan.For({n + 5, 3});
    ASSERT_TRUE(sized->status.ok());
    EXPECT_EQ(plan.For({n + 5, 3}), sized);
    made.push_back(sized);
  }
  EXPECT_EQ(SumKernel::plans, before + 120 * (kShapes + 1));
  const auto kept = std::count_if(made.begin(), made.end(), [](auto& p) { return !p.expired(); });
  EXPECT_EQ(kept, static_cast<int64_t>(SizedCalls::kMostSized));
  EXPECT_NE(plan.For({4, 6}), first);
}

// Sizes of inner buffers used to wrap, so that a call of 2^62 elements got an arena of a few bytes.
TEST(Symbolic, SizesThatDoNotFitAreRefused) {
  const Dim m = Dim::Symbol("m");
  SymbolicGraph g;
  ir::Value x = g.Parameter(Shape(DType::kF32, {kN, m}));
  ir::Value inner = g.Sum({x, x});
  auto e = g.Make({g.Sum({inner, inner})});
  const std::vector<float> input(64, 1.0f);
  const auto run = [&](int64_t n, int64_t columns) {
    const int64_t dims[] = {n, columns};
    TestHost host;
    return e->Run({Argument{input.data(), 0, dims}}, host);
  };
  EXPECT_TRUE(run(8, 8).ok());
  const int64_t large[] = {(int64_t{1} << 31) - 1, int64_t{1} << 31, int64_t{1} << 32,
                           int64_t{1} << 61,       int64_t{1} << 62, INT64_MAX};
  for (const int64_t n : large) {
    for (const int64_t columns : large) {
      EXPECT_TRUE(absl::IsResourceExhausted(run(n, columns))) << n << " x " << columns;
    }
  }
  // Sizes that fit 64 bits, but no machine.
  EXPECT_TRUE(absl::IsResourceExhausted(run(int64_t{1} << 42, 1)));
  EXPECT_TRUE(absl::IsResourceExhausted(run(1, int64_t{1} << 50)));
  EXPECT_TRUE(run(8, 8).ok());
}

// A process that compiles for sizes which do not fit must still lay out memory for something.
TEST(Symbolic, TypicalSizesThatDoNotFitAreReplaced) {
  SymbolicGraph g;
  ir::Value x = g.Parameter(Shape(DType::kF32, {kN, kN}));
  g.graph.SetOutputs({g.Sum({x, x})});
  auto steps = StepGraph::Create(g.graph, g.kernels, {{"n", int64_t{1} << 40}});
  ASSERT_TRUE(steps.ok()) << steps.status();
  EXPECT_EQ(steps->typical_sizes[0], StepGraph::kAssumedSize);
  const int64_t most = StepGraph::kAssumedSize * StepGraph::kAssumedSize * 4;
  for (const Buffer& buffer : steps->buffers) EXPECT_EQ(buffer.typical_bytes, most);
}

TEST(Symbolic, BuffersOfConstantSizesThatDoNotFitAreRefused) {
  for (const int64_t n : {int64_t{1} << 24, int64_t{1} << 32, int64_t{1} << 61}) {
    SymbolicGraph g;
    ir::Value x = g.Parameter(Shape(DType::kF32, {Dim(n), Dim(n)}));
    g.graph.SetOutputs({g.Sum({x, x})});
    EXPECT_TRUE(absl::IsResourceExhausted(StepGraph::Create(g.graph, g.kernels).status())) << n;
  }
}

}  // namespace
}  // namespace tektite::runtime
