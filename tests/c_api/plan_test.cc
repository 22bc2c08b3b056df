// Programs on disk: a second process runs what the first compiled, from its first call on.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

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
  %s: f32[n,4] = sort(%e) {descending = false, dimension = 1}
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
 public:
  struct Process {
    CompilerPtr compiler;
    ClusterPtr cluster;
    Call call;

    int Run(int64_t n) { return call.Run(cluster.get(), Args(n)); }
    std::string stats() const { return TextPtr(tektite_stats_json(compiler.get())).get(); }
  };

 protected:
  // As a process of its own would, with `flags`, beside --compile=async.
  Process Start(const std::string& flags = "", const std::string& model = kModel) {
    Process process;
    const std::string all = absl::StrCat(
        "--compile=async --hot_calls=0 --stats_file=off --cache_dir=", folder_ / "cache", " ",
        flags);
    process.compiler = MakeCompiler(all.c_str(), "cpu");
    process.cluster = MakeCluster(process.compiler.get(), model);
    return process;
  }
  // The results of the first process, which compiles.
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
  const std::string plain =
      absl::StrReplaceAll(kModel, {{"sort(%e) {descending = false, dimension = 1}", "neg(%e)"}});
  Process first = Start("--compile=sync", plain);
  ASSERT_EQ(first.Run(5), TEKTITE_OK) << first.call.message;
  Process second = Start("", plain);
  ASSERT_EQ(second.Run(5), TEKTITE_OK) << second.call.message;
  EXPECT_EQ(second.call.results, first.call.results);
  EXPECT_THAT(second.stats(), HasSubstr("\"compiles\": 0, \"request_compiles\": 0"));
  EXPECT_THAT(second.stats(), HasSubstr("\"loaded_modules\": 1"));
  EXPECT_THAT(second.stats(), HasSubstr("\"kernels\": 0"));
  EXPECT_THAT(second.stats(), HasSubstr("\"misses\": 0"));
}

TEST_F(PlanTest, KernelsWithoutImagesAreMadeInTheBackground) {
  const auto expected = Compile(5);
  Process second = Start();
  BusyBackground busy;
  EXPECT_EQ(second.Run(5), TEKTITE_UNAVAILABLE);
  busy.End();
  tektite_wait_until_compiled();
  ASSERT_EQ(second.Run(5), TEKTITE_OK) << second.call.message;
  EXPECT_EQ(second.call.results, expected);
  EXPECT_THAT(second.stats(), HasSubstr("\"compiles\": 0,"));
  EXPECT_THAT(second.stats(), HasSubstr("\"loaded_modules\": 1"));
}

TEST_F(PlanTest, LoadsInTheBackgroundWhenToldSo) {
  const auto expected = Compile(5);
  Process second = Start("--load_ms=0");
  BusyBackground busy;
  EXPECT_EQ(second.Run(5), TEKTITE_UNAVAILABLE);
  busy.End();
  tektite_wait_until_compiled();
  ASSERT_EQ(second.Run(5), TEKTITE_OK) << second.call.message;
  EXPECT_EQ(second.call.results, expected);
  EXPECT_THAT(second.stats(), HasSubstr("\"loaded_modules\": 1"));
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
  EXPECT_THAT(second.stats(), HasSubstr("\"loaded_modules\": 1"));
}

TEST_F(PlanTest, WhatTheProgramDependsOnMakesAnother) {
  Compile(5);
  EXPECT_EQ(Entries(cache::EntryKind::kModule).size(), 1u);
  Compile(6);
  Compile(5, "--cpu=avx2");
  EXPECT_EQ(Entries(cache::EntryKind::kModule).size(), 3u);
  const std::string other = absl::StrReplaceAll(kModel, {{"{1, 2, 3, 4}", "{1, 2, 3, 5}"}});
  Process process = Start("--compile=sync", other);
  ASSERT_EQ(process.Run(5), TEKTITE_OK);
  EXPECT_THAT(process.stats(), HasSubstr("\"loaded_modules\": 0"));
  // Names are not what it depends on.
  const std::string renamed = absl::StrReplaceAll(kModel, {{"%x", "%input"}, {"@model", "@m"}});
  process = Start("--compile=sync", renamed);
  ASSERT_EQ(process.Run(5), TEKTITE_OK);
  EXPECT_THAT(process.stats(), HasSubstr("\"loaded_modules\": 1"));
}

