// One artifact for many shapes: what becomes generic, what does not, and what is counted.
#include <cmath>
#include <numeric>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/c_api/test_host.h"

namespace tektite {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

constexpr char kRows[] = R"(
graph @rows(%x: f32[n,m,8], %w: f32[8,4] {weight = true}, %b: f32[k,4]) -> (f32[n,m,4], f32[n*m,4]) {
  %0: f32[n,m,4] = dot_general(%x, %w) {lhs_batch = [], lhs_contracting = [2], rhs_batch = [], rhs_contracting = [0]}
  %1: f32[n*m,4] = reshape(%0) {shape = (n*m, 4)}
  %2: f32[n,m,4] = tanh(%0)
  return %2, %1
}
)";

constexpr char kTwo[] = R"(
graph @two(%x: f32[n,4], %y: f32[m,4]) -> (f32[n,4], f32[m + n,4]) {
  %0: f32[n,4] = tanh(%x)
  %1: f32[m + n,4] = concatenate(%x, %y) {dimension = 0}
  return %0, %1
}
)";

std::string Stats(const CompilerPtr& compiler) {
  return TextPtr(tektite_stats_json(compiler.get())).get();
}

Arg Floats(std::vector<int64_t> dims, uint64_t version = 0, float first = 0.25f) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  Arg arg{std::move(dims), std::vector<float>(n), version};
  for (int64_t i = 0; i < n; ++i) arg.values[i] = first + 0.01f * static_cast<float>(i % 97);
  return arg;
}

class ShapesTest : public testing::TestWithParam<const char*> {};

TEST_P(ShapesTest, TwoArtifactsServeTwoHundredShapes) {
  CompilerPtr compiler = MakeCompiler("--hot_calls=0", GetParam());
  CompilerPtr exact = MakeCompiler("--tier=specialized", GetParam());
  ClusterPtr cluster = MakeCluster(compiler.get(), kRows), other = MakeCluster(exact.get(), kRows);
  ASSERT_NE(cluster, nullptr);
  for (int i = 0; i < 200; ++i) {
    const int64_t n = 1 + i % 8, m = 3 + i;
    const std::vector<Arg> args = {Floats({n, m, 8}), Floats({8, 4}, 7), Floats({2, 4})};
    Call call, expected;
    ASSERT_EQ(call.Run(cluster.get(), args), TEKTITE_OK) << call.message;
    if (i % 20 != 0) continue;
    ASSERT_EQ(expected.Run(other.get(), args), TEKTITE_OK) << expected.message;
    ASSERT_EQ(call.dims, expected.dims);
    for (size_t r = 0; r < expected.results.size(); ++r) {
      ASSERT_EQ(call.results[r].size(), expected.results[r].size());
      for (size_t k = 0; k < expected.results[r].size(); ++k) {
        ASSERT_NEAR(call.results[r][k], expected.results[r][k], 1e-5);
      }
    }
  }
  EXPECT_THAT(Stats(compiler), HasSubstr("\"generic_artifacts\": 1"));
  EXPECT_THAT(Stats(compiler), HasSubstr("\"specialized_artifacts\": 1"));
  EXPECT_THAT(Stats(compiler), HasSubstr("\"fallbacks\": {}"));
}

