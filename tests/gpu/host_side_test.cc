// Ops that a card has no kernels for: the host runs them within the card's program.
#include "jit/runtime/host_side_kernel.h"

#include <cstring>

#include "backends/gpu/card_backend.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/compiler/compiler.h"
#include "jit/reference/interpreter.h"
#include "runtime_hooks/c_api/backend_list.h"
#include "tests/cache/testing.h"
#include "tests/gpu/card_interpreter.h"
#include "tests/gpu/fake_driver/fake_driver.h"

namespace tektite::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A factorization between two kernels of the card.
constexpr char kBetween[] = R"(
graph @f(%x: f32[n,4,4], %y: f32[n,4,4]) -> (f32[n,4,4]) {
  %a: f32[n,4,4] = add(%x, %y)
  %c:2 : (f32[n,4,4], bool[n]) = cholesky(%a)
  %m: f32[n,4,4] = mul(%c#0, %y)
  return %m
}
)";
// The same in each turn of a loop.
constexpr char kInLoop[] = R"(
graph @f(%x: f32[2,4,4], %n: s32[]) -> (f32[2,4,4], s32[]) {
  %r:2 : (f32[2,4,4], s32[]) = while(%x, %n)
    graph @condition(%a: f32[2,4,4], %k: s32[]) -> (bool[]) {
      %zero: s32[] = constant() {value = s32[]{0}}
      %more: bool[] = compare(%k, %zero) {direction = "gt"}
      return %more
    }
    graph @body(%b: f32[2,4,4], %j: s32[]) -> (f32[2,4,4], s32[]) {
      %c:2 : (f32[2,4,4], bool[2]) = cholesky(%b)
      %t: f32[2,4,4] = transpose(%c#0) {permutation = [0, 2, 1]}
      %p: f32[2,4,4] = dot_general(%c#0, %t) {lhs_batch = [0], lhs_contracting = [2], rhs_batch = [0], rhs_contracting = [1]}
      %one: s32[] = constant() {value = s32[]{1}}
      %i: s32[] = sub(%j, %one)
      return %p, %i
    }
  return %r#0, %r#1
}
)";

class Host : public runtime::CallHost {
 public:
  runtime::HostPool Pool() override { return {}; }
  void* Allocate(int result, const runtime::TensorType& type) override {
    auto& memory = results_[result];
    memory.resize(static_cast<size_t>(ir::Product(type.dims)) * ir::DTypeBytes(type.dtype));
    return memory.data();
  }
  std::vector<float> Floats(int result) const {
    const auto& memory = results_.at(result);
    std::vector<float> floats(memory.size() / sizeof(float));
    if (!memory.empty()) std::memcpy(floats.data(), memory.data(), memory.size());
    return floats;
  }

 private:
  std::map<int, std::vector<char>> results_;
};

// Matrices that have a factor: 4 on the diagonal, small numbers beside it.
std::vector<float> Matrices(int count) {
  std::vector<float> values;
  for (int m = 0; m < count; ++m) {
    for (int i = 0; i < 16; ++i) {
      values.push_back(i % 5 == 0 ? 4.0f + static_cast<float>(m) : 0.25f);
    }
  }
  return values;
}

class HostSide : public ::testing::Test {
 protected:
  void TearDown() override { FakeDriver::Opened().reset(); }

  static std::unique_ptr<compiler::Compiler> NewCompiler(const std::string& directory = "") {
    compiler::CompilerOptions options;
    options.backends = tektite::c_api::AllBackends();
    if (!directory.empty()) {
      cache::DiskStoreOptions disk;
      disk.directory = directory;
      options.disk = cache::DiskStore::Open(disk);
    }
    auto card = *gpu::Card::Open(*gpu::Driver::Open(FakeDriver::path()), 0);
    options.own_backend = [card] {
      return *gpu::CreateCardBackend(card, nullptr, {InterpretOnFakeDriver()});
    };
    auto compiler = compiler::Compiler::Create(std::move(options));
    EXPECT_TRUE(compiler.ok()) << compiler.status();
    return *std::move(compiler);
  }

  static std::shared_ptr<runtime::Executable> Compile(compiler::Compiler& compiler,
                                                      const char* text,
                                                      const compiler::ModuleKey* plan = nullptr) {
    auto graph = ir::Parse(text);
    EXPECT_TRUE(graph.ok()) << graph.status();
    compiler::CompileJob job;
    job.cluster = "c";
    job.module_key = plan;
    auto executable = compiler.Compile(*std::move(graph), job);
    EXPECT_TRUE(executable.ok()) << executable.status();
    return executable.ok() ? *executable : nullptr;
  }

  static std::string Names(const runtime::Executable& executable) {
    std::string names;
    for (const std::string& name : executable.graph().names) names += name + "\n";
    return names;
  }

  // x + y has the factors that the diagonal says, nearly; compared with the interpreter.
  static void CheckBetween(runtime::Executable& executable) {
    for (const int n : {1, 3, 0}) {
      const std::vector<float> x = Matrices(n), y(x.size(), 0.5f);
      const int64_t dims[] = {n, 4, 4};
      Host host;
      const absl::Status ran = executable.Run(
          std::vector<runtime::Argument>{{x.data(), 0, dims}, {y.data(), 0, dims}}, host);
      ASSERT_TRUE(ran.ok()) << ran << LastKernelFault();
      auto graph = *ir::Parse(kBetween);
      graph->Substitute({{"n", n}});
      const auto want =
          reference::Evaluate(*graph, {ir::Literal::CopyOf(ir::DType::kF32, {n, 4, 4}, x.data()),
                                       ir::Literal::CopyOf(ir::DType::kF32, {n, 4, 4}, y.data())});
      ASSERT_TRUE(want.ok()) << want.status();
      const std::vector<float> got = host.Floats(0);
      ASSERT_EQ(got.size(), x.size());
      for (size_t i = 0; i < got.size(); ++i) {
        EXPECT_NEAR(got[i], want->at(0).data<float>()[i], 1e-6) << n << ", " << i;
      }
    }
  }
};

TEST_F(HostSide, WhatTheCardLacksRunsBetweenItsKernels) {
  const auto compiler = NewCompiler();
  const auto executable = Compile(*compiler, kBetween);
  ASSERT_NE(executable, nullptr);
  const std::string names = Names(*executable);
  EXPECT_THAT(names, HasSubstr("cholesky [k1_single_cholesky] on the host"));
  EXPECT_EQ(compiler->counters().host_side_kernels, 1);
  EXPECT_EQ(compiler->counters().interpreted_kernels, 0);
  for (int call = 0; call < 4; ++call) CheckBetween(*executable);
  EXPECT_GT(FakeDriver::Opened().launches(), 0);
}

TEST_F(HostSide, LoopsRunThemInEachTurn) {
  const auto compiler = NewCompiler();
  const auto executable = Compile(*compiler, kInLoop);
  ASSERT_NE(executable, nullptr);
  EXPECT_EQ(compiler->counters().host_side_kernels, 1);
  const std::vector<float> x = Matrices(2);
  const int32_t turns = 3;
  Host host;
  const absl::Status ran =
      executable->Run(std::vector<runtime::Argument>{{x.data(), 0}, {&turns, 0}}, host);
  ASSERT_TRUE(ran.ok()) << ran << LastKernelFault();
  // Each turn takes a matrix apart and puts it together again.
  const std::vector<float> got = host.Floats(0);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(got[i], x[i], 1e-5);
}

TEST_F(HostSide, AGraphOfTheCardsOpsAloneHasNone) {
  const auto compiler = NewCompiler();
  const auto executable = Compile(
      *compiler, "graph @f(%x: f32[9]) -> (f32[9]) {\n  %y: f32[9] = exp(%x)\n  return %y\n}\n");
  ASSERT_NE(executable, nullptr);
  EXPECT_THAT(Names(*executable), Not(HasSubstr("on the host")));
  EXPECT_EQ(compiler->counters().host_side_kernels, 0);
}

TEST_F(HostSide, ProgramsOnDiskKeepThem) {
  cache::TestFolder folder;
  compiler::ModuleKey key;
  key.fingerprint = FingerprintOf("plan");
  key.describe = [] { return cache::TestKey("plan", cache::EntryKind::kModule); };
  Compile(*NewCompiler(folder.path()), kBetween, &key);
  const auto second = NewCompiler(folder.path());
  auto module = second->FindModule(key);
  ASSERT_TRUE(module.has_value());
  compiler::CompileJob job;
  job.cluster = "c";
  job.typical_sizes = {{"n", 3}};
  auto loaded = second->Load(*std::move(module), job);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(second->counters().host_side_kernels, 1);
  CheckBetween(**loaded);
}

TEST_F(HostSide, AnErrorOfTheCardIsTheCalls) {
  const auto compiler = NewCompiler();
  const auto executable = Compile(*compiler, kBetween);
  ASSERT_NE(executable, nullptr);
  CheckBetween(*executable);
  FakeDriver::Opened().fail("cuMemcpyDtoHAsync_v2", 1, 0, 1);
  const std::vector<float> x = Matrices(1), y(x.size(), 0.5f);
  const int64_t dims[] = {1, 4, 4};
  Host host;
  EXPECT_EQ(
      executable
          ->Run(std::vector<runtime::Argument>{{x.data(), 0, dims}, {y.data(), 0, dims}}, host)
          .code(),
      absl::StatusCode::kInternal);
  CheckBetween(*executable);
}

}  // namespace
}  // namespace tektite::testing
