// Programs on disk: a second process runs what the first compiled, from its first call on.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/cache/entry.h"
#include "jit/cache/location.h"
#include "tests/c_api/test_host.h"
#include "tests/cache/testing.h"

namespace tektite {
namespace {

using testing::HasSubstr;

// Two kernels, a weight, a library's kernel where there is one, and a constant.
constexpr char kModel[] = R"(
graph @model(%x: f32[n,8], %w: f32[8,4] {weight = true}) -> (f32[n,4], f32[4,n], f32[n,4]) {
  %c: f32[4] = constant() {value = f32[4]{1, 2, 3, 4}}
  %b: f32[n,4] = broadcast_in_dim(%c) {dimensions = [1], shape = (n, 4)}
  %0: f32[n,4] = dot_general(%x, %w) {lhs_batch = [], lhs_contracting = [1], rhs_batch = [], rhs_contracting = [0]}
  %1: f32[n,4] = add(%0, %b)
  %e: f32[n,4] = exp(%1)
  %t: f32[4,n] = transpose(%e) {permutation = [1, 0]}
  %s: f32[n,4] = sort(%e) {descending = false, dimension = 1, stable = true}
  return %e, %t, %s
}
)";

std::vector<Arg> Args(int64_t n, uint64_t version = 7) {
  std::vector<Arg> args = {{{n, 8}, std::vector<float>(n * 8), 0},
                           {{8, 4}, std::vector<float>(32), version}};
  for (Arg& arg : args) {
    float value = 0;
    for (float& v : arg.values) v = std::sin(value += 0.7f);
  }
  return args;
}

class PlanTest : public testing::Test {
 protected:
  // As a process of its own would, with `flags`, beside --compile=async.
  struct Process {
    CompilerPtr compiler;
    ClusterPtr cluster;
    Call call;

    int Run(int64_t n) { return call.Run(cluster.get(), Args(n)); }
    std::string stats() const { return TextPtr(tektite_stats_json(compiler.get())).get(); }
  };
  Process Start(const std::string& flags = "", const std::string& model = kModel) {
    Process process;
    const std::string all = absl::StrCat(
        "--compile=async --hot_calls=0 --stats_file=off --cache_dir=", folder_ / "cache", " ",
        flags);
    process.compiler = MakeCompiler(all.c_str(), "cpu");
    process.cluster = MakeCluster(process.compiler.get(), model);
    return process;
  }
  // What the first process computes, which compiles.
  std::vector<std::vector<float>> Compile(int64_t n, const std::string& flags = "") {
    Process first = Start(absl::StrCat("--compile=sync ", flags));
    EXPECT_EQ(first.Run(n), TEKTITE_OK) << first.call.message;
    EXPECT_THAT(first.stats(), HasSubstr("\"compiles\": 1,"));
    return first.call.results;
  }
  std::vector<std::string> Entries(cache::EntryKind kind) const {
    std::vector<std::string> paths;
    for (const auto& item : std::filesystem::directory_iterator(folder_ / "cache")) {
      if (item.path().extension() != cache::kEntrySuffix) continue;
      std::ifstream in(item.path(), std::ios::binary);
      const std::string bytes(std::istreambuf_iterator<char>(in), {});
      cache::EntryHeader header;
      if (cache::ReadHeader(bytes, &header) && header.kind == kind) paths.push_back(item.path());
    }
    return paths;
  }