TEST_P(ShapesTest, AHotShapeGetsCodeOfItsOwnInTheBackground) {
  CompilerPtr compiler = MakeCompiler("--hot_calls=3", GetParam());
  ClusterPtr cluster = MakeCluster(compiler.get(), kTwo);
  Call call;
  for (int64_t n = 1; n < 12; ++n) {  // more than keep code of their own
    for (int i = 0; i < 6; ++i) {
      ASSERT_EQ(call.Run(cluster.get(), {Floats({n, 4}), Floats({n + 5, 4})}), TEKTITE_OK)
          << call.message;
    }
  }
  // Shape 1 has code of its own from the start, 2 to 11 were called often enough.
  for (int i = 0; i < 5000; ++i) {
    if (Stats(compiler).find("\"specialized_artifacts\": 11") != std::string::npos) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_THAT(Stats(compiler), HasSubstr("\"specialized_artifacts\": 11"));
  EXPECT_THAT(Stats(compiler), HasSubstr("\"generic_artifacts\": 1"));
  for (int64_t n = 1; n < 12; ++n) {
    ASSERT_EQ(call.Run(cluster.get(), {Floats({n, 4}), Floats({n + 5, 4})}), TEKTITE_OK);
    ASSERT_EQ(call.dims[1][0], 2 * n + 5);
  }
}

TEST_P(ShapesTest, EverythingButWeightsIsGenericWhenAskedFor) {
  CompilerPtr compiler = MakeCompiler("--tier=generic", GetParam());
  ClusterPtr cluster = MakeCluster(compiler.get(), kRows);
  Call call;
  for (int64_t m : {3, 5, 9}) {
    const std::vector<Arg> args = {Floats({2, m, 8}), Floats({8, 4}, 7), Floats({6, 4})};
    ASSERT_EQ(call.Run(cluster.get(), args), TEKTITE_OK) << call.message;
  }
  EXPECT_THAT(Stats(compiler), HasSubstr("\"generic_artifacts\": 1"));
  EXPECT_THAT(Stats(compiler), HasSubstr("\"specialized_artifacts\": 0"));
}

// Two sizes that were equal so far share a symbol; the day they differ, other code is made.
TEST_P(ShapesTest, SizesThatWereEqualByChanceMayDifferLater) {
  CompilerPtr compiler = MakeCompiler("--hot_calls=0", GetParam());
  ClusterPtr cluster = MakeCluster(compiler.get(), kTwo);
  Call call;
  for (int64_t n : {2, 3, 4}) {
    ASSERT_EQ(call.Run(cluster.get(), {Floats({n, 4}), Floats({n, 4})}), TEKTITE_OK);
  }
  EXPECT_THAT(Stats(compiler), HasSubstr("\"generic_artifacts\": 1"));
  for (int64_t n : {2, 3, 4}) {
    ASSERT_EQ(call.Run(cluster.get(), {Floats({n, 4}), Floats({7 - n, 4})}), TEKTITE_OK);
    EXPECT_EQ(call.dims[1][0], 7);
  }
  EXPECT_THAT(Stats(compiler), HasSubstr("\"generic_artifacts\": 2"));
}

// The code for many sizes needs n >= 2, which only a call's sizes tell.
TEST_P(ShapesTest, SizesThatGenericCodeDoesNotFitGetTheirOwn) {
  constexpr char kSliced[] = R"(
graph @sliced(%x: f32[n,4]) -> (f32[2*n - 4,4], f32[n,4]) {
  %0: f32[2*n,4] = concatenate(%x, %x) {dimension = 0}
  %1: f32[2*n - 4,4] = slice(%0) {limits = (2*n - 2, 4), starts = (2, 0), strides = [1, 1]}
  %2: f32[n,4] = tanh(%x)
  return %1, %2
}
)";
  CompilerPtr compiler = MakeCompiler("--hot_calls=0", GetParam());
  ClusterPtr cluster = MakeCluster(compiler.get(), kSliced);
  Call call;
  for (int64_t n : {5, 4, 3, 2}) {
    ASSERT_EQ(call.Run(cluster.get(), {Floats({n, 4})}), TEKTITE_OK) << call.message;
    EXPECT_EQ(call.dims[0][0], 2 * n - 4);
  }
  EXPECT_NE(call.Run(cluster.get(), {Floats({1, 4})}), TEKTITE_OK);
  EXPECT_THAT(Stats(compiler), HasSubstr("\"guard_failures\": 1"));
  EXPECT_THAT(Stats(compiler), HasSubstr("the code needs 0 <= 2*s0 - 4, here 0 and -2"));
}

// A row that is shorter than k is the host's to refuse; generic code would read behind it.
TEST_P(ShapesTest, RowsShorterThanTheKOfTopKAreRefused) {
  constexpr char kTop[] = R"(
graph @top(%x: f32[3,n]) -> (f32[3,5], s32[3,5]) {
  %t:2 : (f32[3,5], s32[3,5]) = top_k(%x) {k = 5}
  return %t#0, %t#1
}
)";
  CompilerPtr compiler = MakeCompiler("--hot_calls=0", GetParam());
  ClusterPtr cluster = MakeCluster(compiler.get(), kTop);
  Call call;
  for (int64_t n : {8, 9, 5}) {
    ASSERT_EQ(call.Run(cluster.get(), {Floats({3, n})}), TEKTITE_OK) << call.message;
  }
  EXPECT_NE(call.Run(cluster.get(), {Floats({3, 4})}), TEKTITE_OK);
  // The generic code's check, or inference where the back end has no generic code.
  EXPECT_THAT(std::string(call.message),
              AnyOf(HasSubstr("5 <= 4"), HasSubstr("k must be 0 to 4, got 5")));
  EXPECT_THAT(Stats(compiler), HasSubstr("\"guard_failures\": 1"));
}

