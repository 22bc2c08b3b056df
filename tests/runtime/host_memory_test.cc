// Memory of the host's: used where it is offered, returned to its owner.
#include "jit/runtime/memory/host_memory.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>

#include "gtest/gtest.h"
#include "jit/base/rounding.h"
#include "jit/runtime/memory/arena_pool.h"
#include "jit/runtime/weights/weights.h"
#include "tests/runtime/fake_kernels.h"

namespace tektite::runtime {
namespace {

struct FakeHost {
  std::map<void*, size_t> lent;
  bool has_room = true;
  int64_t offset = 0;  // of its blocks, off a page

  HostAllocator Allocator() {
    return {this,
            [](void* self, size_t bytes) -> void* {
              auto* host = static_cast<FakeHost*>(self);
              if (!host->has_room) return nullptr;
              const int64_t rounded = RoundUp(static_cast<int64_t>(bytes) + 4096, 4096);
              auto* block = static_cast<std::byte*>(std::aligned_alloc(4096, rounded));
              host->lent[block + host->offset] = bytes;
              return block + host->offset;
            },
            [](void* self, void* block) {
              auto* host = static_cast<FakeHost*>(self);
              EXPECT_EQ(host->lent.erase(block), 1u);
              std::free(static_cast<std::byte*>(block) - host->offset);
            }};
  }
};

// Sizes around those from which huge pages are asked for, at addresses that are no page's.
TEST(HostMemory, HostsMemoryGoesBackToTheHost) {
  for (const int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{1} << 20, int64_t{4} << 20,
                              (int64_t{9} << 20) + 64, int64_t{33} << 20}) {
    FakeHost host;
    host.offset = 192;
    {
      HostMemory memory(host.Allocator());
      backend::Block block = memory.Allocate(bytes);
      ASSERT_EQ(host.lent.count(block.data()), 1u) << bytes;
      EXPECT_GE(host.lent[block.data()], static_cast<size_t>(block.bytes()));
      EXPECT_GE(block.bytes(), bytes);
      std::memset(block.data(), 1, block.bytes());
      backend::Block moved = std::move(block);
      EXPECT_EQ(host.lent.size(), 1u);
    }
    EXPECT_TRUE(host.lent.empty()) << bytes;
  }
}

// Asking for huge pages exchanges those that are there: nothing that the host has in them, before
// and after the block, may change.
TEST(HostMemory, LeavesWhatIsBesideItAlone) {
  constexpr int64_t kBytes = int64_t{16} << 20, kBegin = (int64_t{3} << 20) + 320;
  auto* const region = static_cast<std::byte*>(std::aligned_alloc(4096, kBytes));
  ASSERT_NE(region, nullptr);
  std::memset(region, 7, kBytes);
  HostMemory memory({region + kBegin, [](void* at, size_t) { return at; }, [](void*, void*) {}});
  const int64_t bytes = int64_t{9} << 20;
  {
    backend::Block block = memory.Allocate(bytes);
    std::memset(block.data(), 1, block.bytes());
  }
  for (int64_t i = 0; i < kBytes; ++i) {
    const bool inside = i >= kBegin && i < kBegin + bytes;
    ASSERT_EQ(region[i], std::byte{static_cast<unsigned char>(inside ? 1 : 7)}) << i;
  }
  std::free(region);
}

TEST(HostMemory, IsTheSystemsWhereTheHostHasNoRoom) {
  FakeHost host;
  host.has_room = false;
  HostMemory memory(host.Allocator());
  const backend::Block block = memory.Allocate(1000);
  ASSERT_NE(block.data(), nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block.data()) % kAlignment, 0u);
  EXPECT_TRUE(host.lent.empty());
}

TEST(HostMemory, WeightsAndArenasAreTheHosts) {
  FakeHost host;
  {
    const auto device = std::make_shared<HostDevice>(host.Allocator());
    auto budget = std::make_shared<MemoryBudget>(10000, device);
    const auto block = WeightBlock::Create(budget, 1000);
    EXPECT_EQ(host.lent.count(block->data()), 1u);
    ArenaPool pool(device);
    const auto lease = pool.Acquire(2000);
    EXPECT_EQ(host.lent.count(lease.data()), 1u);
  }
  EXPECT_TRUE(host.lent.empty());
}

// A training step's arena of 300 MB stayed beside what the host's kernels took in a comparison.
TEST(ArenaPool, ReturnsLargeIdleBlocks) {
  ArenaPool pool;
  constexpr int64_t kLarge = int64_t{100} << 20, kSmall = 5000;
  {
    const auto lent = pool.Acquire(kLarge);
    { const auto small = pool.Acquire(kSmall), large = pool.Acquire(kLarge); }
    pool.ReleaseLargeIdle();
    EXPECT_GE(pool.held_bytes(), kLarge + kSmall);  // what is lent, and what is small, stays
    EXPECT_LT(pool.held_bytes(), 2 * kLarge);
  }
  pool.ReleaseLargeIdle();
  EXPECT_GE(pool.held_bytes(), kSmall);
  EXPECT_LT(pool.held_bytes(), kLarge);
  EXPECT_NE(pool.Acquire(kLarge).data(), nullptr);
}

// A training step's arena lay beside the free memory of the host's kernels, no piece of which was
// as large.
TEST(Executable, TakesALargeArenaInPieces) {
  constexpr int64_t kFloats = 3 << 20, kParts = 12;
  FakeGraph g;
  const ir::Value x = g.Parameter({kFloats});
  std::vector<ir::Value> parts;
  for (int i = 0; i < kParts; ++i) {
    parts.push_back(
        g.Fusion({x}, {kFloats}, MapKernel(1, kFloats, [i](const float* v) { return *v + i; })));
  }
  ir::Value sum = parts[0];
  for (int i = 1; i < kParts; ++i) {
    sum = g.Fusion({sum, parts[i]}, {kFloats},
                   MapKernel(2, kFloats, [](const float* v) { return 2 * v[0] + v[1]; }));
  }
  FakeHost allocator;
  {
    const auto device = std::make_shared<HostDevice>(allocator.Allocator());
    Executable::Options options;
    options.arenas = std::make_shared<ArenaPool>(device);
    options.weights =
        std::make_shared<WeightStore>(std::make_shared<MemoryBudget>(1 << 20, device));
    const auto e = Executable::Create(g.Steps({sum}), options);
    std::vector<float> values(kFloats, 1);
    values[kFloats - 1] = 3;
    TestHost host;
    ASSERT_TRUE(e->Run({Argument{values.data(), 0}}, host).ok());
    float first = 1, last = 3;
    for (int i = 1; i < kParts; ++i) {
      first = 2 * first + 1 + i;
      last = 2 * last + 3 + i;
    }
    EXPECT_EQ(host.results[0][0], first);
    EXPECT_EQ(host.results[0][kFloats - 1], last);
    EXPECT_GE(allocator.lent.size(), 3u);
    for (const auto& [block, bytes] : allocator.lent) EXPECT_LE(bytes, size_t{40} << 20);
  }
  EXPECT_TRUE(allocator.lent.empty());
}

}  // namespace
}  // namespace tektite::runtime
