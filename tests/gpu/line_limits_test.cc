// Lines that the sorting kernels cannot count: a call with one is refused, not computed wrongly.
#include "backends/gpu/card_backend.h"
#include "backends/gpu/driver/card_kernel.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/compiler/compiler.h"
#include "runtime_hooks/c_api/backend_list.h"
#include "tests/gpu/card_interpreter.h"
#include "tests/gpu/fake_driver/fake_driver.h"

namespace tektite::testing {
namespace {

constexpr int64_t kMost = int64_t{1} << 31;

// The plan of the graph's only kernel for a line of `length`.
bool Fits(const char* text, int64_t length) {
  auto card = *gpu::Card::Open(*gpu::Driver::Open(FakeDriver::path()), 0);
  compiler::CompilerOptions options;
  options.backends = tektite::c_api::AllBackends();
  options.own_backend = [card] {
    return *gpu::CreateCardBackend(card, nullptr, {InterpretOnFakeDriver()});
  };
  auto compiler = compiler::Compiler::Create(std::move(options));
  auto graph = ir::Parse(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  compiler::CompileJob job;
  job.cluster = "c";
  auto executable = (*compiler)->Compile(*std::move(graph), job);
  EXPECT_TRUE(executable.ok()) << executable.status();
  EXPECT_EQ((*compiler)->counters().host_side_kernels, 0);
  bool fits = true;
  int kernels = 0;
  for (const runtime::Step& step : (*executable)->graph().steps) {
    if (step.kernel == nullptr) continue;
    fits = fits && step.kernel->Configure({&length, 1}).fits;
    ++kernels;
  }
  EXPECT_EQ(kernels, 1);
  return fits;
}

TEST(LineLimits, OfUnknownLength) {
  for (const char* text : {R"(
graph @sort(%x: f32[n]) -> (f32[n]) {
  %y: f32[n] = sort(%x) {descending = false, dimension = 0}
  return %y
}
)",
                           R"(
graph @top(%x: f32[3,n]) -> (f32[3,2], s32[3,2]) {
  %y:2 : (f32[3,2], s32[3,2]) = top_k(%x) {k = 2}
  return %y#0, %y#1
}
)"}) {
    for (int64_t length : {int64_t{2}, int64_t{1000}, int64_t{1} << 30}) {
      EXPECT_TRUE(Fits(text, length)) << text << length;
    }
    for (int64_t length : {kMost, kMost + 1, int64_t{1} << 40}) {
      EXPECT_FALSE(Fits(text, length)) << text << length;
    }
  }
}

}  // namespace
}  // namespace tektite::testing
