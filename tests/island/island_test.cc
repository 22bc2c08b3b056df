// The island does what the tests on it rely on: its memory is closed, its streams are late.
#include "tests/island/island.h"

#include <atomic>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"
#include "jit/runtime/memory/arena_pool.h"
#include "jit/runtime/weights/weights.h"

namespace tektite::testing {
namespace {

using backend::Block;
using backend::Stream;

class AddOne final : public backend::HostKernel {
 public:
  backend::LaunchConfig Configure(absl::Span<const int64_t>) const override { return {}; }
  void Run(const backend::KernelFrame& frame, int64_t, int64_t) const override {
    *static_cast<int*>(frame.buffers[1]) = *static_cast<int*>(frame.buffers[0]) + 1;
  }
};

TEST(IslandDeathTest, MemoryIsClosedToTheHost) {
  IslandMemory memory;
  const Block block = memory.Allocate(100);
  ASSERT_NE(block.data(), nullptr);
  EXPECT_DEATH(*block.data() = std::byte{1}, "");
  EXPECT_DEATH(std::fprintf(stderr, "%d", static_cast<int>(*block.data())), "");
}

TEST(IslandDeathTest, CopiesKnowWhoseMemoryIsWhose) {
  IslandDevice device;
  const Block block = device.memory().Allocate(100);
  int value = 0;
  const auto copy = [&](void (Stream::*way)(void*, const void*, int64_t)) {
    device
        .WithStream({},
                    [&](Stream& stream) {
                      (stream.*way)(block.data(), &value, sizeof(value));
                      return stream.Synchronize();
                    })
        .IgnoreError();
  };
  EXPECT_DEATH(copy(&Stream::CopyToHost), "wrong memory");
  EXPECT_DEATH(copy(&Stream::CopyWithin), "wrong memory");
  copy(&Stream::CopyFromHost);
}

TEST(Island, StreamsRunKernelsAndCopiesInTheirOrder) {
  IslandDevice device;
  const IslandKernel kernel(std::make_shared<AddOne>());
  const Block block = device.memory().Allocate(256);
  void* const a = block.data();
  void* const b = block.data() + 64;
  void* const there[] = {a, b};
  void* const back[] = {b, a};
  for (int i = 0; i < 50; ++i) {
    const int begin = i;
    int end = 0;
    ASSERT_TRUE(device
                    .WithStream({},
                                [&](Stream& stream) {
                                  stream.CopyFromHost(a, &begin, sizeof(int));
                                  for (int n = 0; n < 10; ++n) {
                                    stream.Launch(kernel, kernel.Configure({}), there, {});
                                    stream.Launch(kernel, kernel.Configure({}), back, {});
                                  }
                                  stream.CopyWithin(b, a, sizeof(int));
                                  stream.CopyToHost(&end, b, sizeof(int));
                                  return stream.Synchronize();
                                })
                    .ok());
    ASSERT_EQ(end, i + 20);
  }
}

TEST(Island, EventsOrderTwoStreams) {
  IslandDevice device;
  const IslandKernel kernel(std::make_shared<AddOne>());
  const Block block = device.memory().Allocate(256);
  void* const buffers[] = {block.data(), block.data()};
  for (int i = 0; i < 50; ++i) {
    int end = 0;
    const int zero = 0;
    const absl::Status status = device.WithStream({}, [&](Stream& first) {
      return device.WithStream({}, [&](Stream& second) {
        first.CopyFromHost(block.data(), &zero, sizeof(int));
        for (int n = 0; n < 20; ++n) first.Launch(kernel, kernel.Configure({}), buffers, {});
        second.Wait(*first.Record());
        second.CopyToHost(&end, block.data(), sizeof(int));
        return second.Synchronize();
      });
    });
    ASSERT_TRUE(status.ok());
    ASSERT_EQ(end, 20);
  }
}

TEST(Island, ACancelledStreamRunsNoMore) {
  IslandDevice device;
  std::atomic<int> asked{0};
  const auto is_cancelled = [&] { return ++asked > 3; };
  const backend::StreamOptions options = {{}, 0, 0, nullptr, nullptr, false, is_cancelled};
  const Block block = device.memory().Allocate(64);
  int values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  const absl::Status status = device.WithStream(options, [&](Stream& stream) {
    for (int& value : values) stream.CopyFromHost(block.data(), &value, sizeof(int));
    return stream.Synchronize();
  });
  EXPECT_TRUE(absl::IsCancelled(status));
  EXPECT_EQ(asked, 4);
}

TEST(Island, MemoryIsGivenBackAndFoundAgain) {
  IslandMemory memory;
  void* first = nullptr;
  {
    const Block a = memory.Allocate(5000), b = memory.Allocate(0), c = memory.Allocate(70000);
    ASSERT_NE(b.data(), nullptr);
    first = a.data();
    EXPECT_GT(memory.held_bytes(), 75000);
  }
  EXPECT_EQ(memory.held_bytes(), 0);
  EXPECT_EQ(memory.Allocate(80000).data(), first);
  EXPECT_EQ(memory.Allocate(memory.limit() + 1).data(), nullptr);
  EXPECT_EQ(memory.Allocate(-1).data(), nullptr);
}

TEST(Island, ArenasAndWeightsLieThere) {
  const auto device = std::make_shared<IslandDevice>();
  runtime::ArenaPool pool(device);
  const auto lease = pool.Acquire(1000);
  EXPECT_TRUE(device->island_memory().Holds(lease.data(), 1000));
  const auto budget = std::make_shared<runtime::MemoryBudget>(10000, device);
  const auto block = runtime::WeightBlock::Create(budget, 1000);
  EXPECT_TRUE(device->island_memory().Holds(block->data(), 1000));
}

}  // namespace
}  // namespace tektite::testing