// A program is one file to read: what single kernels' entries are for is other programs.
TEST_F(PlanTest, AProgramBringsItsKernelsAlong) {
  const auto expected = Compile(5);
  for (const std::string& path : Entries(cache::EntryKind::kKernel)) std::filesystem::remove(path);
  Process second = Start("--compile=sync");
  ASSERT_EQ(second.Run(5), TEKTITE_OK);
  EXPECT_EQ(second.call.results, expected);
  EXPECT_THAT(second.stats(), HasSubstr("\"compiles\": 0,"));
  EXPECT_THAT(second.stats(), HasSubstr("\"hits\": 1,"));
  // A later compilation finds them in memory, and keeps them once more.
  for (const std::string& path : Entries(cache::EntryKind::kModule)) std::filesystem::remove(path);
  second.cluster = MakeCluster(second.compiler.get(), kModel);
  ASSERT_EQ(second.Run(5), TEKTITE_OK);
  EXPECT_THAT(second.stats(), HasSubstr("\"compiles\": 1,"));
  EXPECT_TRUE(Entries(cache::EntryKind::kKernel).empty());
  Process third = Start("--compile=sync");
  ASSERT_EQ(third.Run(5), TEKTITE_OK);
  EXPECT_EQ(third.call.results, expected);
  EXPECT_THAT(third.stats(), HasSubstr("\"compiles\": 0,"));
}

