// Clusters through the C interface, on the reference interpreter.
#include <atomic>
#include <cmath>
#include <random>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/c_api/test_host.h"

namespace tektite {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kScaled[] = R"(
graph @scaled(%x: f32[n], %w: f32[n]) -> (f32[n], f32[n]) {
  %e: f32[n] = mul(%x, %w)
  %r: f32[n] = add(%e, %x)
  return %r, %w
}
)";

std::string Stats(const CompilerPtr& compiler) {
  return TextPtr(tektite_stats_json(compiler.get())).get();
}

TEST(Cluster, RunsForEveryShape) {
  CompilerPtr compiler = MakeCompiler();
  ClusterPtr cluster = MakeCluster(compiler.get(), kScaled);
  ASSERT_NE(cluster, nullptr);
  EXPECT_EQ(tektite_cluster_num_args(cluster.get()), 2);
  EXPECT_EQ(tektite_cluster_num_results(cluster.get()), 2);
  Call call;
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(call.Run(cluster.get(), {{{2}, {1, 2}}, {{2}, {3, 4}}}), TEKTITE_OK) << call.message;
    EXPECT_THAT(call.results[0], ElementsAre(4, 10));
    EXPECT_EQ(call.forwarded[1], 1);
    ASSERT_EQ(call.Run(cluster.get(), {{{1}, {1}}, {{1}, {5}}}), TEKTITE_OK) << call.message;
    EXPECT_THAT(call.results[0], ElementsAre(6));
    ASSERT_EQ(call.Run(cluster.get(), {{{0}, {}}, {{0}, {}}}), TEKTITE_OK) << call.message;
    EXPECT_THAT(call.results[0], ElementsAre());
  }
  // One for the first shape, one for all that differ in size, one for arrays without elements.
  EXPECT_THAT(Stats(compiler), HasSubstr("\"compiles\": 3, \"request_compiles\": 3"));
  EXPECT_THAT(Stats(compiler), HasSubstr("\"runs\": 6"));
}

TEST(Cluster, WrongArgumentsAreRefused) {
  CompilerPtr compiler = MakeCompiler();
  ClusterPtr cluster = MakeCluster(compiler.get(), kScaled);
  Call call;
  EXPECT_EQ(call.Run(cluster.get(), {{{2}, {1, 2}}}), TEKTITE_INVALID_ARGUMENT);
  EXPECT_THAT(call.message, HasSubstr("expected 2 arguments, got 1"));
  EXPECT_EQ(call.Run(cluster.get(), {{{2}, {1, 2}}, {{3}, {1, 2, 3}}}), TEKTITE_INVALID_ARGUMENT);
  EXPECT_THAT(call.message, HasSubstr("argument 1 is f32[3]"));
  EXPECT_EQ(call.Run(cluster.get(), {{{-2}, {}}, {{1}, {1}}}), TEKTITE_INVALID_ARGUMENT);
  const int32_t string_type = 7;
  EXPECT_EQ(call.Run(cluster.get(), {{{1}, {1}}, {{1}, {1}, 0, string_type}}),
            TEKTITE_UNIMPLEMENTED);
  call.refuse_memory = true;
  EXPECT_EQ(call.Run(cluster.get(), {{{1}, {1}}, {{1}, {1}}}), TEKTITE_RESOURCE_EXHAUSTED);
  EXPECT_THAT(Stats(compiler), HasSubstr("\"BAD_ARGUMENT\": 3"));
  EXPECT_THAT(Stats(compiler), HasSubstr("\"NO_MEMORY\": 1"));
}

TEST(Cluster, OffNeverCompiles) {
  CompilerPtr compiler = MakeCompiler("--compile=off");
  ClusterPtr cluster = MakeCluster(compiler.get(), kScaled);
  Call call;
  EXPECT_EQ(call.Run(cluster.get(), {{{1}, {1}}, {{1}, {5}}}), TEKTITE_UNAVAILABLE);
  EXPECT_THAT(Stats(compiler), HasSubstr("\"compiles\": 0"));
}

