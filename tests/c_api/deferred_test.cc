// Compilations that wait until they are likely to pay (jit/serving/deferred_compiles.h).
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clustering/graph_def/text_reader.h"
#include "clustering/graph_def/writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/c_api/test_host.h"

namespace tektite {
namespace {

using testing::HasSubstr;

// Three ops, so an estimated 6 ms, of which a process on one CPU waits for 1.5.
constexpr char kThree[] = R"(
graph @three(%x: f32[n]) -> (f32[n]) {
  %a: f32[n] = mul(%x, %x)
  %b: f32[n] = add(%a, %x)
  %c: f32[n] = tanh(%b)
  return %c
}
)";
constexpr int64_t kTooLittle = 1'400'000;
constexpr int64_t kEnough = 6'100'000;

std::string Stats(const CompilerPtr& compiler) {
  return TextPtr(tektite_stats_json(compiler.get())).get();
}

int RunWith(const ClusterPtr& cluster, const int64_t* host_ns, int64_t n = 1) {
  Call call;
  call.host_ns = host_ns;
  return call.Run(cluster.get(), {{{n}, std::vector<float>(n, 2)}});
}

// Until it is no longer refused because code is missing.
int RunUntilReady(const ClusterPtr& cluster, const int64_t* host_ns) {
  int code = TEKTITE_UNAVAILABLE;
  for (int i = 0; i < 10000 && code == TEKTITE_UNAVAILABLE; ++i) {
    code = RunWith(cluster, host_ns);
    if (code == TEKTITE_UNAVAILABLE) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return code;
}

// Code for what runs a hundred times only cost more than it saved.
TEST(DeferredCompiles, NothingIsCompiledBeforeItPays) {
  CompilerPtr compiler = MakeCompiler("--compile=async");
  ClusterPtr cluster = MakeCluster(compiler.get(), kThree);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(RunWith(cluster, &kTooLittle), TEKTITE_UNAVAILABLE);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(RunWith(cluster, &kTooLittle), TEKTITE_UNAVAILABLE);
  EXPECT_THAT(Stats(compiler), HasSubstr("\"compiles\": 0"));
  EXPECT_EQ(RunUntilReady(cluster, &kEnough), TEKTITE_OK);
  EXPECT_THAT(Stats(compiler), HasSubstr("\"compiles\": 1"));
}

// A loop counted as one op, so its code was begun at the first call, whatever its turns do.
TEST(DeferredCompiles, ALoopCountsWithTheOpsOfItsTurns) {
  const std::string type = "attr { key: 'T' value { type: DT_FLOAT } } ";
  std::string turn = "input: 'x' ";
  std::string nodes;
  for (int i = 0; i < 300; ++i) {
    absl::StrAppend(&nodes, "node_def { name: 't", i, "' op: 'Tanh' ", turn, type, "} ");
    turn = absl::StrCat("input: 't", i, ":y:0' ");
  }
  const auto function = [](const char* name, const char* result, const char* result_type,
                           const std::string& body, const char* returned) {
    return absl::StrCat("function { signature { name: '", name,
                        "' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: '", result,
                        "' type: ", result_type, " } } ", body, "ret { key: '", result,
                        "' value: '", returned, "' } } ");
  };
  const auto runs = [](const char* attr, const char* name) {
    return absl::StrCat("attr { key: '", attr, "' value { func { name: '", name, "' } } } ");
  };
  const auto graph = graph_def::ReadTextGraphDef(absl::StrCat(
      "node { name: 'a' op: '_Arg' attr { key: 'index' value { i: 0 } } ", type, "} ",
      "node { name: 'w' op: 'StatelessWhile' input: 'a' ", runs("cond", "go"), runs("body", "turn"),
      "attr { key: 'T' value { list { type: DT_FLOAT } } } } ",
      "node { name: 'r' op: '_Retval' input: 'w' attr { key: 'index' value { i: 0 } } ", type, "} ",
      "library { ",
      function(
          "go", "g", "DT_BOOL",
          absl::StrCat("node_def { name: 'n' op: 'NotEqual' input: 'x' input: 'x' ", type, "} "),
          "n:z:0"),
      function("turn", "y", "DT_FLOAT", nodes, "t299:y:0"), "}"));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const std::string bytes = graph_def::WriteGraphDef(*graph);
  CompilerPtr compiler = MakeCompiler("--compile=async");
  tektite_status status = {};
  const ClusterPtr cluster(
      tektite_cluster_create(compiler.get(), "loop", bytes.data(), bytes.size(), &status));
  ASSERT_NE(cluster, nullptr) << status.message;
  constexpr int64_t kASixth = 100'000'000;  // of 0.6 s that compiling is estimated to take
  EXPECT_EQ(RunWith(cluster, &kEnough), TEKTITE_UNAVAILABLE);
  EXPECT_EQ(RunWith(cluster, &kASixth), TEKTITE_UNAVAILABLE);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(RunWith(cluster, &kASixth), TEKTITE_UNAVAILABLE);
  EXPECT_THAT(Stats(compiler), HasSubstr("\"compiles\": 0"));
}

// The first shape's own code waits as well, and is not made when code for all shapes is there.
TEST(DeferredCompiles, AnotherShapeStartsWhatServesAll) {
  CompilerPtr compiler = MakeCompiler("--compile=async --hot_calls=0");
  ClusterPtr cluster = MakeCluster(compiler.get(), kThree);
  for (int64_t n : {1, 2, 3}) EXPECT_EQ(RunWith(cluster, &kTooLittle, n), TEKTITE_UNAVAILABLE);
  while (RunWith(cluster, &kEnough, 3) == TEKTITE_UNAVAILABLE) std::this_thread::yield();
  EXPECT_EQ(RunUntilReady(cluster, &kEnough), TEKTITE_OK);
  EXPECT_THAT(Stats(compiler), HasSubstr("\"compiles\": 1"));
}

TEST(DeferredCompiles, WhoeverWaitsGetsTheCode) {
  CompilerPtr compiler = MakeCompiler("--compile=async");
  ClusterPtr cluster = MakeCluster(compiler.get(), kThree);
  EXPECT_EQ(RunWith(cluster, &kTooLittle), TEKTITE_UNAVAILABLE);
  tektite_wait_until_compiled();
  EXPECT_EQ(RunWith(cluster, &kTooLittle), TEKTITE_OK);
}

TEST(DeferredCompiles, AHostThatSaysNothingDoesNotWait) {
  CompilerPtr compiler = MakeCompiler("--compile=async");
  ClusterPtr cluster = MakeCluster(compiler.get(), kThree);
  EXPECT_EQ(RunUntilReady(cluster, nullptr), TEKTITE_OK);
}

TEST(DeferredCompiles, NoPartIsAtOnceAndSyncNeverWaits) {
  const int64_t nothing = 0;
  for (const char* flags : {"--compile=async --compile_after_percent=0", "--compile=sync"}) {
    CompilerPtr compiler = MakeCompiler(flags);
    ClusterPtr cluster = MakeCluster(compiler.get(), kThree);
    EXPECT_EQ(RunUntilReady(cluster, &nothing), TEKTITE_OK) << flags;
  }
}

// Calls that were left to the host while code was missing have made its kernels: a trial needs four
// calls of the host's, and not one before them.
TEST(DeferredCompiles, TheContestKnowsThatTheHostHasRun) {
  CompilerPtr compiler = MakeCompiler("--compile=sync");
  ClusterPtr cluster = MakeCluster(compiler.get(), kThree);
  EXPECT_EQ(RunWith(cluster, &kEnough), TEKTITE_OK);
  tektite_contest* const contest = tektite_contest_create(cluster.get(), "sleeping");
  const int64_t dims[] = {1};
  const tektite_tensor arg = {nullptr, dims, 1, 1, 0, TEKTITE_HOST};
  const int32_t which = 0;
  int host_calls = 0;
  for (int i = 0; i < 100 && tektite_contest_has_won(contest) == 0; ++i) {
    tektite_turn turn = {};
    ASSERT_EQ(tektite_contest_begin(contest, &arg, &which, 1, 0, &turn), TEKTITE_OK);
    if (turn.is_host != 0) {
      ++host_calls;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    tektite_contest_end(contest, &turn);
  }
  tektite_contest_destroy(contest);
  EXPECT_EQ(host_calls, 4);
}

TEST(DeferredCompiles, AClusterMayGoWhileItWaits) {
  CompilerPtr compiler = MakeCompiler("--compile=async");
  ClusterPtr cluster = MakeCluster(compiler.get(), kThree);
  EXPECT_EQ(RunWith(cluster, &kTooLittle), TEKTITE_UNAVAILABLE);
  cluster.reset();
  tektite_wait_until_compiled();
  EXPECT_THAT(Stats(compiler), HasSubstr("\"compiles\": 0"));
}

// More shapes than may wait: those beyond are compiled as before, and none is lost.
TEST(DeferredCompiles, TooManyDoNotWait) {
  CompilerPtr compiler = MakeCompiler("--compile=async --tier=specialized --max_executables=400");
  ClusterPtr cluster = MakeCluster(compiler.get(), kThree);
  for (int64_t n = 1; n <= 300; ++n) RunWith(cluster, &kTooLittle, n);
  tektite_wait_until_compiled();
  int ready = 0;
  for (int64_t n = 1; n <= 300; ++n) ready += RunWith(cluster, &kTooLittle, n) == TEKTITE_OK;
  EXPECT_GE(ready, 256);
}

// An empty marking: a cluster without code would only cost its host a function call.
TEST(DeferredCompiles, NothingIsMarkedWhereNothingIsCompiled) {
  CompilerPtr compiler = MakeCompiler("--compile=off");
  tektite_status status = {};
  MarkingPtr marking(tektite_mark(compiler.get(), "", 0, nullptr, &status));
  ASSERT_NE(marking, nullptr) << status.message;
  EXPECT_EQ(tektite_marking_num_clusters(marking.get()), 0);
}

}  // namespace
}  // namespace tektite