TEST_F(PlanTest, ADamagedProgramIsAMissAndACounter) {
  const auto expected = Compile(5);
  const std::string path = Entries(cache::EntryKind::kModule).at(0);
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
  const std::string path = Entries(cache::EntryKind::kModule).at(0);
  std::ifstream in(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  cache::Entry entry;
  ASSERT_EQ(cache::DecodeEntry(bytes, &entry), cache::EntryFault::kNone);
  cache::CacheKey key = cache::TestKey("k");
  key.kind = cache::EntryKind::kModule;
  key.fingerprint = entry.header.key;
  std::ofstream(path, std::ios::binary) << cache::EncodeEntry(key, "no program", 1);
  Process second = Start("--compile=sync");
  ASSERT_EQ(second.Run(5), TEKTITE_OK);
  EXPECT_EQ(second.call.results, expected);
  EXPECT_THAT(second.stats(), HasSubstr("\"damaged\": 1"));
}

// Calls with so many threads, at which the host's kernels take 3 ms or no time at all.
void Compare(PlanTest::Process& process, int threads, bool code_wins) {
  process.call.threads = threads;
  process.call.run_host = [code_wins](const tektite_status&) {
    if (code_wins) std::this_thread::sleep_for(std::chrono::milliseconds(3));
    return TEKTITE_OK;
  };
  for (int i = 0; i < 40; ++i) ASSERT_EQ(process.Run(5), TEKTITE_OK);
}

// Whether a caller is served that has no kernels of the host's.
bool HasWon(PlanTest::Process& process, int threads) {
  process.call.threads = threads;
  process.call.run_host = nullptr;
  process.call.if_won = true;
  process.Run(5);
  return process.call.fallback != TEKTITE_FALLBACK_COMPARING;
}

// What was found out about the sides' speed stands beside a cluster's code.
TEST_F(PlanTest, ResultsOfComparisonsOutliveTheProcess) {
  Process first = Start("--compile=sync");
  EXPECT_FALSE(HasWon(first, 2));
  EXPECT_EQ(tektite_cluster_has_won(first.cluster.get()), 0);
  for (bool code_wins : {false, true}) Compare(first, code_wins ? 2 : 4, code_wins);
  tektite_wait_until_compiled();
  const std::string renamed = absl::StrReplaceAll(kModel, {{"%x", "%input"}, {"@model", "@m"}});
  Process second = Start("", renamed);
  EXPECT_FALSE(HasWon(second, 3));
  EXPECT_FALSE(HasWon(second, 4)) << "there it lost";
  EXPECT_THAT(second.stats(), HasSubstr("\"misses\": 0")) << "it is no code";
  EXPECT_TRUE(HasWon(second, 2));
  EXPECT_EQ(tektite_cluster_has_won(second.cluster.get()), 1);
  const std::string other = absl::StrReplaceAll(kModel, {{"{1, 2, 3, 4}", "{1, 2, 3, 5}"}});
  for (auto [flags, model] : {std::pair("--cpu=avx2", std::string(kModel)), std::pair("", other),
                              std::pair("--cache_dir=off", std::string(kModel))}) {
    Process process = Start(flags, model);
    EXPECT_FALSE(HasWon(process, 2)) << flags;
  }
  for (const std::string& path : Entries(cache::EntryKind::kDecision)) {
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  }
  Process third = Start();
  EXPECT_FALSE(HasWon(third, 2));
  EXPECT_THAT(third.stats(), HasSubstr("\"damaged\": 1"));
}

// How many rows come back is known when the values are: the program keeps which results have such
// a count.
TEST_F(PlanTest, RowsThatValuesDecideOn) {
  const auto attr = [](const char* name, const char* value) {
    return absl::StrCat("attr { key: '", name, "' value { ", value, " } } ");
  };
  const std::string floats = attr("T", "type: DT_FLOAT");
  const std::string constant =
      attr("value", "tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 1 }");
  const std::string zero = attr("value", "tensor { dtype: DT_FLOAT tensor_shape {} float_val: 0 }");
  const std::string text = absl::StrCat(
      "node { name: 'x' op: 'Placeholder' ", attr("dtype", "type: DT_FLOAT"),
      attr("shape", "shape { dim { size: -1 } dim { size: 4 } }"), "}",
      "node { name: 'one' op: 'Const' ", attr("dtype", "type: DT_INT32"), constant, "}",
      "node { name: 'zero' op: 'Const' ", attr("dtype", "type: DT_FLOAT"), zero, "}",
      "node { name: 's' op: 'Sum' input: 'x' input: 'one' ", floats, attr("Tidx", "type: DT_INT32"),
      "}", "node { name: 'g' op: 'Greater' input: 's' input: 'zero' ", floats, "}",
      "node { name: 'c' op: 'Cast' input: 'g' ", attr("SrcT", "type: DT_BOOL"),
      attr("DstT", "type: DT_INT32"), "}",
      "node { name: 'p' op: 'DynamicPartition' input: 'x' input: 'c' ", floats,
      attr("num_partitions", "i: 2"), "}");
  size_t size = 0;
  char* signature = nullptr;
  tektite_status status = {};
  const TextPtr closed(
      tektite_close_graph(text.data(), text.size(), "p,p:1", &size, &signature, &status));
  const TextPtr owned(signature);
  ASSERT_NE(closed, nullptr) << status.message;

  // Row i is all `first` + i.
  const auto rows = [](int64_t n, int64_t first) {
    Arg x{{n, 4}, {}, 0};
    for (int64_t i = 0; i < 4 * n; ++i) x.values.push_back(static_cast<float>(first + i / 4));
    return x;
  };
  const auto check = [&](Process& process, int64_t n, int64_t first) {
    ASSERT_EQ(process.call.Run(process.cluster.get(), {rows(n, first)}), TEKTITE_OK)
        << process.call.message;
    const int64_t low = std::min(n, std::max<int64_t>(0, 1 - first));
    EXPECT_EQ(process.call.dims[0], (std::vector<int64_t>{low, 4})) << n << " from " << first;
    EXPECT_EQ(process.call.dims[1], (std::vector<int64_t>{n - low, 4})) << n << " from " << first;
    EXPECT_EQ(process.call.results[0], rows(low, first).values);
    EXPECT_EQ(process.call.results[1], rows(n - low, std::max<int64_t>(first, 1)).values);
  };
  for (const char* tier : {"--tier=specialized", "--tier=generic"}) {
    const auto start = [&](const char* flags) {
      Process process = Start(absl::StrCat(tier, " --compile=sync ", flags));
      process.cluster.reset(
          tektite_cluster_create(process.compiler.get(), "rows", closed.get(), size, &status));
      return process;
    };
    Process first = start("");
    ASSERT_NE(first.cluster, nullptr) << status.message;
    check(first, 6, -2);
    EXPECT_THAT(first.stats(), HasSubstr("\"compiles\": 1,"));
    Process second = start("");
    for (int64_t from : {-2, -9, 5, 0}) check(second, 6, from);
    EXPECT_THAT(second.stats(), HasSubstr("\"compiles\": 0,"));
    EXPECT_THAT(second.stats(), HasSubstr("\"loaded_modules\": 1"));
    if (absl::string_view(tier) == "--tier=generic") {
      for (int64_t n : {1, 17, 300}) check(second, n, -7);
      EXPECT_THAT(second.stats(), HasSubstr("\"compiles\": 0,"));
    }
  }
}

// A convolution whose channels are not known: no kernel serves every size.
constexpr char kChannels[] = R"(
graph @channels(%x: f32[b,9,9,c], %k: f32[3,3,c,d]) -> (f32[b,7,7,d]) {
  %0: f32[b,7,7,d] = convolution(%x, %k) {feature_group_count = 1, high = [0, 0], input_layout = "b01f", kernel_layout = "01io", low = [0, 0], output_layout = "b01f", strides = [1, 1]}
  return %0
}
)";

std::vector<Arg> ChannelArgs(int64_t b) {
  return {{{b, 9, 9, 8}, std::vector<float>(b * 81 * 8, 0.5f)},
          {{3, 3, 8, 16}, std::vector<float>(9 * 8 * 16, 0.25f)}};
}

