// Calls: results, forwarded arguments, checks, weights that are computed once.
#include "jit/runtime/executable.h"

#include <atomic>
#include <thread>

#include "gtest/gtest.h"
#include "tests/runtime/fake_kernels.h"

namespace tektite::runtime {
namespace {

std::shared_ptr<const backend::Kernel> CountingKernel(std::atomic<int>* runs, int64_t n) {
  return MapKernel(1, n, [runs, n](const float* x) {
    runs->fetch_add(1);
    return x[0] * 10;
  });
}
std::shared_ptr<const backend::Kernel> AddKernel(int64_t n) {
  return MapKernel(2, n, [](const float* x) { return x[0] + x[1]; });
}

// y = x + 10 * w; runs counts how often 10 * w was computed, in elements.
struct WeightGraph {
  std::atomic<int> runs{0};
  FakeGraph g;
  std::shared_ptr<const backend::Kernel> prepare = CountingKernel(&runs, 4), add = AddKernel(4);

  StepGraph Steps() {
    ir::Value x = g.Parameter({4}), w = g.Parameter({4}, /*weight=*/true);
    return g.Steps({g.Fusion({x, g.Fusion({w}, {4}, prepare)}, {4}, add)});
  }
};

float RunOnce(Executable& e, float x, const float* w, uint64_t version) {
  const float xs[4] = {x, x, x, x};
  TestHost host;
  const Argument arguments[] = {{xs, 0}, {w, version}};
  EXPECT_TRUE(e.Run(arguments, host).ok());
  return host.results[0][3];
}

TEST(Executable, WeightWorkRunsOncePerVersion) {
  WeightGraph w;
  auto e = Executable::Create(w.Steps(), TestOptions());
  const float one[4] = {1, 1, 1, 1}, two[4] = {2, 2, 2, 2};
  EXPECT_EQ(RunOnce(*e, 1, one, 7), 11);
  EXPECT_EQ(RunOnce(*e, 2, one, 7), 12);
  EXPECT_EQ(w.runs, 4);
  EXPECT_EQ(RunOnce(*e, 2, two, 8), 22);
  EXPECT_EQ(w.runs, 8);
  // No version: nothing may be kept, in neither direction.
  EXPECT_EQ(RunOnce(*e, 2, one, 0), 12);
  EXPECT_EQ(RunOnce(*e, 2, two, 0), 22);
  EXPECT_EQ(w.runs, 16);
  EXPECT_EQ(RunOnce(*e, 2, one, 7), 12);
  EXPECT_EQ(w.runs, 20);
}

// y = x + w, of a weight that the kernel reads as it is.
TEST(Executable, WeightsThatKernelsReadStayOnTheDevice) {
  FakeGraph g;
  ir::Value x = g.Parameter({4}), w = g.Parameter({4}, /*weight=*/true);
  Executable::Options options = TestOptions();
  auto e = Executable::Create(g.Steps({g.Fusion({x, w}, {4}, AddKernel(4))}), options);
  const bool is_host = options.arenas->device()->is_host();
  const int64_t kept = is_host ? 0 : kAlignment;
  const auto used = [&] { return options.weights->budget()->used(); };
  const float one[4] = {1, 1, 1, 1}, two[4] = {2, 2, 2, 2};
  // What changes with every call is not kept.
  EXPECT_EQ(RunOnce(*e, 1, one, 7), 2);
  EXPECT_EQ(RunOnce(*e, 1, two, 8), 3);
  EXPECT_EQ(RunOnce(*e, 1, one, 0), 2);
  EXPECT_EQ(RunOnce(*e, 1, two, 0), 3);
  EXPECT_EQ(used(), 0);
  EXPECT_EQ(RunOnce(*e, 1, two, 8), 3);
  EXPECT_EQ(used(), kept);
  // The same version means the same content, so a device does not look at it again.
  const float changed[4] = {5, 5, 5, 5};
  EXPECT_EQ(RunOnce(*e, 1, changed, 8), is_host ? 6 : 3);
  EXPECT_EQ(used(), kept);
  EXPECT_EQ(RunOnce(*e, 1, one, 9), 2);
  EXPECT_EQ(used(), 0);
  EXPECT_EQ(RunOnce(*e, 4, one, 9), 5);
  EXPECT_EQ(used(), kept);
}

TEST(Executable, WeightsOverTheBudgetAreCopiedInEachCall) {
  FakeGraph g;
  ir::Value x = g.Parameter({4}), w = g.Parameter({4}, /*weight=*/true);
  const Executable::Options options = TestOptions(/*weight_bytes=*/kAlignment - 1);
  auto e = Executable::Create(g.Steps({g.Fusion({x, w}, {4}, AddKernel(4))}), options);
  const float one[4] = {1, 1, 1, 1};
  for (int call = 0; call < 4; ++call) EXPECT_EQ(RunOnce(*e, 1, one, 7), 2);
  EXPECT_EQ(options.weights->budget()->used(), 0);
}

TEST(Executable, ExecutablesOfOneStoreShareWeights) {
  WeightGraph w;
  Executable::Options options = TestOptions();
  auto a = Executable::Create(w.Steps(), options);
  FakeGraph other;
  ir::Value x = other.Parameter({4}), p = other.Parameter({4}, true);
  auto b = Executable::Create(
      other.Steps({other.Fusion({x, other.Fusion({p}, {4}, w.prepare)}, {4}, w.add)}), options);
  const float one[4] = {1, 1, 1, 1}, two[4] = {2, 2, 2, 2};
  EXPECT_EQ(RunOnce(*a, 1, one, 7), 11);
  EXPECT_EQ(RunOnce(*b, 1, one, 7), 11);
  EXPECT_EQ(w.runs, 4);
  EXPECT_EQ(RunOnce(*b, 1, two, 8), 21);
  // The old results are gone: one block is held, not two.
  EXPECT_EQ(options.weights->budget()->used(), kAlignment);
  EXPECT_EQ(RunOnce(*a, 1, two, 8), 21);
  EXPECT_EQ(w.runs, 8);
  a.reset();
  b.reset();
  EXPECT_EQ(options.weights->budget()->used(), 0);
}

TEST(Executable, WithoutBudgetWeightWorkRunsInEachCall) {
  WeightGraph w;
  auto e = Executable::Create(w.Steps(), TestOptions(/*weight_bytes=*/0));
  const float one[4] = {1, 1, 1, 1};
  EXPECT_EQ(RunOnce(*e, 1, one, 7), 11);
  EXPECT_EQ(RunOnce(*e, 2, one, 7), 12);
  EXPECT_EQ(w.runs, 8);
}

TEST(Executable, CallsAtOnceWithChangingVersions) {
  WeightGraph w;
  auto e = Executable::Create(w.Steps(), TestOptions());
  const float one[4] = {1, 1, 1, 1}, two[4] = {2, 2, 2, 2};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        const int which = (i / 10 + t) % 3;
        EXPECT_EQ(RunOnce(*e, 1, which == 1 ? two : one, which == 2 ? 0 : which + 1),
                  which == 1 ? 21 : 11);
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

TEST(Executable, AWeightThatIsAnOutputIsCopied) {
  FakeGraph g;
  std::atomic<int> runs{0};
  ir::Value w = g.Parameter({4}, true);
  auto e =
      Executable::Create(g.Steps({g.Fusion({w}, {4}, CountingKernel(&runs, 4)), w}), TestOptions());
  const float one[4] = {1, 1, 1, 1};
  for (int i = 0; i < 2; ++i) {
    TestHost host;
    ASSERT_TRUE(e->Run({Argument{one, 3}}, host).ok());
    EXPECT_EQ(host.results[0][2], 10);
    EXPECT_EQ(host.forwarded[1], 0);
  }
  EXPECT_EQ(runs, 4);
}

TEST(Executable, AFalseCheckFailsTheCall) {
  FakeGraph g;
  ir::Value x = g.Parameter({1});
  auto check = std::make_shared<FakeKernel>([](const backend::KernelFrame& frame, int64_t) {
    *static_cast<bool*>(frame.buffers[1]) = *static_cast<float*>(frame.buffers[0]) > 0;
  });
  ir::Value good = g.Fusion({x}, {}, check, ir::DType::kBool);
  Executable::Options options = TestOptions();
  options.roles.num_checks = 1;
  auto e = Executable::Create(g.Steps({x, good}), options);
  TestHost host;
  const float plus = 1, minus = -1;
  EXPECT_TRUE(e->Run({Argument{&plus, 0}}, host).ok());
  EXPECT_EQ(e->Run({Argument{&minus, 0}}, host).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(host.results.empty());
}

// The host is asked for as many rows as there are, and not before that is known.
TEST(Executable, AResultHasAsManyRowsAsItsValuesSay) {
  FakeGraph g;
  ir::Value x = g.Parameter({4});
  auto copy = MapKernel(1, 4, [](const float* v) { return v[0]; });
  auto count = std::make_shared<FakeKernel>([](const backend::KernelFrame& frame, int64_t) {
    *static_cast<int64_t*>(frame.buffers[1]) =
        static_cast<int64_t>(static_cast<float*>(frame.buffers[0])[0]);
  });
  ir::Value rows = g.Reshape(g.Fusion({x}, {4}, copy), {2, 2});
  ir::Value number = g.Fusion({x}, {}, count, ir::DType::kS64);
  Executable::Options options = TestOptions();
  options.roles.counted = {0};
  auto e = Executable::Create(g.Steps({rows, x, number}), options);
  for (int n = 0; n <= 2; ++n) {
    TestHost host;
    const float values[4] = {static_cast<float>(n), 1, 2, 3};
    ASSERT_TRUE(e->Run({Argument{values, 0}}, host).ok());
    EXPECT_EQ(host.results[0].size(), 2 * n + 1);
    for (int i = 0; i < 2 * n; ++i) EXPECT_EQ(host.results[0][i], values[i]);
    EXPECT_EQ(host.results.count(2), 0);
  }
  TestHost host;
  const float too_many[4] = {3};
  EXPECT_EQ(e->Run({Argument{too_many, 0}}, host).code(), absl::StatusCode::kInternal);
}

TEST(Executable, NoMemoryIsAnAnswer) {
  FakeGraph g;
  auto e =
      Executable::Create(g.Steps({g.Fusion({g.Parameter({4})}, {4},
                                           MapKernel(1, 4, [](const float* x) { return x[0]; }))}),
                         TestOptions());
  TestHost host;
  host.refuse = true;
  const float x[4] = {};
  EXPECT_EQ(e->Run({Argument{x, 0}}, host).code(), absl::StatusCode::kResourceExhausted);
}

TEST(ArenaPool, ABlockIsReusedAndReplacedByALargerOne) {
  ArenaPool pool;
  std::byte* first = pool.Acquire(1000).data();
  EXPECT_EQ(pool.Acquire(900).data(), first);
  const int64_t before = pool.held_bytes();
  { auto lease = pool.Acquire(100000); }
  EXPECT_GE(pool.held_bytes(), 100000);
  EXPECT_LT(pool.held_bytes(), 100000 + before);
}

}  // namespace
}  // namespace tektite::runtime
