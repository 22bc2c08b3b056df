// Buffers that live at the same time never overlap, and little memory is wasted.
#include "jit/runtime/memory/buffer_assignment.h"

#include <algorithm>
#include <random>
#include <set>

#include "gtest/gtest.h"
#include "jit/runtime/memory/host_memory.h"
#include "tests/runtime/fake_kernels.h"

namespace tektite::runtime {
namespace {

TEST(ArenaOrder, NeverOverlapsLiveBuffers) {
  std::mt19937 random(7);
  double worst = 1;
  for (int round = 0; round < 200; ++round) {
    std::vector<LiveBuffer> buffers(1 + random() % 120);
    for (LiveBuffer& b : buffers) {
      b.bytes = random() % 8 == 0 ? 0 : static_cast<int64_t>(random() % 100000);
      b.first = static_cast<int>(random() % 100);
      b.last = b.first + static_cast<int>(random() % 12);
    }
    const ArenaOrder order(buffers);
    // The second time round for sizes that the order was not chosen for.
    ArenaLayout layout = order.layout();
    if (round % 2 == 1) {
      std::vector<int64_t> bytes;
      for (LiveBuffer& b : buffers) {
        b.bytes = b.bytes / 7 + static_cast<int64_t>(random() % 3000);
        bytes.push_back(b.bytes);
      }
      layout = order.Place(bytes);
    }
    for (size_t i = 0; i < buffers.size(); ++i) {
      ASSERT_EQ(layout.offsets[i] % kAlignment, 0);
      ASSERT_LE(layout.offsets[i] + buffers[i].bytes, layout.bytes);
      for (size_t j = 0; j < i; ++j) {
        const bool together =
            buffers[i].first <= buffers[j].last && buffers[j].first <= buffers[i].last;
        const bool overlap = layout.offsets[i] < layout.offsets[j] + buffers[j].bytes &&
                             layout.offsets[j] < layout.offsets[i] + buffers[i].bytes;
        ASSERT_FALSE(together && overlap) << round << ": " << i << " and " << j;
      }
    }
    ASSERT_GE(layout.bytes, layout.max_live_bytes);
    if (round % 2 == 0 && layout.max_live_bytes > 0) {
      worst = std::max(worst, static_cast<double>(layout.bytes) / layout.max_live_bytes);
    }
  }
  EXPECT_LT(worst, 1.35);
}

// The largest block of a layout, of which no two that live at once overlap and none lies across two
// blocks.
int64_t CheckBlocks(const std::vector<LiveBuffer>& buffers, const ArenaLayout& layout) {
  EXPECT_EQ(layout.blocks.front(), 0);
  std::vector<int64_t> ends(layout.blocks.begin() + 1, layout.blocks.end());
  ends.push_back(layout.bytes);
  int64_t largest = 0;
  for (size_t i = 0; i < ends.size(); ++i) largest = std::max(largest, ends[i] - layout.blocks[i]);
  for (size_t i = 0; i < buffers.size(); ++i) {
    const int64_t begin = layout.offsets[i], end = begin + buffers[i].bytes;
    const auto block = std::upper_bound(ends.begin(), ends.end(), begin);
    EXPECT_TRUE(block != ends.end() && end <= *block) << i;
    for (size_t j = 0; j < i; ++j) {
      const bool together =
          buffers[i].first <= buffers[j].last && buffers[j].first <= buffers[i].last;
      const int64_t other = layout.offsets[j];
      EXPECT_FALSE(together && begin < other + buffers[j].bytes && other < end) << i << ", " << j;
    }
  }
  return largest;
}

// A training step: forwards each layer leaves an activation, which it is read for backwards.
std::vector<LiveBuffer> TrainingStep(int layers, int64_t bytes) {
  std::mt19937 random(7);
  std::vector<LiveBuffer> buffers;
  for (int i = 0; i < layers; ++i) {
    const int64_t size = (bytes >> (i * 4 / layers)) - 64 * static_cast<int64_t>(random() % 50);
    buffers.push_back({size, i, 2 * layers - i});
    buffers.push_back({size, i, i + 1});
    buffers.push_back({size, 2 * layers - i - 1, 2 * layers - i});
  }
  return buffers;
}

TEST(ArenaOrder, LargeArenasLieInBlocks) {
  for (const int64_t megabytes : {3, 11, 24, 51}) {
    const std::vector<LiveBuffer> buffers = TrainingStep(48, megabytes << 20);
    const ArenaOrder order(buffers);
    std::vector<int64_t> bytes;
    for (const LiveBuffer& b : buffers) bytes.push_back(b.bytes);
    ArenaLayout layout = order.layout();
    order.CutIntoBlocks(bytes, &layout);
    EXPECT_LE(layout.bytes, order.layout().bytes + order.layout().bytes / 16);
    EXPECT_LE(layout.blocks.size(), static_cast<size_t>(ArenaOrder::kMostBlocks));
    EXPECT_LE(CheckBlocks(buffers, layout), std::max(layout.bytes / 6, int64_t{40} << 20))
        << megabytes;
  }
}

// Buffers of several units, random ones between them, and sizes that no machine has.
TEST(ArenaOrder, BlocksHoldAnySizes) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 100; ++round) {
    std::vector<LiveBuffer> buffers(1 + random() % 80);
    std::vector<int64_t> bytes;
    const uint64_t shift = round % 4 == 0 ? 40 : 26;
    for (LiveBuffer& b : buffers) {
      b.bytes = static_cast<int64_t>(random() % (uint64_t{1} << (random() % shift)));
      b.first = static_cast<int>(random() % 60);
      b.last = b.first + static_cast<int>(random() % 20);
      bytes.push_back(b.bytes);
    }
    const ArenaOrder order(buffers);
    ArenaLayout layout = order.layout();
    order.CutIntoBlocks(bytes, &layout);
    if (!layout.blocks.empty()) CheckBlocks(buffers, layout);
  }
}

