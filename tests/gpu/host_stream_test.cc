// Calls on a stream of the host's: they return before the card has run them, in its order.
#include <thread>

#include "backends/gpu/driver/launch_graphs.h"
#include "backends/gpu/driver/unfinished_work.h"
#include "gmock/gmock.h"
#include "tests/gpu/host_stream.h"

namespace tektite::testing {
namespace {

using backend::Block;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(HostStream, ACallReturnsBeforeTheCardHasBegun) {
  auto executable = Compile(kTwo);
  const Block x = card_->memory().Allocate(kBytes);
  Host host(card_.get(), stream_);
  for (int call = 0; call < 8; ++call) {  // the third records a graph
    Close();
    Write(x, std::vector<float>(kRows * 4, static_cast<float>(call)));
    // Another one may take pinned memory anew, and wait for that.
    const int64_t waits = Waits(), made = fake_.calls("cuMemAllocFromPoolAsync");
    ASSERT_TRUE(executable->Run({OnCard(x, kDims)}, host).ok());
    EXPECT_EQ(Waits() - waits, fake_.calls("cuMemAllocFromPoolAsync") - made) << call;
    const auto seen = Read(host.results[0].data(), kRows * 4);
    EXPECT_THAT(*seen, Each(0));
    Finish();
    EXPECT_THAT(*seen, Each(Two(static_cast<float>(call))));
  }
  EXPECT_EQ(card_->graphs().recorded(), 1);
}

// One arena serves all calls of the stream, however far the card is behind.
TEST_F(HostStream, CallsFollowEachOtherWithoutWaiting) {
  auto executable = Compile(kTwo);
  constexpr int kCalls = 20;
  std::vector<Block> x;
  std::vector<std::unique_ptr<Host>> hosts;
  std::vector<std::shared_ptr<std::vector<float>>> seen;
  Close();
  int64_t arenas = 0;
  for (int call = 0; call < kCalls; ++call) {
    x.push_back(card_->memory().Allocate(kBytes));
    Write(x.back(), std::vector<float>(kRows * 4, static_cast<float>(call)));
    hosts.push_back(std::make_unique<Host>(card_.get(), stream_));
    ASSERT_TRUE(executable->Run({OnCard(x.back(), kDims)}, *hosts.back()).ok());
    seen.push_back(Read(hosts.back()->results[0].data(), kRows * 4));
    if (call == 0) arenas = compiler_->loader().arena_bytes();
  }
  EXPECT_EQ(compiler_->loader().arena_bytes(), arenas);
  Finish();
  for (int call = 0; call < kCalls; ++call) {
    EXPECT_THAT(*seen[static_cast<size_t>(call)], Each(Two(static_cast<float>(call)))) << call;
  }
}

// An arena that the stream may still use is not for a call on a stream of the card's own.
TEST_F(HostStream, OtherStreamsHaveOtherArenas) {
  auto executable = Compile(kTwo);
  const Block x = card_->memory().Allocate(kBytes);
  Host late(card_.get(), stream_), now(card_.get(), nullptr);
  ASSERT_TRUE(executable->Run({OnCard(x, kDims)}, late).ok());
  Finish();
  Close();
  Write(x, std::vector<float>(kRows * 4, 1));
  ASSERT_TRUE(executable->Run({OnCard(x, kDims)}, late).ok());
  const auto seen = Read(late.results[0].data(), kRows * 4);
  const std::vector<float> two(kRows * 4, 2);
  now.on_host[0] = true;
  for (int call = 0; call < 3; ++call) {
    ASSERT_TRUE(executable->Run({{two.data(), 0, kDims}}, now).ok());
    EXPECT_THAT(now.host_results[0], Each(Two(2)));
  }
  Finish();
  EXPECT_THAT(*seen, Each(Two(1)));
}

TEST_F(HostStream, CodeMayGoBeforeTheCardHasRunIt) {
  auto executable = Compile(kTwo);
  const Block x = card_->memory().Allocate(kBytes);
  Host host(card_.get(), stream_);
  Close();
  Write(x, std::vector<float>(kRows * 4, 3));
  ASSERT_TRUE(executable->Run({OnCard(x, kDims)}, host).ok());
  const auto seen = Read(host.results[0].data(), kRows * 4);
  const int64_t unloads = fake_.calls("cuModuleUnload");
  const int64_t frees = fake_.calls("cuMemFreeAsync");
  executable.reset();
  EXPECT_EQ(fake_.calls("cuModuleUnload"), unloads);
  EXPECT_EQ(fake_.calls("cuMemFreeAsync"), frees);
  std::thread later([&] { Open(); });
  compiler_.reset();  // waits
  later.join();
  EXPECT_GT(fake_.calls("cuModuleUnload"), unloads);
  Finish();
  EXPECT_THAT(*seen, Each(Two(3)));
}

// Arguments of the host's have their places in the arena.
TEST_F(HostStream, AnArenaThatIsTooSmallGoesWhenTheCardHasDoneWithIt) {
  auto executable = Compile(kTwo);
  constexpr int64_t kMore = 4000;
  const int64_t dims[] = {kMore, 4};
  const std::vector<float> x(kRows * 4, 1), large(kMore * 4, 1);
  Host host(card_.get(), stream_), larger(card_.get(), stream_);
  Close();
  ASSERT_TRUE(executable->Run({{x.data(), 0, kDims}}, host).ok());
  const auto seen = Read(host.results[0].data(), kRows * 4);
  const int64_t frees = fake_.calls("cuMemFreeAsync");
  const int64_t arena = compiler_->loader().arena_bytes();
  ASSERT_TRUE(executable->Run({{large.data(), 0, dims}}, larger).ok());
  EXPECT_GT(compiler_->loader().arena_bytes(), arena);
  EXPECT_EQ(fake_.calls("cuMemFreeAsync"), frees);
  Finish();
  EXPECT_THAT(*seen, Each(Two(1)));
  ASSERT_TRUE(executable->Run({{large.data(), 0, dims}}, larger).ok());
  EXPECT_GT(fake_.calls("cuMemFreeAsync"), frees);
  Finish();
}

// What the host has to know is there when the call returns.
TEST_F(HostStream, ResultsInTheHostsMemoryAreWaitedFor) {
  auto executable = Compile(R"(
    graph @f(%x: f32[n,4]) -> (f32[n,4], f32[4]) {
      %e: f32[n,4] = add(%x, %x)
      %s: f32[4] = reduce(%x) {dimensions = [0], reducer = "add"}
      return %e, %s
    })");
  const Block x = card_->memory().Allocate(kBytes);
  Host host(card_.get(), stream_);
  host.on_host[1] = true;
  Write(x, std::vector<float>(kRows * 4, 5));
  ASSERT_TRUE(executable->Run({OnCard(x, kDims)}, host).ok());
  EXPECT_THAT(host.host_results[1], ElementsAre(15, 15, 15, 15));
  const auto seen = Read(host.results[0].data(), kRows * 4);
  Finish();
  EXPECT_THAT(*seen, Each(10));
}

TEST_F(HostStream, ArgumentsOfTheHostAreReadBeforeTheCallReturns) {
  auto executable = Compile(kTwo);
  Host host(card_.get(), stream_);
  Close();
  std::vector<float> x(kRows * 4, 6);
  ASSERT_TRUE(executable->Run({{x.data(), 0, kDims}}, host).ok());
  x.assign(x.size(), -1);
  const auto seen = Read(host.results[0].data(), kRows * 4);
  Finish();
  EXPECT_THAT(*seen, Each(Two(6)));
}

// A slice of a tensor may begin anywhere, and kernels read vectors, for which a card wants
// multiples of 16.
TEST_F(HostStream, AnArgumentThatBeginsAnywhereIsCopiedFirst) {
  auto executable = Compile(kTwo);
  const Block x = card_->memory().Allocate(kBytes + 64);
  runtime::Argument slice = OnCard(x, kDims);
  slice.data = x.data() + sizeof(float);
  Host host(card_.get(), stream_);
  const int64_t copies = fake_.calls("cuMemcpyDtoDAsync_v2");
  Close();
  Write(x, {0, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8});
  ASSERT_TRUE(executable->Run({slice}, host).ok());
  EXPECT_EQ(fake_.calls("cuMemcpyDtoDAsync_v2") - copies, 1);
  const auto seen = Read(host.results[0].data(), kRows * 4);
  ASSERT_TRUE(executable->Run({OnCard(x, kDims)}, host).ok());
  EXPECT_EQ(fake_.calls("cuMemcpyDtoDAsync_v2") - copies, 1);
  Finish();
  EXPECT_THAT(*seen, Each(Two(8)));
}

// The host has waited for the number of rows, and not for the results' copies.
TEST_F(HostStream, WhatIsCopiedAfterTheRowsWereCountedStaysAsLong) {
  runtime::OutputRoles roles;
  roles.counted = {0};
  auto executable = Compile(R"(
    graph @f(%x: f32[3,4], %n: s64[]) -> (f32[3,4], f32[4], s64[]) {
      %e: f32[3,4] = add(%x, %x)
      %c: f32[4] = constant() {value = f32[4]{1, 2, 3, 4}}
      %k: s64[] = add(%n, %n)
      return %e, %c, %k
    })",
                            roles);
  const Block x = card_->memory().Allocate(kBytes), n = card_->memory().Allocate(8);
  Write(x, std::vector<float>(kRows * 4, 3));
  const int64_t one = 1;
  std::vector<float> bits(2);
  std::memcpy(bits.data(), &one, sizeof(one));
  Write(n, bits);
  Host host(card_.get(), stream_);
  host.allocates = [this](int result) {
    if (result == 0) Close();
  };
  ASSERT_TRUE(executable->Run({OnCard(x, nullptr), OnCard(n, nullptr)}, host).ok());
  const auto rows = Read(host.results[0].data(), 2 * 4);
  const auto constant = Read(host.results[1].data(), 4);
  const int64_t frees = fake_.calls("cuMemFreeAsync");
  executable.reset();
  EXPECT_EQ(fake_.calls("cuMemFreeAsync"), frees);
  Finish();
  EXPECT_THAT(*rows, Each(6));
  EXPECT_THAT(*constant, ElementsAre(1, 2, 3, 4));
}

// A weight of the host's that stays on the card: another stream finds it whole.
TEST_F(HostStream, AWeightIsWaitedForOnce) {
  auto executable = Compile(kTwo);
  const std::vector<float> x(kRows * 4, 7);
  Host host(card_.get(), stream_), other(card_.get(), nullptr);
  for (int call = 0; call < 3; ++call) {
    ASSERT_TRUE(executable->Run({{x.data(), /*version=*/1, kDims}}, host).ok());
  }
  Finish();
  Close();
  const int64_t waits = Waits();
  ASSERT_TRUE(executable->Run({{x.data(), 1, kDims}}, host).ok());
  EXPECT_LE(Waits() - waits, 1);  // for the result's memory
  const auto seen = Read(host.results[0].data(), kRows * 4);
  other.on_host[0] = true;
  ASSERT_TRUE(executable->Run({{x.data(), 1, kDims}}, other).ok());
  EXPECT_THAT(other.host_results[0], Each(Two(7)));
  Finish();
  EXPECT_THAT(*seen, Each(Two(7)));
}

TEST_F(HostStream, UpdatesInPlaceFollowInItsOrder) {
  runtime::OutputRoles roles;
  roles.updated = {0};
  auto executable = Compile(R"(
    graph @f(%v: f32[12], %x: f32[12]) -> (f32[12], f32[12]) {
      %old: f32[12] = mul(%v, %x)
      %new: f32[12] = add(%v, %x)
      return %old, %new
    })",
                            roles);
  constexpr int64_t dims[] = {12};
  const Block v = card_->memory().Allocate(kBytes), x = card_->memory().Allocate(kBytes);
  std::vector<std::unique_ptr<Host>> hosts;
  std::vector<std::shared_ptr<std::vector<float>>> seen;
  Close();
  Write(v, std::vector<float>(12, 1));
  Write(x, std::vector<float>(12, 2));
  for (int call = 0; call < 5; ++call) {
    hosts.push_back(std::make_unique<Host>(card_.get(), stream_));
    hosts.back()->variables[0] = v.data();
    ASSERT_TRUE(executable->Run({OnCard(v, dims), OnCard(x, dims)}, *hosts.back()).ok());
    seen.push_back(Read(hosts.back()->results[0].data(), 12));
  }
  const auto last = Read(v.data(), 12);
  Finish();
  for (size_t call = 0; call < 5; ++call) {
    EXPECT_THAT(*seen[call], Each(2 * (1 + 2 * static_cast<float>(call))));
  }
  EXPECT_THAT(*last, Each(11));
}

