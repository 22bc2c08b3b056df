#include "jit/serving/host_time.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tektite::serving {
namespace {

// What a first call makes was taken for time that compiled code would save.
TEST(HostTime, FirstCallCountsAsNoLongerThanTheSecond) {
  HostTime time;
  time.Add(10'000'000);
  EXPECT_EQ(time.total(), 0);
  time.Add(200'000);
  EXPECT_EQ(time.total(), 400'000);
  time.Add(300'000);
  EXPECT_EQ(time.total(), 700'000);
}

TEST(HostTime, ShorterFirstCallCountsAsItIs) {
  HostTime time;
  time.Add(100);
  time.Add(300);
  EXPECT_EQ(time.total(), 400);
}

TEST(HostTime, LongFirstCallCountsAtOnce) {
  HostTime time;
  time.Add(HostTime::kLong);
  EXPECT_EQ(time.total(), HostTime::kLong);
  time.Add(5);
  EXPECT_EQ(time.total(), HostTime::kLong + 5);
}

TEST(HostTime, CallsThatOverlapAllCount) {
  HostTime time;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int call = 0; call < 1000; ++call) time.Add(1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(time.total(), 4000);
}

}  // namespace
}  // namespace tektite::serving