// Sizes of arguments without elements never reach generic code.
TEST_P(ShapesTest, NoElements) {
  CompilerPtr compiler = MakeCompiler("--hot_calls=0", GetParam());
  ClusterPtr cluster = MakeCluster(compiler.get(), kTwo);
  Call call;
  for (int64_t n : {2, 3, 0, 4}) {
    ASSERT_EQ(call.Run(cluster.get(), {Floats({n, 4}), Floats({3, 4})}), TEKTITE_OK)
        << call.message;
    EXPECT_EQ(call.dims[0][0], n);
  }
  EXPECT_THAT(Stats(compiler), HasSubstr("\"specialized_artifacts\": 2"));
}

// Calls are never kept waiting, and do not each ask for code of their own.
TEST_P(ShapesTest, AsyncMakesOneArtifactForMany) {
  CompilerPtr compiler = MakeCompiler("--hot_calls=0 --compile=async", GetParam());
  ClusterPtr cluster = MakeCluster(compiler.get(), kTwo);
  int served = 0;
  for (int i = 0; i < 20000 && served < 50; ++i) {
    Call call;
    const int64_t n = 1 + i % 30;
    const int code = call.Run(cluster.get(), {Floats({n, 4}), Floats({n % 7 + 1, 4})});
    ASSERT_TRUE(code == TEKTITE_OK || code == TEKTITE_UNAVAILABLE) << call.message;
    served = code == TEKTITE_OK ? served + 1 : 0;
    if (code == TEKTITE_OK) {
      ASSERT_EQ(call.dims[1][0], n + n % 7 + 1);
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }
  EXPECT_EQ(served, 50) << Stats(compiler);
  EXPECT_THAT(Stats(compiler), HasSubstr("\"request_compiles\": 0"));
  EXPECT_THAT(Stats(compiler), testing::ContainsRegex("\"compiles\": [1-4],"));
}

// A shape for which there can be no generic code once waited for its next call before code of its
// own was begun.
TEST_P(ShapesTest, AsyncMakesExactCodeAsSoonAsGenericCodeIsRefused) {
  constexpr char kTwice[] = R"(
graph @twice(%x: f32[n,4], %y: f32[2*n,4]) -> (f32[3*n,4]) {
  %0: f32[3*n,4] = concatenate(%x, %y) {dimension = 0}
  return %0
}
)";
  CompilerPtr compiler = MakeCompiler("--hot_calls=0 --compile=async", GetParam());
  ClusterPtr cluster = MakeCluster(compiler.get(), kTwice);
  Call call;
  for (int64_t n : {2, 3}) {
    const std::vector<Arg> args = {Floats({n, 4}), Floats({2 * n, 4})};
    ASSERT_THAT(call.Run(cluster.get(), args), AnyOf(TEKTITE_OK, TEKTITE_UNAVAILABLE));
    tektite_wait_until_compiled();
    ASSERT_EQ(call.Run(cluster.get(), args), TEKTITE_OK) << call.message;
    EXPECT_EQ(call.dims[0][0], 3 * n);
  }
  EXPECT_THAT(Stats(compiler), HasSubstr("\"generic_refusals\": 1"));
}

int64_t ResidentKb() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  long pages = 0, resident = 0;
  if (file == nullptr || std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
  if (file != nullptr) std::fclose(file);
  return resident * 4;
}

TEST_P(ShapesTest, MemoryDoesNotGrowWithTheNumberOfShapes) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer keeps freed memory";
#endif
  CompilerPtr compiler = MakeCompiler("--hot_calls=2", GetParam());
  ClusterPtr cluster = MakeCluster(compiler.get(), kTwo);
  Call call;
  auto run = [&](int64_t i) {
    ASSERT_EQ(call.Run(cluster.get(), {Floats({1 + i % 300, 4}), Floats({1 + i / 300, 4})}),
              TEKTITE_OK);
  };
  for (int64_t i = 0; i < 3000; ++i) run(i);
  const int64_t before = ResidentKb();
  for (int64_t i = 3000; i < 12000; ++i) run(i);
  EXPECT_LT(ResidentKb() - before, 8 << 10);
}

INSTANTIATE_TEST_SUITE_P(Backends, ShapesTest, testing::Values("reference", "cpu"));

}  // namespace
}  // namespace tektite
