#include "runtime_hooks/tensorflow/hook/run/block_pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace tektite::tf_hook {
namespace {

constexpr size_t kMegabyte = 1 << 20;

TEST(BlockPool, KeepsAFreedBlockForTheNextCallOfItsSize) {
  BlockPool pool(8 * kMegabyte);
  void* const first = pool.Allocate(2 * kMegabyte);
  std::memset(first, 1, 2 * kMegabyte);
  EXPECT_EQ(pool.held_bytes(), 0u);
  pool.Free(first);
  EXPECT_EQ(pool.held_bytes(), 2 * kMegabyte);
  void* const other_size = pool.Allocate(3 * kMegabyte);
  EXPECT_NE(other_size, first);
  void* const nearly_the_size = pool.Allocate(2 * kMegabyte - 4000);
  EXPECT_EQ(nearly_the_size, first);
  pool.Free(other_size);
  pool.Free(nearly_the_size);
}

TEST(BlockPool, BlocksAreAlignedAndAsLargeAsAskedFor) {
  BlockPool pool(4 * kMegabyte);
  for (size_t bytes : {size_t{1}, BlockPool::kSmallest, BlockPool::kSmallest + 1, kMegabyte - 1,
                       kMegabyte, kMegabyte + 1, 5 * kMegabyte / 4}) {
    void* const block = pool.Allocate(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % BlockPool::kAlignment, 0u) << bytes;
    std::memset(block, 0xAB, bytes);  // the address sanitizer watches
    pool.Free(block);
  }
}

TEST(BlockPool, GivesTheLongestIdleBackWhenItHoldsTooMuch) {
  BlockPool pool(4 * kMegabyte);
  std::vector<void*> blocks;
  for (int i = 0; i < 6; ++i) blocks.push_back(pool.Allocate(kMegabyte));
  for (void* block : blocks) pool.Free(block);
  EXPECT_EQ(pool.held_bytes(), 4 * kMegabyte);
  for (int i = 5; i >= 2; --i) EXPECT_EQ(pool.Allocate(kMegabyte), blocks[i]);
  EXPECT_EQ(pool.held_bytes(), 0u);
  for (int i = 5; i >= 2; --i) pool.Free(blocks[i]);
}

TEST(BlockPool, GivesBackWhatNobodyAskedForInALongTime) {
  BlockPool pool(64 * kMegabyte);
  pool.Free(pool.Allocate(8 * kMegabyte));
  for (uint64_t i = 0; i <= BlockPool::kMostIdle; ++i) pool.Free(pool.Allocate(kMegabyte));
  EXPECT_EQ(pool.held_bytes(), kMegabyte);
}

TEST(BlockPool, ABlockLargerThanTheBoundIsNotKept) {
  BlockPool pool(kMegabyte);
  pool.Free(pool.Allocate(2 * kMegabyte));
  EXPECT_EQ(pool.held_bytes(), 0u);
}

TEST(BlockPool, AnImpossibleSizeIsNull) {
  BlockPool pool(kMegabyte);
  EXPECT_EQ(pool.Allocate(SIZE_MAX - 100), nullptr);
  pool.Free(nullptr);
}

TEST(BlockPool, ThreadsNeverShareABlock) {
  BlockPool pool(2 * kMegabyte);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, t] {
      for (int i = 0; i < 2000; ++i) {
        const size_t bytes = BlockPool::kSmallest << (i % 3);
        auto* const block = static_cast<unsigned char*>(pool.Allocate(bytes));
        block[0] = block[bytes - 1] = static_cast<unsigned char>(t);
        ASSERT_EQ(block[0] + block[bytes - 1], 2 * t);
        pool.Free(block);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(pool.held_bytes(), 2 * kMegabyte);
}

}  // namespace
}  // namespace tektite::tf_hook