// Conditions are for the host to read.
TEST_F(HostStream, ALoopTurnsAsOftenAsItsValuesSay) {
  auto executable = Compile(R"(
    graph @f(%x: f32[12], %n: s32[]) -> (f32[12], s32[]) {
      %r:2 : (f32[12], s32[]) = while(%x, %n)
        graph @condition(%a: f32[12], %k: s32[]) -> (bool[]) {
          %zero: s32[] = constant() {value = s32[]{0}}
          %more: bool[] = compare(%k, %zero) {direction = "gt"}
          return %more
        }
        graph @body(%b: f32[12], %j: s32[]) -> (f32[12], s32[]) {
          %t: f32[12] = add(%b, %b)
          %one: s32[] = constant() {value = s32[]{1}}
          %i: s32[] = sub(%j, %one)
          return %t, %i
        }
      return %r#0, %r#1
    })");
  constexpr int64_t dims[] = {12};
  const Block x = card_->memory().Allocate(kBytes), n = card_->memory().Allocate(4);
  Host host(card_.get(), stream_);
  Write(x, std::vector<float>(12, 1));
  const int32_t five = 5;
  float bits = 0;
  std::memcpy(&bits, &five, sizeof(bits));
  Write(n, {bits});
  ASSERT_TRUE(executable->Run({OnCard(x, dims), OnCard(n, nullptr)}, host).ok());
  const auto seen = Read(host.results[0].data(), 12);
  Finish();
  EXPECT_THAT(*seen, Each(32));
}

