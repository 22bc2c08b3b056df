// Weights that are packed when calls have found them unchanged: what calls read until then, who
// packs, and what is left alone.
#include "jit/runtime/weights/late_packing.h"

#include <atomic>
#include <thread>

#include "gtest/gtest.h"
#include "jit/base/bytes.h"
#include "jit/base/timing.h"
#include "jit/runtime/step_graph_bytes.h"
#include "tests/runtime/fake_kernels.h"

namespace tektite::runtime {
namespace {

constexpr int64_t kChunks = 4;
const float kOne[4] = {1, 1, 1, 1}, kTwo[4] = {2, 2, 2, 2};

// y = x + w; the kernel reads -w instead once there are such "panels".
struct LateGraph {
  std::atomic<int> chunks{0};    // of packing
  std::atomic<int> unpacked{0};  // runs that found no panels
  std::shared_ptr<const backend::Kernel> pack = MapKernel(
      1, 4,
      [this](const float* x) {
        chunks.fetch_add(1);
        return -x[0];
      },
      kChunks);
  std::shared_ptr<const backend::Kernel> add =
      std::make_shared<FakeKernel>([this](const backend::KernelFrame& frame, int64_t) {
        const auto* x = static_cast<const float*>(frame.buffers[0]);
        const auto* w = static_cast<const float*>(frame.buffers[1]);
        const auto* panels = static_cast<const float*>(frame.buffers[2]);
        auto* y = static_cast<float*>(frame.buffers[3]);
        if (panels == w) unpacked.fetch_add(1);
        for (int i = 0; i < 4; ++i) y[i] = panels == w ? x[i] + w[i] : x[i] - panels[i];
      });