TEST(Cluster, AsyncAnswersWhileItCompiles) {
  CompilerPtr compiler = MakeCompiler("--compile=async");
  ClusterPtr cluster = MakeCluster(compiler.get(), kScaled);
  Call call;
  int code = TEKTITE_UNAVAILABLE;
  for (int i = 0; i < 10000 && code == TEKTITE_UNAVAILABLE; ++i) {
    code = call.Run(cluster.get(), {{{1}, {1}}, {{1}, {5}}});
    if (code == TEKTITE_UNAVAILABLE) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ASSERT_EQ(code, TEKTITE_OK) << call.message;
  EXPECT_THAT(call.results[0], ElementsAre(6));
  EXPECT_THAT(Stats(compiler), HasSubstr("\"request_compiles\": 0"));
  // A cluster may go while its code is being made.
  call.Run(cluster.get(), {{{2}, {1, 2}}, {{2}, {5, 6}}});
  cluster.reset();
  compiler.reset();
}

TEST(Cluster, LeastRecentlyUsedShapesGo) {
  CompilerPtr compiler = MakeCompiler("--tier=specialized");
  ClusterPtr cluster = MakeCluster(compiler.get(), kScaled);
  auto run = [&](int64_t n) {
    Call call;
    const std::vector<float> ones(n, 1);
    ASSERT_EQ(call.Run(cluster.get(), {{{n}, ones}, {{n}, ones}}), TEKTITE_OK) << call.message;
  };
  constexpr int64_t kMost = 64;
  for (int64_t n = 1; n <= kMost; ++n) run(n);
  for (int64_t n : {int64_t{1}, kMost + 1, int64_t{1}}) run(n);  // 2 goes for the new one
  EXPECT_THAT(Stats(compiler), HasSubstr("\"compiles\": 65"));
  run(2);
  EXPECT_THAT(Stats(compiler), HasSubstr("\"compiles\": 66"));
}

TEST(Cluster, CallsAtOnce) {
  CompilerPtr compiler = MakeCompiler("");
  ClusterPtr cluster = MakeCluster(compiler.get(), kScaled);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        Call call;
        call.threads = 1;
        const int64_t n = 1 + (i + t) % 4;
        const std::vector<float> x(n, 2), w(n, 3);
        ASSERT_EQ(call.Run(cluster.get(), {{{n}, x}, {{n}, w}}), TEKTITE_OK) << call.message;
        ASSERT_EQ(call.results[0], std::vector<float>(n, 8));
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

// Kept results lie in the host's memory and return to it, at the latest with the compiler.
TEST(Cluster, KeptMemoryIsTheHosts) {
  int lent = 0;
  tektite_options options = {};
  options.struct_size = sizeof(options);
  options.flags = "--compile=sync --cache_dir=off";
  options.backend = "reference";
  options.memory_context = &lent;
  options.memory_allocate = [](void* context, size_t bytes) -> void* {
    ++*static_cast<int*>(context);
    return std::aligned_alloc(64, bytes);
  };
  options.memory_release = [](void* context, void* block) {
    --*static_cast<int*>(context);
    std::free(block);
  };
  CompilerPtr compiler(tektite_compiler_create(&options, nullptr));
  ClusterPtr cluster = MakeCluster(compiler.get(), kScaled);
  Call call;
  ASSERT_EQ(call.Run(cluster.get(), {{{2}, {1, 2}}, {{2}, {3, 4}}}), TEKTITE_OK) << call.message;
  EXPECT_GT(lent, 0);
  cluster = nullptr;
  compiler = nullptr;
  EXPECT_EQ(lent, 0);
}

TEST(Cluster, HandlesMayGoInAnyOrder) {
  CompilerPtr compiler = MakeCompiler();
  ClusterPtr cluster = MakeCluster(compiler.get(), kScaled);
  compiler.reset();
  Call call;
  EXPECT_EQ(call.Run(cluster.get(), {{{1}, {1}}, {{1}, {5}}}), TEKTITE_OK) << call.message;
}

TEST(Cluster, WeightsAreComputedOncePerVersion) {
  constexpr char kWeighted[] = R"(
graph @weighted(%x: f32[4], %w: f32[4] {weight = true}) -> (f32[4]) {
  %t: f32[4] = tanh(%w)
  %r: f32[4] = add(%x, %t)
  return %r
}
)";
  tektite_status status = {};
  CompilerPtr compiler = MakeCompiler();
  ClusterPtr cluster = MakeCluster(compiler.get(), kWeighted, &status);
  ASSERT_NE(cluster, nullptr) << status.message;
  Call call;
  const Arg x{{4}, {1, 2, 3, 4}};
  for (uint64_t version : {1, 1, 2, 0, 3}) {
    const float w = static_cast<float>(version);
    ASSERT_EQ(call.Run(cluster.get(), {x, {{4}, {w, w, w, w}, version}}), TEKTITE_OK)
        << call.message;
    EXPECT_NEAR(call.results[0][3], 4 + std::tanh(w), 1e-5);
  }
  EXPECT_THAT(Stats(compiler), HasSubstr("\"weight_bytes\": 64"));
}

}  // namespace
}  // namespace tektite