// A host that runs away is held back, and loses nothing.
TEST_F(HostStream, TheCardIsNeverFartherBehindThanItsBound) {
  auto executable = Compile(kTwo);
  const Block x = card_->memory().Allocate(kBytes);
  Write(x, std::vector<float>(kRows * 4, 1));
  Host host(card_.get(), stream_);
  ASSERT_TRUE(executable->Run({OnCard(x, kDims)}, host).ok());
  Finish();
  Close();
  const int64_t waits = fake_.calls("cuEventSynchronize");
  for (size_t call = 0; call < gpu::UnfinishedWork::kMost - 1; ++call) {
    ASSERT_TRUE(executable->Run({OnCard(x, kDims)}, host).ok());
  }
  EXPECT_EQ(fake_.calls("cuEventSynchronize"), waits);
  std::thread later([&] {
    while (fake_.calls("cuEventSynchronize") == waits) std::this_thread::yield();
    Open();
  });
  for (int call = 0; call < 3; ++call) {
    ASSERT_TRUE(executable->Run({OnCard(x, kDims)}, host).ok());
  }
  later.join();
  const auto seen = Read(host.results[0].data(), kRows * 4);
  Finish();
  EXPECT_THAT(*seen, Each(Two(1)));
}

// Memory that only waits for the card is not missed.
TEST_F(HostStream, MemoryThatTheCardIsAboutToGiveBackIsWaitedFor) {
  fake_.set_memory(static_cast<size_t>(fake_.held_bytes()) + (1 << 20));
  auto kept = std::make_shared<Block>(card_->memory().Allocate(700 << 10));
  backend::StreamOptions options;
  options.host_stream = stream_;
  Close();
  ASSERT_TRUE(card_
                  ->WithStream(options,
                               [&](backend::Stream& stream) {
                                 stream.Keep(std::move(kept));
                                 return stream.End();
                               })
                  .ok());
  std::thread later([&] { Open(); });
  EXPECT_NE(card_->memory().Allocate(700 << 10).data(), nullptr);
  later.join();
}

TEST_F(HostStream, ALostCardIsSeenByALaterCall) {
  auto executable = Compile(kTwo);
  const Block x = card_->memory().Allocate(kBytes);
  Host host(card_.get(), stream_);
  ASSERT_TRUE(executable->Run({OnCard(x, kDims)}, host).ok());
  Finish();
  fake_.set_runner([](const FakeLaunch&) { return false; });
  Close();
  ASSERT_TRUE(executable->Run({OnCard(x, kDims)}, host).ok());
  Finish();
  const absl::Status status = executable->Run({OnCard(x, kDims)}, host);
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("this process has lost the card"));
}

}  // namespace
}  // namespace tektite::testing
