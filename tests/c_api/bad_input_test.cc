// Whatever a host hands over, the answer is a status with one line.
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/c_api/test_host.h"

namespace tektite {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kGood[] = R"(
graph @f(%x: f32[2,3]) -> (f32[2]) {
  %e: f32[2,3] = exp(%x)
  %r: f32[2] = reduce(%e) {dimensions = [1], reducer = "add"}
  return %r
}
)";

TEST(BadInput, Options) {
  tektite_status status = {};
  EXPECT_EQ(MakeCompiler("", "abacus", &status), nullptr);
  EXPECT_EQ(status.code, TEKTITE_NOT_FOUND);
  EXPECT_THAT(status.message, HasSubstr("no back end is called 'abacus'; there are: "));
  testing::internal::CaptureStderr();
  EXPECT_NE(MakeCompiler("--no_such_flag=3 --compile=maybe --tier=top --tuning=often "
                         "--hot_calls=many --cache_mb=-3 --compare=perhaps --f32_products=bf16x2"),
            nullptr);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("'--no_such_flag=3' ignored"));
  EXPECT_THAT(said, HasSubstr("'--compile=maybe' ignored: expected sync, async, off"));
  EXPECT_THAT(said, HasSubstr("'--tier=top' ignored: expected auto, generic, specialized"));
  EXPECT_THAT(said, HasSubstr("'--tuning=often' ignored: expected auto, off"));
  EXPECT_THAT(said, HasSubstr("'--hot_calls=many' ignored: expected a number of at"));
  EXPECT_THAT(said, HasSubstr("'--cache_mb=-3' ignored: expected a number of at least 0"));
  EXPECT_THAT(said, HasSubstr("'--compare=perhaps' ignored: expected true or false"));
  EXPECT_THAT(said, HasSubstr("'--f32_products=bf16x2' ignored: expected exact, bf16, bf16_stored, bf16x3, "));
  tektite_compiler* const plain = tektite_compiler_create(nullptr, nullptr);
  EXPECT_NE(plain, nullptr);
  tektite_compiler_destroy(plain);
}

TEST(OpTable, SaysWhichOpsChangeVariables) {
  for (const char* op : {"AssignVariableOp", "ResourceApplyAdam", "ResourceScatterNdUpdate",
                         "RngReadAndSkip", "StatefulUniform", "StatefulTruncatedNormal"}) {
    EXPECT_EQ(tektite_op_assigns(op), 1) << op;
  }
  // Among them names that TensorFlow does not have: functions of a program.
  for (const char* op : {"ReadVariableOp", "StatefulPartitionedCall", "ResourceGather", "Assign",
                         "AssignNothing", "StatefulCount", "RngOfMine", ""}) {
    EXPECT_EQ(tektite_op_assigns(op), 0) << op;
  }
}

TEST(BadInput, IrText) {
  CompilerPtr compiler = MakeCompiler();
  for (const char* text :
       {"", "graph", "graph @f(", "\xff\xfe", "graph @f(%x: f32[2]) -> (f32[2]) { return %y }",
        "graph @f(%x: f32[2]) -> (f32[3]) { %r: f32[3] = neg(%x)  return %r }"}) {
    tektite_status status = {};
    EXPECT_EQ(MakeCluster(compiler.get(), text, &status), nullptr) << text;
    EXPECT_NE(status.code, TEKTITE_OK);
    EXPECT_NE(std::strlen(status.message), 0u);
    EXPECT_THAT(status.message, Not(HasSubstr("\n")));
  }
}

// Every cut and many random changes of a good text: a status or a cluster that can be run.
// Sizes and calls as a host gets them wrong, and one that was built with an older header.
TEST(BadInput, Calls) {
  CompilerPtr compiler = MakeCompiler();
  ClusterPtr cluster = MakeCluster(compiler.get(), kGood);
  ASSERT_NE(cluster, nullptr);
  Call host;
  EXPECT_EQ(host.Run(cluster.get(), {{{2, 3}, std::vector<float>(6, 0.0f)}}), TEKTITE_OK);
  const int64_t large = int64_t{1} << 62;
  for (const std::vector<int64_t>& dims : std::vector<std::vector<int64_t>>{
           {-1, 3}, {large, 4}, {INT64_MIN, 0}, {0, INT64_MAX}, {2}, {}, {2, 3, large}}) {
    EXPECT_NE(host.Run(cluster.get(), {{dims, {}}}), TEKTITE_OK);
    EXPECT_NE(host.message, "");
  }
  const float values[6] = {};
  const int64_t dims[] = {2, 3};
  const tektite_tensor arg = {values, dims, 2, 1, 0, TEKTITE_HOST};
  tektite_call call = {};
  call.args = &arg;
  call.num_args = 1;
  call.context = &host;
  call.allocate = [](void* self, int32_t, int32_t, int32_t, const int64_t*) -> void* {
    static_cast<Call*>(self)->results.assign(1, std::vector<float>(2));
    return static_cast<Call*>(self)->results[0].data();
  };
  // Bytes behind an older struct are not read: here they would say that the call is cancelled.
  call.is_cancelled = [](void*) -> int32_t { std::abort(); };
  tektite_status status = {};
  for (size_t size = 0; size <= sizeof(call); ++size) {
    call.struct_size = size;
    const int code = tektite_cluster_run(cluster.get(), &call, &status);
    EXPECT_EQ(code == TEKTITE_OK, size >= offsetof(tektite_call, reproducible)) << size;
  }
  call.struct_size = sizeof(call);
  call.num_args = -1;
  EXPECT_EQ(tektite_cluster_run(cluster.get(), &call, &status), TEKTITE_INVALID_ARGUMENT);
  call.num_args = 1;
  call.args = nullptr;
  EXPECT_EQ(tektite_cluster_run(cluster.get(), &call, &status), TEKTITE_INVALID_ARGUMENT);
}

