// Memory of the host's: used where it is offered, given back to whoever it came from.
#include "jit/runtime/aligned_block.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>

#include "gtest/gtest.h"
#include "jit/base/rounding.h"
#include "jit/runtime/arena_pool.h"
#include "jit/runtime/weights.h"

namespace tektite::runtime {
namespace {

struct FakeHost {
  std::map<void*, size_t> lent;
  bool has_room = true;
  int64_t offset = 0;  // of its blocks, off a page

  HostMemory Memory() {
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
TEST(AlignedBlock, HostsMemoryGoesBackToTheHost) {
  for (const int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{1} << 20, int64_t{4} << 20,
                              (int64_t{9} << 20) + 64, int64_t{33} << 20}) {
    FakeHost host;
    host.offset = 192;
    {
      AlignedBlock block = AlignedBlock::Allocate(bytes, host.Memory());
      ASSERT_EQ(host.lent.count(block.data()), 1u) << bytes;
      EXPECT_GE(host.lent[block.data()], static_cast<size_t>(block.bytes()));
      EXPECT_GE(block.bytes(), bytes);
      std::memset(block.data(), 1, block.bytes());
      AlignedBlock moved = std::move(block);
      EXPECT_EQ(host.lent.size(), 1u);
    }
    EXPECT_TRUE(host.lent.empty()) << bytes;
  }
}

// Asking for huge pages exchanges those that are there: nothing that the host has in them, before
// and after the block, may change.
TEST(AlignedBlock, LeavesWhatIsBesideItAlone) {
  constexpr int64_t kBytes = int64_t{16} << 20, kBegin = (int64_t{3} << 20) + 320;
  auto* const region = static_cast<std::byte*>(std::aligned_alloc(4096, kBytes));
  ASSERT_NE(region, nullptr);
  std::memset(region, 7, kBytes);
  const HostMemory memory = {region + kBegin, [](void* at, size_t) { return at; },
                             [](void*, void*) {}};
  const int64_t bytes = int64_t{9} << 20;
  {
    AlignedBlock block = AlignedBlock::Allocate(bytes, memory);
    std::memset(block.data(), 1, block.bytes());
  }
  for (int64_t i = 0; i < kBytes; ++i) {
    const bool inside = i >= kBegin && i < kBegin + bytes;
    ASSERT_EQ(region[i], std::byte{static_cast<unsigned char>(inside ? 1 : 7)}) << i;
  }
  std::free(region);
}

TEST(AlignedBlock, IsTheSystemsWhereTheHostHasNoRoom) {
  FakeHost host;
  host.has_room = false;
  const AlignedBlock block = AlignedBlock::Allocate(1000, host.Memory());
  ASSERT_NE(block.data(), nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block.data()) % kAlignment, 0u);
  EXPECT_TRUE(host.lent.empty());
}

TEST(AlignedBlock, WeightsAndArenasAreTheHosts) {
  FakeHost host;
  {
    auto budget = std::make_shared<MemoryBudget>(10000, host.Memory());
    const auto block = WeightBlock::Create(budget, 1000);
    EXPECT_EQ(host.lent.count(block->data()), 1u);
    ArenaPool pool(host.Memory());
    const auto lease = pool.Acquire(2000);
    EXPECT_EQ(host.lent.count(lease.data()), 1u);
  }
  EXPECT_TRUE(host.lent.empty());
}

}  // namespace
}  // namespace tektite::runtime