TEST(ArenaOrder, ASmallArenaIsOneBlock) {
  const std::vector<LiveBuffer> buffers(3, {int64_t{20} << 20, 0, 1});
  const ArenaOrder order(buffers);
  ArenaLayout layout = order.layout();
  order.CutIntoBlocks({20 << 20, 20 << 20, 20 << 20}, &layout);
  EXPECT_TRUE(layout.blocks.empty());
  EXPECT_EQ(layout.bytes, int64_t{60} << 20);
}

TEST(ArenaOrder, AChainNeedsTwoBuffers) {
  std::vector<LiveBuffer> buffers;
  for (int t = 0; t < 50; ++t) buffers.push_back({1024, t, t + 1});
  EXPECT_EQ(ArenaOrder(buffers).layout().bytes, 2048);
}

TEST(ArenaOrder, NothingNeedsNothing) {
  EXPECT_EQ(ArenaOrder(absl::Span<const LiveBuffer>()).layout().bytes, 0);
}

// A graph of random steps, some of them in place, run for real: every value must survive until its
// last use, whatever was laid over what.
TEST(AssignBuffers, RandomGraphsComputeWhatTheyShould) {
  std::mt19937 random(11);
  for (int round = 0; round < 100; ++round) {
    constexpr int64_t kElements = 32;
    FakeGraph g;
    std::vector<ir::Value> values;
    std::vector<std::vector<float>> expected;
    std::vector<float> input(kElements);
    for (float& x : input) x = static_cast<float>(random() % 100);
    values.push_back(g.Parameter({kElements}));
    expected.push_back(input);
    const int steps = 1 + static_cast<int>(random() % 40);
    for (int s = 0; s < steps; ++s) {
      auto pick = [&] {
        const size_t near = std::min<size_t>(values.size(), 6);
        return values.size() - 1 - random() % near;
      };
      const size_t a = pick(), b = pick();
      if (random() % 5 == 0) {
        values.push_back(g.Reshape(values[a], {4, kElements / 4}));
        expected.push_back(expected[a]);
        continue;
      }
      if (random() % 4 == 0) {
        // Half of one, seen again and again, and all of another; the kernel would run in place.
        const auto half = static_cast<int64_t>(random() % 2);
        const ir::Value part = g.Part(values[a], half * kElements / 2, kElements / 2);
        values.push_back(g.Fusion({part, values[b]}, {kElements},
                                  std::make_shared<FakeKernel>(
                                      [](const backend::KernelFrame& f, int64_t) {
                                        const auto *x = static_cast<float*>(f.buffers[0]),
                                                   *y = static_cast<float*>(f.buffers[1]);
                                        auto* z = static_cast<float*>(f.buffers[2]);
                                        for (int64_t i = 0; i < kElements; ++i)
                                          z[i] = y[i] + x[i % (kElements / 2)] / 4;
                                      },
                                      1, 0, /*in_place=*/true)));
        expected.emplace_back();
        for (int64_t i = 0; i < kElements; ++i) {
          const int64_t from = half * kElements / 2 + i % (kElements / 2);
          expected.back().push_back(expected[b][i] + expected[a][from] / 4);
        }
        continue;
      }
      const bool in_place = random() % 2 == 0;
      const auto scale = static_cast<float>(s % 3);
      auto map = MapKernel(
          2, kElements, [=](const float* x) { return x[0] - scale * x[1] / 4; }, 1, 0, in_place);
      values.push_back(g.Fusion({values[a], values[b]}, {kElements}, map));
      expected.emplace_back();
      for (int64_t i = 0; i < kElements; ++i) {
        expected.back().push_back(expected[a][i] - scale * expected[b][i] / 4);
      }
    }
    std::vector<ir::Value> outputs;
    std::vector<size_t> which;
    for (int k = 0; k < 3; ++k) {
      which.push_back(k == 0 ? values.size() - 1 : random() % values.size());
      outputs.push_back(values[which.back()]);
    }
    auto executable = Executable::Create(g.Steps(outputs), TestOptions());
    TestHost host;
    host.may_forward = random() % 2 == 0;
    const Argument argument{input.data(), 0};
    ASSERT_TRUE(executable->Run({argument}, host).ok());
    for (int k = 0; k < 3; ++k) {
      if (host.forwarded.count(k)) continue;
      host.results[k].pop_back();
      ASSERT_EQ(host.results[k], expected[which[k]]) << "round " << round << " output " << k;
    }
  }
}