// Code for the host's CPU has no use for a device's memory, and must not read it.
TEST(BadInput, SpacesOfTensors) {
  CompilerPtr compiler = MakeCompiler();
  ClusterPtr cluster = MakeCluster(compiler.get(), kGood);
  ASSERT_NE(cluster, nullptr);
  const std::vector<Arg> args = {{{2, 3}, std::vector<float>(6, 0.0f)}};
  for (const auto& [space, code] : {std::pair<int, int>(TEKTITE_DEVICE, TEKTITE_INVALID_ARGUMENT),
                                    std::pair<int, int>(7, TEKTITE_INVALID_ARGUMENT),
                                    std::pair<int, int>(-1, TEKTITE_INVALID_ARGUMENT),
                                    std::pair<int, int>(TEKTITE_HOST, TEKTITE_OK)}) {
    Call of_argument, of_results;
    of_argument.space = space;
    EXPECT_EQ(of_argument.Run(cluster.get(), args), code) << of_argument.message;
    of_results.result_space = space;
    EXPECT_EQ(of_results.Run(cluster.get(), args), code) << of_results.message;
    // Each result's own counts where it is given.
    Call of_result;
    const int32_t one[] = {space};
    of_result.result_spaces = one;
    of_result.result_space = space == TEKTITE_HOST ? TEKTITE_DEVICE : TEKTITE_HOST;
    EXPECT_EQ(of_result.Run(cluster.get(), args), code) << of_result.message;
  }
  Call on_stream;
  on_stream.stream = &on_stream;
  EXPECT_EQ(on_stream.Run(cluster.get(), args), TEKTITE_INVALID_ARGUMENT);
  EXPECT_EQ(on_stream.message, "the call is for a stream of a device, and the code is the host's");
}

TEST(BadInput, DamagedIrText) {
  CompilerPtr compiler = MakeCompiler();
  const std::string good = kGood;
  auto attempt = [&](const std::string& text) {
    tektite_status status = {};
    ClusterPtr cluster = MakeCluster(compiler.get(), text, &status);
    if (cluster == nullptr) return;
    Call call;
    call.Run(cluster.get(), {{{2, 3}, {1, 2, 3, 4, 5, 6}}});
  };
  for (size_t length = 0; length <= good.size(); ++length) attempt(good.substr(0, length));
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    std::string text = good;
    const int changes = 1 + static_cast<int>(random() % 4);
    for (int c = 0; c < changes; ++c) {
      text[random() % text.size()] = good[random() % good.size()];
    }
    attempt(text);
  }
}

TEST(BadInput, GraphDefBytes) {
  CompilerPtr compiler = MakeCompiler();
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(random() % 200, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    tektite_status status = {};
    ClusterPtr cluster(
        tektite_cluster_create(compiler.get(), "c", bytes.data(), bytes.size(), &status));
    EXPECT_EQ(cluster == nullptr, status.code != TEKTITE_OK);
    MarkingPtr marking(tektite_mark(compiler.get(), bytes.data(), bytes.size(), nullptr, &status));
    EXPECT_EQ(marking == nullptr, status.code != TEKTITE_OK);
    TextPtr text(tektite_explain(compiler.get(), bytes.data(), bytes.size(), nullptr, TEKTITE_JSON,
                                 &status));
    EXPECT_EQ(text == nullptr, status.code != TEKTITE_OK);
    size_t size = 0;
    char* signature = nullptr;
    TextPtr closed(tektite_close_graph(bytes.data(), bytes.size(), "", &size, &signature, &status));
    TextPtr owned(signature);
    EXPECT_EQ(closed == nullptr, status.code != TEKTITE_OK);
  }
}