// A process once tried again what earlier ones had found impossible.
TEST_F(PlanTest, WhatCannotBeCompiledIsNotTriedAgain) {
  const char* const flags = "--compile=sync --tier=generic";
  Process first = Start(flags, kChannels);
  ASSERT_EQ(first.call.Run(first.cluster.get(), ChannelArgs(2)), TEKTITE_OK) << first.call.message;
  EXPECT_THAT(first.stats(), HasSubstr("\"generic_refusals\": 1"));
  EXPECT_EQ(Entries(cache::EntryKind::kModule).size(), 2u)
      << "the refusal, and code for these sizes";
  // The refusal holds for other sizes, too.
  for (int64_t b : {2, 3}) {
    Process second = Start(flags, kChannels);
    ASSERT_EQ(second.call.Run(second.cluster.get(), ChannelArgs(b)), TEKTITE_OK);
    EXPECT_EQ(second.call.results[0].at(0), 9 * 8 * 0.125f);
    EXPECT_THAT(second.stats(), HasSubstr("\"generic_refusals\": 1"));
    // With the same sentence as where it was found out.
    EXPECT_THAT(second.stats(), HasSubstr("channels of unknown size"));
    EXPECT_THAT(second.stats(), HasSubstr(b == 2 ? "\"kernels\": 0" : "\"kernels\": 1"));
    EXPECT_THAT(second.stats(), HasSubstr(b == 2 ? "\"stores\": 0" : "\"stores\": 2"));
  }
  // Even the first call of such a process runs compiled code.
  Process async = Start("--tier=generic", kChannels);
  ASSERT_EQ(async.call.Run(async.cluster.get(), ChannelArgs(2)), TEKTITE_OK) << async.call.message;
  EXPECT_THAT(async.stats(), HasSubstr("\"compiles\": 0, \"request_compiles\": 0"));
  // Another build, CPU or set of flags asks anew.
  Process other = Start("--compile=sync --tier=generic --cpu=avx2", kChannels);
  ASSERT_EQ(other.call.Run(other.cluster.get(), ChannelArgs(2)), TEKTITE_OK);
  EXPECT_THAT(other.stats(), HasSubstr("\"hits\": 0"));
}

// That code for all sizes was refused may be due to the sizes at hand.
TEST_F(PlanTest, ARefusalForSomeSizesHoldsForThoseAlone) {
  constexpr char kTwice[] = R"(
graph @twice(%x: f32[n,4], %y: f32[m,4], %z: f32[2*n,4]) -> (f32[3*n,4], f32[m,4]) {
  %0: f32[3*n,4] = concatenate(%x, %z) {dimension = 0}
  %1: f32[m,4] = exp(%y)
  return %0, %1
}
)";
  const auto run = [](Process& process, int64_t n) {
    const std::vector<Arg> args = {{{n, 4}, std::vector<float>(4 * n, 1)},
                                   {{n, 4}, std::vector<float>(4 * n, 0)},
                                   {{2 * n, 4}, std::vector<float>(8 * n, 2)}};
    ASSERT_EQ(process.call.Run(process.cluster.get(), args), TEKTITE_OK) << process.call.message;
    EXPECT_EQ(process.call.dims[0][0], 3 * n);
  };
  const char* const flags = "--compile=sync --tier=generic";
  Process first = Start(flags, kTwice), same = Start(flags, kTwice), other = Start(flags, kTwice);
  run(first, 2);
  ASSERT_THAT(first.stats(), HasSubstr("\"generic_refusals\": 1"));
  run(same, 2);
  EXPECT_THAT(same.stats(), HasSubstr("\"generic_refusals\": 1"));
  EXPECT_THAT(same.stats(), HasSubstr("\"stores\": 0"));
  run(other, 3);
  EXPECT_THAT(other.stats(), HasSubstr("\"generic_refusals\": 1"));
  EXPECT_THAT(other.stats(), testing::Not(HasSubstr("\"stores\": 0")));
}

TEST_F(PlanTest, ARefusalIsAnEntryThatPeopleCanRead) {
  Process process = Start("--compile=sync --tier=generic", kChannels);
  ASSERT_EQ(process.call.Run(process.cluster.get(), ChannelArgs(2)), TEKTITE_OK);
  const std::string flags = absl::StrCat("--cache_dir=", folder_ / "cache");
  const char* const ls = "ls";
  const TextPtr list(tektite_cache(flags.c_str(), &ls, 1, TEKTITE_TEXT, nullptr, nullptr));
  EXPECT_THAT(list.get(), testing::ContainsRegex("module .*cluster, refused: .*of unknown size"));
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
        for (const std::string& path : Entries(cache::EntryKind::kModule)) {
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
