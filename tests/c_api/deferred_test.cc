// Compilations that wait until they are likely to pay (jit/serving/compile_cost.h).
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

constexpr char kThree[] = R"(
graph @three(%x: f32[n]) -> (f32[n]) {
  %a: f32[n] = mul(%x, %x)
  %b: f32[n] = add(%a, %x)
  %c: f32[n] = tanh(%b)
  return %c
}
)";

// An estimated 200 ms, of which a process on one CPU waits for 50.
std::string Hundred() {
  std::string text = "graph @hundred(%x0: f32[n]) -> (f32[n]) {\n";
  for (int i = 0; i < 100; ++i) {
    absl::StrAppend(&text, "  %x", i + 1, ": f32[n] = tanh(%x", i, ")\n");
  }
  return text + "  return %x100\n}\n";
}

constexpr char kAsync[] = "--compile=async --compare=false";
constexpr int kNoTime = 0;
constexpr int kHalf = 110;  // milliseconds: more than half of what compiling is estimated to take

std::string Stats(const CompilerPtr& compiler) {
  return TextPtr(tektite_stats_json(compiler.get())).get();
}

// The call's fallback; the host's kernels take so many milliseconds.
int RunWith(const ClusterPtr& cluster, int host_ms, int64_t n = 1) {
  Call call;
  call.run_host = [host_ms](const tektite_status&) {
    if (host_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(host_ms));
    return TEKTITE_OK;
  };
  EXPECT_EQ(call.Run(cluster.get(), {{{n}, std::vector<float>(n, 2)}}), TEKTITE_OK);
  return call.fallback;
}

