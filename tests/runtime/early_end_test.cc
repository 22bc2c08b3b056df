// Calls that end early on the host's device: they are cancelled, or memory is out.
#include <atomic>
#include <new>

#include "gtest/gtest.h"
#include "jit/runtime/executable.h"
#include "jit/runtime/host_device.h"
#include "tests/runtime/fake_kernels.h"
#include "tests/runtime/test_pool.h"

namespace tektite::runtime {
namespace {

// Guards against: a cancelled call that ran to its end, which may take seconds.
struct CancellingHost : TestHost {
  bool IsCancelled() override { return ++times_asked > answers_no; }
  std::atomic<int> times_asked{0};
  int answers_no = 0;
};

TEST(Cancellation, IsAskedBetweenSteps) {
  FakeGraph g;
  ir::Value x = g.Parameter({16});
  int steps_run = 0;
  for (int i = 0; i < 100; ++i) {
    x = g.Fusion({x}, {16},
                 std::make_shared<FakeKernel>([&](const auto&, int64_t) { ++steps_run; },
                                              /*chunks=*/1, /*cost_ns=*/HostDevice::kAskNs / 2));
  }
  auto e = Executable::Create(g.Steps({x}), TestOptions());
  const std::vector<float> input(16);
  CancellingHost host;
  host.answers_no = 10;
  EXPECT_TRUE(absl::IsCancelled(e->Run({Argument{input.data()}}, host)));
  EXPECT_EQ(host.times_asked, 11);
  EXPECT_LT(steps_run, 25);
  // The next call is not.
  steps_run = 0;
  host.answers_no = 1 << 30;
  EXPECT_TRUE(e->Run({Argument{input.data()}}, host).ok());
  EXPECT_EQ(steps_run, 100);
}

TEST(Cancellation, IsAskedWithinALongStep) {
  FakeGraph g;
  int chunks_run = 0;
  ir::Value y = g.Fusion({g.Parameter({16})}, {16},
                         std::make_shared<FakeKernel>([&](const auto&, int64_t) { ++chunks_run; },
                                                      /*chunks=*/1000, /*cost_ns=*/1e12));
  auto e = Executable::Create(g.Steps({y}), TestOptions());
  const std::vector<float> input(16);
  CancellingHost host;
  host.answers_no = 7;
  EXPECT_TRUE(absl::IsCancelled(e->Run({Argument{input.data()}}, host)));
  EXPECT_LT(chunks_run, 8);
}

TEST(Cancellation, ShortCallsDoNotAsk) {
  FakeGraph g;
  ir::Value y =
      g.Fusion({g.Parameter({16})}, {16}, MapKernel(1, 16, [](const float* x) { return *x + 1; }));
  auto e = Executable::Create(g.Steps({y}), TestOptions());
  const std::vector<float> input(16);
  CancellingHost host;
  EXPECT_TRUE(e->Run({Argument{input.data()}}, host).ok());
  EXPECT_EQ(host.times_asked, 0);
}

// Turns without any kernel pass time too: such a loop would hold its thread for ever.
TEST(Cancellation, EndsALoopThatNeverEnds) {
  const auto graph = ir::Parse(R"(graph @f(%go: bool[], %a: f32[16], %b: f32[16]) -> (f32[16]) {
    %w:3 : (bool[], f32[16], f32[16]) = while(%go, %a, %b)
      graph @condition(%g: bool[], %a: f32[16], %b: f32[16]) -> (bool[]) {
        return %g
      }
      graph @body(%g: bool[], %a: f32[16], %b: f32[16]) -> (bool[], f32[16], f32[16]) {
        return %g, %b, %a
      }
    return %w#1
  })");
  ASSERT_TRUE(graph.ok()) << graph.status();
  auto steps = StepGraph::Create(**graph, {});
  ASSERT_TRUE(steps.ok()) << steps.status();
  auto e = Executable::Create(*std::move(steps), TestOptions());
  const std::vector<float> a(16, 1), b(16, 2);
  bool go = true;
  CancellingHost host;
  host.answers_no = 3;
  const std::vector<Argument> arguments = {Argument{&go}, Argument{a.data()}, Argument{b.data()}};
  EXPECT_TRUE(absl::IsCancelled(e->Run(arguments, host)));
  EXPECT_EQ(host.times_asked, 4);
  go = false;
  EXPECT_TRUE(e->Run(arguments, host).ok());
}

// A kernel that found no memory used to end the process, on whichever thread it was.
TEST(KernelsWithoutMemory, FailTheCallAlone) {
  for (const int threads : {0, 2}) {
    FakeGraph g;
    std::atomic<bool> has_memory{false};
    std::atomic<int> followers{0};
    ir::Value x = g.Fusion({g.Parameter({16})}, {16},
                           std::make_shared<FakeKernel>(
                               [&](const auto&, int64_t chunk) {
                                 if (chunk % 3 == 2 && !has_memory) throw std::bad_alloc();
                               },
                               /*chunks=*/50, /*cost_ns=*/1e6));
    ir::Value y = g.Fusion(
        {x}, {16}, std::make_shared<FakeKernel>([&](const auto&, int64_t) { ++followers; }));
    auto e = Executable::Create(g.Steps({y}), TestOptions());
    const std::vector<float> input(16);
    Pool pool(threads);
    for (int call = 0; call < 20; ++call) {
      TestHost host(threads == 0 ? HostPool{} : pool.Host());
      has_memory = call % 2 == 1;
      const absl::Status status = e->Run({Argument{input.data()}}, host);
      EXPECT_EQ(status.ok(), has_memory) << status;
      EXPECT_EQ(absl::IsResourceExhausted(status), !has_memory);
    }
    EXPECT_EQ(followers, 10);  // nothing runs on what a failed kernel has left
  }
}

}  // namespace
}  // namespace tektite::runtime