TEST(AssignBuffers, AnElementwiseChainRunsInTheResult) {
  FakeGraph g;
  ir::Value v = g.Parameter({1000});
  for (int i = 0; i < 5; ++i) {
    v = g.Fusion({v}, {1000}, MapKernel(1, 1000, [](const float* x) { return x[0] + 1; }));
  }
  const StepGraph steps = g.Steps({g.Reshape(v, {10, 100})});
  const BufferAssignment plan = AssignBuffers(steps, {}, {});
  EXPECT_EQ(plan.arena.layout().bytes, 0);
  EXPECT_EQ(plan.in_place, 4);
  EXPECT_EQ(plan.outputs[0].kind, OutputSource::Kind::kDirect);
}

TEST(AssignBuffers, AnOperandThatIsAnOutputIsNotOverwritten) {
  FakeGraph g;
  auto inc = MapKernel(1, 16, [](const float* x) { return x[0] + 1; });
  ir::Value a = g.Fusion({g.Parameter({16})}, {16}, inc);
  ir::Value b = g.Fusion({a}, {16}, inc);
  const StepGraph steps = g.Steps({a, b, a});
  const BufferAssignment plan = AssignBuffers(steps, {}, {});
  EXPECT_EQ(plan.in_place, 0);
  EXPECT_EQ(plan.outputs[2].kind, OutputSource::Kind::kCopy);
}

}  // namespace
}  // namespace tektite::runtime