  // With `constant` the weights are no parameter.
  StepGraph Steps(bool constant = false) {
    FakeGraph g;
    const ir::Value x = g.Parameter({4});
    const ir::Value w =
        constant ? g.graph
                       .Append(ir::Op::kConstant, {},
                               {{ir::Attr::value, ir::Literal::CopyOf(ir::DType::kF32, {4}, kOne)}},
                               {ir::Shape(ir::DType::kF32, {ir::Dim(4)})})
                       ->result()
                 : g.Parameter({4}, /*weight=*/true);
    return g.Steps({Product(g, x, w)});
  }
  ir::Value Product(FakeGraph& g, ir::Value x, ir::Value w) const {
    const ir::Value panels = g.Fusion({w}, {4}, pack);
    panels.node->attrs().Set(ir::Attr::deferred, true);
    return g.Fusion({x, w, panels}, {4}, add);
  }
};

// Expects 5 + w.
void Call(Executable& e, const float* w, uint64_t version) {
  const float xs[4] = {5, 5, 5, 5};
  TestHost host;
  std::vector<Argument> arguments = {{xs, 0}};
  if (e.graph().parameters.size() > 1) arguments.push_back({w, version});
  ASSERT_TRUE(e.Run(arguments, host).ok());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(host.results[0][i], 5 + w[i]);
}

bool IsHost() { return TestDevice()->is_host(); }

// Calls until all is packed, and counts them.
int64_t CallsUntilPacked(Executable& e, const float* w, uint64_t version) {
  int64_t calls = 0;
  do {
    Call(e, w, version);
    ++calls;
  } while (e.num_unpacked() > 0);
  return calls;
}

TEST(LatePacking, WeightsArePackedOnceAndNotInTheFirstCalls) {
  if (!IsHost()) return;  // other devices pack in the first call
  LateGraph late;
  const Executable::Options options = TestOptions();
  auto e = Executable::Create(late.Steps(), options);
  for (int64_t call = 1; call < Deferral::kQuietCalls; ++call) {
    Call(*e, kOne, 7);
    EXPECT_EQ(late.chunks, 0);
    EXPECT_EQ(options.weights->budget()->used(), 0);
  }
  CallsUntilPacked(*e, kOne, 7);
  EXPECT_EQ(late.chunks, kChunks);
  const int unpacked = late.unpacked;
  for (int call = 0; call < 10; ++call) Call(*e, kOne, 7);
  EXPECT_EQ(late.unpacked, unpacked);
  EXPECT_EQ(late.chunks, kChunks);
  EXPECT_EQ(options.weights->budget()->used(), kAlignment);
}

TEST(LatePacking, AChangeIsSeenAtOnceAndTheNextPackingWaitsForLonger) {
  if (!IsHost()) return;  // other devices pack in the first call
  LateGraph late;
  const Executable::Options options = TestOptions();
  auto e = Executable::Create(late.Steps(), options);
  CallsUntilPacked(*e, kOne, 7);
  for (int64_t call = 1; call < 2 * Deferral::kQuietCalls; ++call) {
    Call(*e, kTwo, 8);
    EXPECT_EQ(options.weights->budget()->used(), 0);
  }
  CallsUntilPacked(*e, kTwo, 8);
  EXPECT_EQ(late.chunks, 2 * kChunks);
  // Without a version nothing is kept.
  for (int call = 0; call < 50; ++call) Call(*e, call % 2 == 0 ? kOne : kTwo, 0);
  EXPECT_EQ(late.chunks, 2 * kChunks);
  EXPECT_EQ(options.weights->budget()->used(), 0);
  EXPECT_GE(CallsUntilPacked(*e, kOne, 9), 4 * Deferral::kQuietCalls);
}

TEST(LatePacking, WeightsThatChangeOftenAreLeftAlone) {
  if (!IsHost()) return;  // other devices pack in the first call
  for (int64_t every : {1, 2, 5, 20}) {
    LateGraph late;
    auto e = Executable::Create(late.Steps(), TestOptions());
    for (int64_t call = 0; call < 2000; ++call) {
      const int64_t version = 1 + call / every;
      Call(*e, version % 2 == 0 ? kTwo : kOne, static_cast<uint64_t>(version));
    }
    // Waits of 4, 8 and 16 calls end before the twentieth.
    EXPECT_LE(late.chunks, (every < 4 ? 0 : every < 8 ? 1 : 3) * kChunks) << every;
  }
}

TEST(LatePacking, ConstantsArePackedToo) {
  if (!IsHost()) return;  // other devices pack in the first call
  LateGraph late;
  auto e = Executable::Create(late.Steps(/*constant=*/true), TestOptions());
  Call(*e, kOne, 0);
  EXPECT_EQ(late.chunks, 0);
  CallsUntilPacked(*e, kOne, 0);
  EXPECT_EQ(late.chunks, kChunks);
  Call(*e, kOne, 0);
}

TEST(LatePacking, WithoutBudgetWeightsStayAsTheyAre) {
  if (!IsHost()) return;  // other devices pack in the first call
  LateGraph late;
  const Executable::Options options = TestOptions(/*weight_bytes=*/kAlignment - 1);
  auto e = Executable::Create(late.Steps(), options);
  const int calls = 100;
  for (int call = 0; call < calls; ++call) Call(*e, kOne, 7);
  EXPECT_EQ(options.weights->budget()->used(), 0);
  EXPECT_EQ(e->num_unpacked(), 0);  // given up
  EXPECT_EQ(late.chunks, 0);
}

TEST(LatePacking, ExecutablesOfOneStorePackOnce) {
  if (!IsHost()) return;  // other devices pack in the first call
  LateGraph late;
  const Executable::Options options = TestOptions();
  auto a = Executable::Create(late.Steps(), options);
  auto b = Executable::Create(late.Steps(), options);
  do {
    Call(*a, kOne, 7);
    Call(*b, kOne, 7);
  } while (a->num_unpacked() + b->num_unpacked() > 0);
  EXPECT_EQ(late.chunks, kChunks);
  Call(*b, kTwo, 8);
  Call(*a, kTwo, 8);
  EXPECT_EQ(options.weights->budget()->used(), 0);
  a.reset();
  b.reset();
  EXPECT_EQ(options.weights->budget()->used(), 0);
}

TEST(LatePacking, CallsAtOnce) {
  LateGraph late;
  auto e = Executable::Create(late.Steps(), TestOptions());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 400; ++i) {
        // Two threads keep theirs for long, two change them.
        const int which = t < 2 ? i / 100 : (i / 10 + t) % 3;
        Call(*e, which % 2 == 1 ? kTwo : kOne, which == 2 ? 0 : which % 2 + 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CallsUntilPacked(*e, kTwo, 2);
  Call(*e, kTwo, 2);
}

TEST(LatePacking, AResultThatOthersReadIsComputedAtOnce) {
  LateGraph late;
  FakeGraph g;
  const ir::Value x = g.Parameter({4}), w = g.Parameter({4}, /*weight=*/true);
  const ir::Value y = late.Product(g, x, w);
  const ir::Value panels = y.node->operand(2);
  auto e = Executable::Create(g.Steps({y, panels}), TestOptions());
  Call(*e, kOne, 7);
  EXPECT_EQ(late.chunks, kChunks);
  EXPECT_EQ(late.unpacked, 0);
}

TEST(LatePacking, IsPartOfTheBytes) {
  LateGraph late;
  const StepGraph steps = late.Steps();
  ByteWriter out;
  WriteStepGraph(steps, &out);
  ByteReader in(out.bytes());
  StepGraph read;
  ASSERT_TRUE(ReadStepGraph(&in, &read));
  for (size_t s = 0; s < read.steps.size(); ++s) read.steps[s].kernel = steps.steps[s].kernel;
  read.SetTypicalBytes();
  read.FindGroups();
  ASSERT_EQ(read.groups.size(), 1);
  EXPECT_TRUE(read.groups[0].deferred);
}

TEST(LatePacking, OneChunkAtATimeWhereThereIsNoTime) {
  if (!IsHost()) return;  // other devices pack in the first call
  LateGraph late;
  const StepGraph steps = late.Steps();
  const auto budget = std::make_shared<MemoryBudget>(int64_t{1} << 20);
  Deferral deferral;
  deferral.See({7}, true, 0);
  for (int chunk = 1; chunk <= kChunks; ++chunk) {
    EXPECT_EQ(PackUntil(Nanoseconds(), steps, 0, kOne, budget, &deferral), chunk == kChunks);
    EXPECT_EQ(late.chunks, chunk);
  }
  const auto block = deferral.Take();
  EXPECT_EQ(reinterpret_cast<const float*>(block->data())[3], -1);
}

TEST(LatePacking, TakesAShareOfTheTime) {
  PackingTime time;
  EXPECT_EQ(time.Earn(800), 100);
  EXPECT_EQ(time.Earn(800), 100);  // what was not spent is lost
  time.Spend(250);                 // a chunk that was long
  EXPECT_EQ(time.Earn(800), 0);
  EXPECT_EQ(time.Earn(800), 50);
  EXPECT_EQ(time.calls(), 4);
}

}  // namespace
}  // namespace tektite::runtime