// Until code runs it.
int RunUntilReady(const ClusterPtr& cluster, int host_ms, int64_t n = 1) {
  int fallback = TEKTITE_FALLBACK_NOT_COMPILED;
  for (int i = 0; i < 10000 && fallback == TEKTITE_FALLBACK_NOT_COMPILED; ++i) {
    fallback = RunWith(cluster, host_ms, n);
    if (host_ms == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return fallback;
}

// Code for what runs a hundred times only cost more than it saved.
TEST(DeferredCompiles, NothingIsCompiledBeforeItPays) {
  CompilerPtr compiler = MakeCompiler(kAsync);
  ClusterPtr cluster = MakeCluster(compiler.get(), Hundred());
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(RunWith(cluster, kNoTime), TEKTITE_FALLBACK_NOT_COMPILED);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(RunWith(cluster, kNoTime), TEKTITE_FALLBACK_NOT_COMPILED);
  EXPECT_THAT(Stats(compiler), HasSubstr("\"compiles\": 0"));
  EXPECT_EQ(RunUntilReady(cluster, kHalf), TEKTITE_FALLBACK_NONE);
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
  CompilerPtr compiler = MakeCompiler(kAsync);
  tektite_status status = {};
  const ClusterPtr cluster(
      tektite_cluster_create(compiler.get(), "loop", bytes.data(), bytes.size(), &status));
  ASSERT_NE(cluster, nullptr) << status.message;
  // Of 0.6 s that compiling is estimated to take; it would be 2 ms without the loop's ops.
  for (const int host_ms : {6, 50}) {
    EXPECT_EQ(RunWith(cluster, host_ms), TEKTITE_FALLBACK_NOT_COMPILED);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(RunWith(cluster, kNoTime), TEKTITE_FALLBACK_NOT_COMPILED);
  EXPECT_THAT(Stats(compiler), HasSubstr("\"compiles\": 0"));
}

// The first shape's own code waits as well, and is not made when code for all shapes is there.
TEST(DeferredCompiles, AnotherShapeStartsWhatServesAll) {
  CompilerPtr compiler = MakeCompiler("--compile=async --compare=false --hot_calls=0");
  ClusterPtr cluster = MakeCluster(compiler.get(), Hundred());
  for (int64_t n : {1, 2, 3}) {
    EXPECT_EQ(RunWith(cluster, kNoTime, n), TEKTITE_FALLBACK_NOT_COMPILED);
  }
  EXPECT_EQ(RunUntilReady(cluster, kHalf, 3), TEKTITE_FALLBACK_NONE);
  EXPECT_EQ(RunUntilReady(cluster, kNoTime), TEKTITE_FALLBACK_NONE);
  EXPECT_THAT(Stats(compiler), HasSubstr("\"compiles\": 1"));
}

TEST(DeferredCompiles, WhoeverWaitsGetsTheCode) {
  CompilerPtr compiler = MakeCompiler(kAsync);
  ClusterPtr cluster = MakeCluster(compiler.get(), Hundred());
  EXPECT_EQ(RunWith(cluster, kNoTime), TEKTITE_FALLBACK_NOT_COMPILED);
  tektite_wait_until_compiled();
  EXPECT_EQ(RunWith(cluster, kNoTime), TEKTITE_FALLBACK_NONE);
}

TEST(DeferredCompiles, AHostWithoutKernelsDoesNotWait) {
  CompilerPtr compiler = MakeCompiler(kAsync);
  ClusterPtr cluster = MakeCluster(compiler.get(), Hundred());
  Call call;
  int code = TEKTITE_UNAVAILABLE;
  for (int i = 0; i < 10000 && code == TEKTITE_UNAVAILABLE; ++i) {
    code = call.Run(cluster.get(), {{{1}, {2}}});
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(code, TEKTITE_OK);
}

TEST(DeferredCompiles, NoPartIsAtOnceAndSyncNeverWaits) {
  for (const char* flags : {"--compile=async --compare=false --compile_after_percent=0",
                            "--compile=sync --compare=false"}) {
    CompilerPtr compiler = MakeCompiler(flags);
    ClusterPtr cluster = MakeCluster(compiler.get(), Hundred());
    EXPECT_EQ(RunUntilReady(cluster, kNoTime), TEKTITE_FALLBACK_NONE) << flags;
  }
}

// Calls that were left to the host while code was missing have made its kernels: a comparison needs
// four calls of the host's, and not one before them.
TEST(DeferredCompiles, TheComparisonKnowsThatTheHostHasRun) {
  CompilerPtr compiler = MakeCompiler("--compile=async");
  ClusterPtr cluster = MakeCluster(compiler.get(), Hundred());
  constexpr int kSlow = 20;
  EXPECT_EQ(RunWith(cluster, kSlow), TEKTITE_FALLBACK_NOT_COMPILED);
  tektite_wait_until_compiled();
  int measured = 0;
  for (int i = 0; i < 100 && tektite_cluster_has_won(cluster.get()) == 0; ++i) {
    measured += RunWith(cluster, kSlow) == TEKTITE_FALLBACK_MEASURING_HOST ? 1 : 0;
  }
  EXPECT_EQ(measured, 4);
}

// The stages of docs/design/call_states.md, as a host sees them.
TEST(DeferredCompiles, ACallsWayFromWaitingToASettledSide) {
  CompilerPtr compiler = MakeCompiler("--compile=async");
  ClusterPtr cluster = MakeCluster(compiler.get(), Hundred());
  BusyBackground busy;
  EXPECT_EQ(RunWith(cluster, kNoTime), TEKTITE_FALLBACK_NOT_COMPILED);  // waiting
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(RunWith(cluster, kHalf), TEKTITE_FALLBACK_NOT_COMPILED);
  }
  EXPECT_EQ(RunWith(cluster, kNoTime), TEKTITE_FALLBACK_NOT_COMPILED);  // compiling, in the queue
  EXPECT_THAT(Stats(compiler), HasSubstr("\"compiles\": 0"));
  busy.End();
  EXPECT_EQ(RunUntilReady(cluster, kNoTime), TEKTITE_FALLBACK_NONE);
  EXPECT_THAT(Stats(compiler), HasSubstr("\"open\": 1"));  // comparing
  constexpr int kSlow = 20;
  bool was_measured = false;
  for (int i = 0; i < 100 && tektite_cluster_has_won(cluster.get()) == 0; ++i) {
    was_measured |= RunWith(cluster, kSlow) == TEKTITE_FALLBACK_MEASURING_HOST;
  }
  EXPECT_TRUE(was_measured);
  EXPECT_THAT(Stats(compiler), HasSubstr("\"comparison\": {\"compiled\": 1, \"host\": 0"));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(RunWith(cluster, kSlow), TEKTITE_FALLBACK_NONE);
}

TEST(DeferredCompiles, AClusterMayGoWhileItWaits) {
  CompilerPtr compiler = MakeCompiler(kAsync);
  ClusterPtr cluster = MakeCluster(compiler.get(), Hundred());
  EXPECT_EQ(RunWith(cluster, kNoTime), TEKTITE_FALLBACK_NOT_COMPILED);
  cluster.reset();
  tektite_wait_until_compiled();
  EXPECT_THAT(Stats(compiler), HasSubstr("\"compiles\": 0"));
}

// More clusters wait than the queue of the compiling thread has room for: none is lost.
TEST(DeferredCompiles, MoreMayWaitThanTheQueueHolds) {
  CompilerPtr compiler = MakeCompiler("--compile=async --compare=false");
  std::vector<ClusterPtr> clusters;
  for (int i = 0; i < 300; ++i) {
    clusters.push_back(MakeCluster(compiler.get(), kThree));
    RunWith(clusters.back(), kNoTime);
  }
  int ready = 0;
  for (int round = 0; round < 3; ++round) {
    tektite_wait_until_compiled();
    ready = 0;
    for (const ClusterPtr& cluster : clusters) {
      ready += RunWith(cluster, kNoTime) == TEKTITE_FALLBACK_NONE ? 1 : 0;
    }
  }
  EXPECT_EQ(ready, 300);
}

// An empty marking: a cluster without code would only cost its host a function call.
TEST(DeferredCompiles, NothingIsMarkedWhereNothingIsCompiled) {
  CompilerPtr compiler = MakeCompiler("--compile=off");
  tektite_status status = {};
  MarkingPtr marking(tektite_mark(compiler.get(), "", 0, nullptr, &status));
  ASSERT_NE(marking, nullptr) << status.message;
  EXPECT_EQ(marking->num_clusters, 0);
}

}  // namespace
}  // namespace tektite