  const cache::TestFolder folder_;
};

TEST_F(PlanTest, TheFirstCallOfALaterProcessRunsCompiledCode) {
  // The first plan has a kernel without an image (sort is a library's), which is compiled anew:
  // that is not for a request's thread.
  const std::string plain = absl::StrReplaceAll(
      kModel, {{"sort(%e) {descending = false, dimension = 1, stable = true}", "neg(%e)"}});
  Process first = Start("--compile=sync", plain);
  ASSERT_EQ(first.Run(5), TEKTITE_OK) << first.call.message;
  Process second = Start("", plain);
  ASSERT_EQ(second.Run(5), TEKTITE_OK) << second.call.message;
  EXPECT_EQ(second.call.results, first.call.results);
  EXPECT_THAT(second.stats(), HasSubstr("\"compiles\": 0, \"request_compiles\": 0"));
  EXPECT_THAT(second.stats(), HasSubstr("\"loaded_plans\": 1"));
  EXPECT_THAT(second.stats(), HasSubstr("\"kernels\": 0"));
  EXPECT_THAT(second.stats(), HasSubstr("\"misses\": 0"));
}

TEST_F(PlanTest, KernelsWithoutImagesAreMadeInTheBackground) {
  const auto expected = Compile(5);
  Process second = Start();
  EXPECT_EQ(second.Run(5), TEKTITE_UNAVAILABLE);
  tektite_wait_until_compiled();
  ASSERT_EQ(second.Run(5), TEKTITE_OK) << second.call.message;
  EXPECT_EQ(second.call.results, expected);
  EXPECT_THAT(second.stats(), HasSubstr("\"compiles\": 0,"));
  EXPECT_THAT(second.stats(), HasSubstr("\"loaded_plans\": 1"));
}

TEST_F(PlanTest, LoadsInTheBackgroundWhenToldSo) {
  const auto expected = Compile(5);
  Process second = Start("--load_ms=0");
  EXPECT_EQ(second.Run(5), TEKTITE_UNAVAILABLE);
  tektite_wait_until_compiled();
  ASSERT_EQ(second.Run(5), TEKTITE_OK) << second.call.message;
  EXPECT_EQ(second.call.results, expected);
  EXPECT_THAT(second.stats(), HasSubstr("\"loaded_plans\": 1"));
}

// One program for all sizes, whatever size it was first made for.
TEST_F(PlanTest, GenericProgramsServeOtherSizes) {
  Compile(5, "--tier=generic");
  Process second = Start("--compile=sync --tier=generic");
  Process exact = Start("--compile=sync --tier=generic --cache_dir=off");
  for (int64_t n : {3, 11, 5, 64}) {
    ASSERT_EQ(second.Run(n), TEKTITE_OK) << second.call.message;
    ASSERT_EQ(exact.Run(n), TEKTITE_OK) << exact.call.message;
    EXPECT_EQ(second.call.results, exact.call.results) << n;
  }
  EXPECT_THAT(second.stats(), HasSubstr("\"compiles\": 0,"));
  EXPECT_THAT(second.stats(), HasSubstr("\"loaded_plans\": 1"));
}

TEST_F(PlanTest, WhatTheProgramDependsOnMakesAnother) {
  Compile(5);
  EXPECT_EQ(Entries(cache::EntryKind::kPlan).size(), 1u);
  Compile(6);
  Compile(5, "--cpu=avx2");
  EXPECT_EQ(Entries(cache::EntryKind::kPlan).size(), 3u);
  const std::string other = absl::StrReplaceAll(kModel, {{"{1, 2, 3, 4}", "{1, 2, 3, 5}"}});
  Process process = Start("--compile=sync", other);
  ASSERT_EQ(process.Run(5), TEKTITE_OK);
  EXPECT_THAT(process.stats(), HasSubstr("\"loaded_plans\": 0"));
  // Names are not what it depends on.
  const std::string renamed = absl::StrReplaceAll(kModel, {{"%x", "%input"}, {"@model", "@m"}});
  process = Start("--compile=sync", renamed);
  ASSERT_EQ(process.Run(5), TEKTITE_OK);
  EXPECT_THAT(process.stats(), HasSubstr("\"loaded_plans\": 1"));
}

TEST_F(PlanTest, AKernelThatIsGoneIsCompiledAgain) {
  const auto expected = Compile(5);
  for (const std::string& path : Entries(cache::EntryKind::kKernel)) std::filesystem::remove(path);
  Process second = Start("--compile=sync");
  ASSERT_EQ(second.Run(5), TEKTITE_OK);
  EXPECT_EQ(second.call.results, expected);
  EXPECT_THAT(second.stats(), HasSubstr("\"compiles\": 1,"));
  EXPECT_FALSE(Entries(cache::EntryKind::kKernel).empty());
}

TEST_F(PlanTest, ADamagedProgramIsAMissAndACounter) {
  const auto expected = Compile(5);
  const std::string path = Entries(cache::EntryKind::kPlan).at(0);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  Process second = Start("--compile=sync");
  ASSERT_EQ(second.Run(5), TEKTITE_OK);
  EXPECT_EQ(second.call.results, expected);
  EXPECT_THAT(second.stats(), HasSubstr("\"damaged\": 1"));
  EXPECT_THAT(second.stats(), HasSubstr("\"kernels\": 1"));  // the library's
  Process third = Start("--compile=sync");
  ASSERT_EQ(third.Run(5), TEKTITE_OK);
  EXPECT_THAT(third.stats(), HasSubstr("\"damaged\": 0"));
}

// An entry may be whole, and yet no program.
TEST_F(PlanTest, AnEntryThatHoldsNoProgramIsRefused) {
  const auto expected = Compile(5);
  const std::string path = Entries(cache::EntryKind::kPlan).at(0);
  std::ifstream in(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  cache::Entry entry;
  ASSERT_EQ(cache::DecodeEntry(bytes, &entry), cache::EntryFault::kNone);
  cache::CacheKey key = cache::TestKey("k");
  key.kind = cache::EntryKind::kPlan;
  key.fingerprint = entry.header.key;
  std::ofstream(path, std::ios::binary) << cache::EncodeEntry(key, "no program", 1);
  Process second = Start("--compile=sync");
  ASSERT_EQ(second.Run(5), TEKTITE_OK);
  EXPECT_EQ(second.call.results, expected);
  EXPECT_THAT(second.stats(), HasSubstr("\"damaged\": 1"));
}

// Many processes make the same program at once.
TEST_F(PlanTest, ThreadsShareADirectory) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  const auto expected = Compile(5);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        Process process = Start("--compile=sync");
        wrong += process.Run(5) != TEKTITE_OK || process.call.results != expected;
        for (const std::string& path : Entries(cache::EntryKind::kPlan)) {
          std::error_code error;
          if ((t + i) % 3 == 0) std::filesystem::remove(path, error);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tektite