// Bytes that the reader accepts are imported and compiled: 200 random changes of a model, or as
// many as TEKTITE_MUTATIONS says.
TEST(BadInput, DamagedModels) {
  std::ifstream file(TEKTITE_TESTDATA "/frozen.pb", std::ios::binary);
  const std::string good(std::istreambuf_iterator<char>(file), {});
  ASSERT_FALSE(good.empty());
  const char* const text = std::getenv("TEKTITE_MUTATIONS");
  const int mutations = text == nullptr ? 200 : std::atoi(text);
  CompilerPtr compiler = MakeCompiler("--min_cluster_cost=0", "cpu");
  std::mt19937 random(9);
  int compiled = 0;
  for (int i = 0; i < mutations; ++i) {
    std::string bytes = good;
    for (int change = 1 + static_cast<int>(random() % 3); change > 0; --change) {
      const size_t at = random() % bytes.size();
      switch (random() % 3) {
        case 0:  // most of all what is small: types, sizes, axes
          if (static_cast<unsigned char>(bytes[at]) < 32) bytes[at] = random() % 32;
          break;
        case 1:
          bytes[at] = static_cast<char>(random());
          break;
        default:
          bytes[at] ^= static_cast<char>(1 << (random() % 8));
      }
    }
    tektite_status status = {};
    const TextPtr memory(
        tektite_explain(compiler.get(), bytes.data(), bytes.size(), "", TEKTITE_JSON, &status));
    EXPECT_EQ(memory == nullptr, status.code != TEKTITE_OK) << i;
    EXPECT_THAT(status.message, Not(HasSubstr("\n")));
    compiled += memory != nullptr;
  }
  EXPECT_GT(compiled, 0);
}

TEST(BadInput, PassNames) {
  CompilerPtr compiler = MakeCompiler();
  tektite_status status = {};
  TextPtr text(tektite_transform_ir(compiler.get(), kGood, sizeof(kGood) - 1, "polish", &status));
  EXPECT_EQ(text, nullptr);
  EXPECT_EQ(status.code, TEKTITE_INVALID_ARGUMENT);
  EXPECT_THAT(status.message, HasSubstr("'polish'"));
}

TEST(Tools, PassesOverText) {
  CompilerPtr compiler = MakeCompiler();
  tektite_status status = {};
  TextPtr text(tektite_transform_ir(compiler.get(), kGood, sizeof(kGood) - 1, "", &status));
  ASSERT_NE(text, nullptr) << status.message;
  EXPECT_THAT(text.get(), HasSubstr("fusion"));
  EXPECT_THAT(TextPtr(tektite_list("passes")).get(), HasSubstr("canonicalize\t"));
  EXPECT_THAT(TextPtr(tektite_list("flags")).get(), HasSubstr("--compile="));
  EXPECT_THAT(TextPtr(tektite_list("reasons")).get(), HasSubstr("NO_IMPORTER\tThere is no"));
  EXPECT_THAT(TextPtr(tektite_list("reasons")).get(), HasSubstr("NO_CODE\tNo code can"));
  EXPECT_EQ(TextPtr(tektite_list("rooms")), nullptr);
}

// The host counts under the keys that the compiler counts under.
TEST(BadInput, FallbacksHaveCodes) {
  EXPECT_STREQ(tektite_fallback_code(TEKTITE_FALLBACK_NO_CODE), "NO_CODE");
  EXPECT_STREQ(tektite_fallback_code(TEKTITE_FALLBACK_TOO_MANY_FAILURES), "TOO_MANY_FAILURES");
  for (const int32_t wrong : {-1, TEKTITE_FALLBACK_TOO_MANY_FAILURES + 1, 1 << 30}) {
    EXPECT_EQ(tektite_fallback_code(wrong), nullptr);
  }
  EXPECT_EQ(tektite_abi_version(), TEKTITE_ABI_VERSION);
}

TEST(BadInput, QuestionsAboutTheCache) {
  tektite_status status = {};
  const char* const words[] = {"diff", "one key"};
  EXPECT_EQ(TextPtr(tektite_cache("", words, 2, TEKTITE_TEXT, nullptr, &status)), nullptr);
  EXPECT_THAT(status.message, HasSubstr("'diff' and 1 words"));
  EXPECT_EQ(TextPtr(tektite_cache("", words + 1, 1, TEKTITE_TEXT, nullptr, &status)), nullptr);
  EXPECT_EQ(TextPtr(tektite_cache("", nullptr, 0, TEKTITE_TEXT, nullptr, &status)), nullptr);
  EXPECT_EQ(status.code, TEKTITE_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace tektite
